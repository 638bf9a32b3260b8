"""Warns of what a valid workflow file will do and its author hardly wants. Each rule has a code, and says what to do."""
