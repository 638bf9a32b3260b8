"""Finds likely mistakes in workflow files that are valid. Each rule has a code, and says what to do."""
