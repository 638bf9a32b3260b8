"""Starts servers and workers, and manages workers and queues."""
