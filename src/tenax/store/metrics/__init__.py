"""Reads the log for the counts of the metrics, and reads and writes these counts."""
