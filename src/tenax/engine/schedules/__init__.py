"""Starts executions by themselves: those of schedules, and those that were submitted to start later."""
