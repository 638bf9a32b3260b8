"""Finds the work that is ready, the workers that are able to run it, and claims it for them."""
