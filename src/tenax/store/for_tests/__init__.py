"""Gives tests a clock that they set, and databases that are emptied between them. The plugin for pytest and our own tests use it."""
