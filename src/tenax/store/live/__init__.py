"""Reads and writes what running attempts tell: checkpoints, progress and output."""
