"""Looks at dead letters, redrives and discards them."""
