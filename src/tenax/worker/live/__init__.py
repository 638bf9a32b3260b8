"""Sends what running attempts tell to the server: checkpoints, progress and output."""
