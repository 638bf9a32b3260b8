"""Serves the dashboard: pages for people, in the browser, with the engine's reads and operations."""
