"""Holds the commands, in one room for each subject."""
