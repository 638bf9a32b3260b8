"""Selects executions by filters, and keeps saved filters and bulk jobs, by the statements in `sql/queries`."""
