"""Prints executions, events, workers and queues for people."""
