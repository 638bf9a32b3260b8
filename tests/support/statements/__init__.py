"""Looks at the statements that are sent to PostgreSQL, and at their plans."""
