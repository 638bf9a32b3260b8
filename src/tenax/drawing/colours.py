"""Holds the colours of drawings, with one pair for each state of a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Colours:
    """Holds the colours of a box. Dark text on `fill` is readable, and the status is also written as a word."""

    fill: str
    stroke: str


UNKNOWN = Colours("#ffffff", "#57606a")


COLOURS: Mapping[str, Colours] = {
    "pending": Colours("#f6f8fa", "#8c959f"),
    "queued": Colours("#ddf4ff", "#54aeff"),
    "running": Colours("#b6e3ff", "#0969da"),
    "retrying": Colours("#fff8c5", "#bf8700"),
    "held": Colours("#fbefff", "#8250df"),
    "completed": Colours("#dafbe1", "#1a7f37"),
    "failed": Colours("#ffcecb", "#cf222e"),
    "skipped": Colours("#eaeef2", "#8c959f"),
    "unreachable": Colours("#ffebe9", "#ff8182"),
    "cancelled": Colours("#eedfff", "#a475f9"),
    "paused": Colours("#fbefff", "#8250df"),
}
INK, LINE = "#1f2328", "#6e7781"
"""The colours of texts and of lines."""
