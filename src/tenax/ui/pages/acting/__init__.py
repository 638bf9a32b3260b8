"""Answers the pages on which people act on an execution, and read its log and its decisions."""
