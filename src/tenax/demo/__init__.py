"""`make demo`: a workflow that fails, retries and recovers before your eyes, and leaves nothing behind."""
