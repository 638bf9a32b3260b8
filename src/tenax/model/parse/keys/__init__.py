"""Declares the keys of each type of step, and those that all steps have."""
