"""Reads definitions and checks inputs within bounds of time and memory. Long work runs in reader processes."""
