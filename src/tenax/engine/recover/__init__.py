"""Finds what has run out, is due, or was left behind, and puts it right."""
