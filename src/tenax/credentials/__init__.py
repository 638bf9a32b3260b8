"""Keeps tokens and secrets: in a file of the home, out of the environment, and away from other servers."""
