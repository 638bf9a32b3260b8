"""Runs servers and commands within the process of a test, and a double of the server for the worker."""
