"""Makes the tables and the pictures of the docs from the code."""
