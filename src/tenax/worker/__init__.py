"""Leases work items, runs them and reports their outcomes. The worker decides nothing."""
