"""Checks inputs against their schemas, and limits the cost of a check."""
