"""Reads what people hand to commands."""
