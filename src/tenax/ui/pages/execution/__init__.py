"""Holds the pages of one execution: its overview, its attempts, its steps with their items, and its data."""
