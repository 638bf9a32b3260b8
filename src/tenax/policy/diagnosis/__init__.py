"""Finds out why an execution, a step, an item, a worker or a queue stands as it stands. All of it is pure."""
