"""Reads and writes the tables of workers, queues and tokens, by the statements in `sql/queries`."""
