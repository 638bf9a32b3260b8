"""Keeps the budgets of trees of executions: what is spent, what is reserved, and what running attempts have used."""
