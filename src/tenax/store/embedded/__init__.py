"""Runs a PostgreSQL of its own in a folder, for those who have none."""
