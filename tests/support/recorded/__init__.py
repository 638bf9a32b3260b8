"""Reads and writes what executions leave in the database, of this version and of earlier ones."""
