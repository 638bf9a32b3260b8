"""Counts what the log says, and defines the figures, the alerts and the tables that are made of the counts."""
