"""Knows the workers: who they are, how healthy they are, and who has died."""
