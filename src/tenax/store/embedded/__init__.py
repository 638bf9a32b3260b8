"""Runs a private PostgreSQL in a folder, for users without a server of their own."""
