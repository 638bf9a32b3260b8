"""Keeps track of the workers: their names, their health, and their lives that have ended."""
