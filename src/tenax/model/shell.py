"""Quotes text for `sh -c`. The server quotes the values of templates, and the worker quotes secrets."""

from __future__ import annotations


def always_quoted(text: str) -> str:
    """Returns the text in single quotes, as one word of the shell."""
    return "'" + text.replace("'", "'\"'\"'") + "'"
