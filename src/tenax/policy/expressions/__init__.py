"""Compiles and evaluates conditions and templates, in a sandbox and within a budget of work."""
