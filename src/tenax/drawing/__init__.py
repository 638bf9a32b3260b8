"""Draws graphs as text. Shared by the command line and, later, the dashboard."""
