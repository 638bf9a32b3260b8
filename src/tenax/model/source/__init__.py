"""Reads YAML with the place of each value, and collects what is found wrong at these places."""
