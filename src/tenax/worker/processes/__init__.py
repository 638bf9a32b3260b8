"""Runs commands in process groups of their own, which end with their attempt."""
