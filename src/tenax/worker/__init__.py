"""Leases work items, runs them, and reports what they came to. Decides nothing."""
