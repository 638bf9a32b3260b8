"""Builds workflows in Python. The result is a workflow file, and the one reader of files checks it."""
