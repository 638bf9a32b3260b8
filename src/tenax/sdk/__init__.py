"""Provides what users import: tasks, outcomes and clients."""
