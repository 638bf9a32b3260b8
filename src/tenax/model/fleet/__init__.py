"""Defines what is known of workers and queues: health, limits, and how both are shown."""
