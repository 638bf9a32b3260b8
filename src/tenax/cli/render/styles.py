"""Defines the colours of statuses for all pages."""

from __future__ import annotations

STYLES = {
    "pending": "dim",
    "queued": "cyan",
    "running": "bold cyan",
    "retrying": "yellow",
    "held": "magenta",
    "completed": "green",
    "failed": "bold red",
    "skipped": "dim",
    "unreachable": "red",
    "cancelled": "magenta",
    "paused": "magenta",
    "open": "bold red",
    "redriven": "cyan",
    "recovered": "green",
    "resolved": "dim",
    "discarded": "dim",
}
