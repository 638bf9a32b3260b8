"""Describes and draws an execution over time."""
