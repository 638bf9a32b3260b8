"""Holds code that tests of several rooms share: drivers, workflows, strategies, slow models for comparison, and checks."""
