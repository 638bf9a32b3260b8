"""Carries out operators' actions: on executions and steps, on dead letters, and on all executions of a filter."""
