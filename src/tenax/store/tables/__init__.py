"""Reads and writes the tables, one module for each, by the statements in `sql/queries`."""
