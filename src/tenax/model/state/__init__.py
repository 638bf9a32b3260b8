"""Folds events into the state of executions, attempts and fan-outs."""
