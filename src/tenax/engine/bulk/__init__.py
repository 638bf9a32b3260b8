"""Runs bulk jobs: one action on every execution that a filter selected."""
