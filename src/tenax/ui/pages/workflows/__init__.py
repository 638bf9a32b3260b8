"""Shows workflows and their policies, pauses them, and runs them from a form."""
