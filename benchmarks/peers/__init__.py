"""Measures other job systems beside Tenax in the same run, each in an environment of its own."""
