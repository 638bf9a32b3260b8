"""Answers the routes about the server itself: its health, its tokens, its history and the page of its API."""
