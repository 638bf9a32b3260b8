"""Keeps sessions of the database usable: their pools, lost connections, and the wait for a database that is away."""
