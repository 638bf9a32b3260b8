"""Other job systems, each in an environment of its own, measured beside Tenax in the same run."""
