"""Makes input for tests: random, hostile, or built by hand."""
