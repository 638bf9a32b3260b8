"""Reads and writes schedules, what they did, and executions that start later."""
