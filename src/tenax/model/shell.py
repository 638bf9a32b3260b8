"""Quoting for `sh -c`. The server quotes what templates give, the worker quotes secrets."""

from __future__ import annotations


def always_quoted(text: str) -> str:
    """Returns the text in single quotes: one word, whatever stands beside it."""
    return "'" + text.replace("'", "'\"'\"'") + "'"
