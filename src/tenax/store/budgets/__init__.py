"""Keeps the budgets of trees of executions: what is spent, what is reserved, and the usage that running attempts have
reported."""
