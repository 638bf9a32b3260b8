"""Advances the graph of an execution when attempts and steps have ended. Imports no operation."""
