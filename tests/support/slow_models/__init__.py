"""Does by slow and obvious ways what the product does by fast ones, for tests that compare the two."""
