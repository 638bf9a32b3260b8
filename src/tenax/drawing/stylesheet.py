"""Holds the stylesheet of all drawings, which pages serve as a file and drawings for files have inside."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def stylesheet() -> str:
    """Returns the text of `drawing.css`. It has no character that XML would need to escape."""
    return files("tenax.drawing").joinpath("drawing.css").read_text("utf-8")
