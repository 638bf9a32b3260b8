"""Holds what a running attempt tells: its usage, its checkpoint and its progress."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

from tenax.errors import UsageError
from tenax.model.attempt.outcome import Usage

MAX_MESSAGE = 200
"""Characters of a message of progress. A longer one is cut."""


class Checkpoint(NamedTuple):
    """Is a checkpoint, with its number within the attempt."""

    number: int
    value: str
    """The value as JSON."""


class AttemptProgress(NamedTuple):
    """Is the progress that an attempt has told."""

    fraction: float | None
    message: str | None


class LiveState:
    """Holds the last values that an attempt has told. Attempts that tell nothing have none."""

    __slots__ = ("checkpoint", "progress", "usage")

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.checkpoint: Checkpoint | None = None
        self.progress: AttemptProgress | None = None


class Done:
    """Can be awaited, and is done already."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


DONE = Done()


def read_progress(fraction: float | None, message: str | None) -> AttemptProgress:
    """Checks what an attempt says of its progress."""
    if fraction is not None and not 0 <= fraction <= 1:
        raise UsageError(f"progress({fraction}): expected a number from 0 to 1")
    if fraction is None and message is None:
        raise UsageError("progress() needs a fraction from 0 to 1, a message, or both")
    return AttemptProgress(fraction, None if message is None else message[:MAX_MESSAGE])
