"""Reads the files, JSON and inputs that people give to commands."""
