"""Keeps the packs that a worker has fetched: checked, shared by its attempts, and limited in size."""
