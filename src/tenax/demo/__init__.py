"""Runs `make demo`: a workflow that fails, retries and recovers while you watch. It leaves nothing behind."""
