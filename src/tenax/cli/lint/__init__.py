"""Finds what the lint looks at, and prints what it has found."""
