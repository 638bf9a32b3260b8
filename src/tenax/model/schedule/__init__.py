"""Schedules: when executions of a workflow start by themselves, and what happens if one is late or still runs."""
