"""Defines the views of what running attempts tell: their progress, and their output."""

from __future__ import annotations

from tenax.model.values import OpenPart, View


class StepProgress(OpenPart):
    """Describes how far a running step is, as its attempts tell. In a fan-out, ended items count as done."""

    step: str
    compensation: bool
    """True if this is the compensation of the step."""
    fraction: float | None
    """How much is done, from 0 to 1. None if nobody knows."""
    message: str | None
    """What the attempt that told last is doing."""
    item: int | None
    """The item of the fan-out whose attempt told last."""
    at: str | None
    """When an attempt last told something."""
    seconds_left: float | None
    """The time that the rest takes at the pace so far, in seconds."""


class OutputChunk(View):
    """Is a part of what an attempt has printed. If `start` is above the end of the part before, what is between them was cut."""

    step: str
    item: int | None
    compensation: bool
    attempt: int
    at: str
    start: int
    """The place of the part in the attempt's output, in bytes."""
    size: int
    """The size of the text, in bytes of UTF-8."""
    text: str


class OutputPage(View):
    """Is a page of the output of an execution's attempts, in the order in which it came."""

    chunks: list[OutputChunk]
    cursor: int
    """Pass it as `after` for what comes next."""
    more: bool
    """True if there may be more already."""
    finished: bool
    """True if the execution has ended. What its last attempts have printed may still come."""
