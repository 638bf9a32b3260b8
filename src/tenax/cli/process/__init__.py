"""Starts, supervises and stops processes."""
