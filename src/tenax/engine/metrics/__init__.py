"""Counts the log by minute, and gives the figures, the alerts and the metrics that are made of the counts."""
