"""Finds and calls the functions of tasks, and turns what they raise into outcomes."""
