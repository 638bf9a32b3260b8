"""Serves the HTTP API over an engine."""
