"""Answers the pages of the dashboard, one module for each."""
