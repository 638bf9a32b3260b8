"""Reads the files of other systems with the place of each key, and keeps account of what was read."""
