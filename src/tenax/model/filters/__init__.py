"""Reads and writes filters: texts such as `status=failed workflow=sync since=2h` that select executions."""
