"""Measures Tenax beside the raw limit of the same PostgreSQL, in the same run: `python -m benchmarks --help`."""
