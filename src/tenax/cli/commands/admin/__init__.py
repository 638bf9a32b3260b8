"""Administers the database and the tokens, and checks history."""
