"""Defines dead letters: what is kept of each item that has failed for good, and the fingerprint that groups them."""
