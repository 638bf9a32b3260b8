"""Reads definitions and checks inputs within bounds of time and memory, aside where that may take long."""
