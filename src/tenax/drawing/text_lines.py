"""Writes foreign texts and values for people."""

from __future__ import annotations

import json
from typing import Any


def printable(text: str) -> str:
    """Returns foreign text with its control characters escaped, so that it cannot control the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def one_line(value: Any, limit: int = 200) -> str:
    """Returns a value as one line: text as it is, any other value as JSON. Cuts it after `limit` characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def to_the_second(at: str) -> str:
    """Returns a time of the API to the second, for lists."""
    return at.partition(".")[0].removesuffix("Z").replace("T", " ")
