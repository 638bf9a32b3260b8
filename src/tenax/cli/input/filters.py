"""Checks the filters that people give to commands."""

from __future__ import annotations


def check_filter(text: str) -> None:
    """Raises UsageError if a text is no filter, before a server or database is asked."""
    from tenax.model.filters.parse import parse_filter

    parse_filter(text)


def check_letter_filter(text: str) -> None:
    """Raises UsageError if a text is no filter of dead letters."""
    from tenax.model.filters.parse import parse_letter_filter

    parse_letter_filter(text)
