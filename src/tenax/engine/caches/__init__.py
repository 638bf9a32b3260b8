"""Keeps in memory what a server has read or leased. The database stays the truth."""
