"""Checks, draws and stores workflow files, and tries their policies."""
