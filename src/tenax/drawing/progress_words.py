"""Describes how far something is, and what was cut of an output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenax.drawing.event_lines import duration
from tenax.drawing.text_lines import one_line

BAR_WIDTH = 20  # characters


def progress_words(progress: Mapping[str, Any] | None) -> str:
    """Returns a text such as `########------------ 40 %, about 30s left: page 12 of 30`. Empty if nothing is known."""
    if progress is None:
        return ""
    fraction, parts = progress["fraction"], []
    if fraction is not None:
        done = int(fraction * BAR_WIDTH)
        parts.append(f"{'#' * done}{'-' * (BAR_WIDTH - done)} {int(fraction * 100)} %")
        if progress["seconds_left"]:
            parts.append(f"about {duration(_rounded(progress['seconds_left']))} left")
    words = ", ".join(parts)
    message = one_line(progress["message"] or "")
    return f"{words}: {message}" if words and message else words or message


def _rounded(seconds: float) -> float:
    """Returns an estimate without digits that it does not have."""
    return float(round(seconds)) if seconds >= 1 else round(seconds, 1)


def cut_words(size: int) -> str:
    """Returns the line that stands in the place of what was cut of an output."""
    return f"[... {size:,} bytes were cut ...]"


class OutputText:
    """Puts the chunks of attempts' output together as text, with a line for what was cut between two of them."""

    def __init__(self) -> None:
        self._ends: dict[tuple[Any, ...], tuple[int, bool]] = {}
        """Where the last chunk of each attempt ended, and whether it ended within a line."""

    def of(self, chunk: Mapping[str, Any]) -> str:
        """Returns the text of the next chunk of its attempt."""
        attempt = attempt_key(chunk)
        end, in_line = self._ends.get(attempt, (0, False))
        self._ends[attempt] = max(end, chunk["start"] + chunk["size"]), not chunk["text"].endswith("\n")
        missing = chunk["start"] - end
        if missing <= 0:
            return str(chunk["text"])
        before = "\n" if in_line else ""
        return f"{before}{cut_words(missing)}\n{chunk['text']}"


def attempt_key(chunk: Mapping[str, Any]) -> tuple[Any, ...]:
    return chunk["step"], chunk["item"], chunk["compensation"], chunk["attempt"]


def attempt_name(chunk: Mapping[str, Any]) -> str:
    """Returns the name of the attempt that has printed a chunk, such as `crawl[3], attempt 2`."""
    item = "" if chunk["item"] is None else f"[{chunk['item']}]"
    what = "the compensation of " if chunk["compensation"] else ""
    return f"{what}{chunk['step']}{item}, attempt {chunk['attempt']}"
