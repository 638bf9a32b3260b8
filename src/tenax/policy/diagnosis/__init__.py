"""Diagnoses executions, steps, items, workers and queues: why each is in its state, and what changes it. All of it is pure."""
