"""Holds what the API and the dashboard share: who asks, with a token or a session, and requests that wait."""
