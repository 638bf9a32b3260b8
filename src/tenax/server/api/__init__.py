"""Answers the routes of the HTTP API."""
