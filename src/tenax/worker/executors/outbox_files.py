"""Lists what an agent left in its outbox. The folder is removed with the attempt, so small texts are kept in the list."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MOST_FILES = 200
"""Files that are listed. If there are more, only the first ones by name are."""
MOST_TEXT = 65_536
"""Bytes of all texts that are kept together."""


def list_outbox(folder: Path) -> list[dict[str, Any]]:
    """Returns the files of an outbox: each with its path and its size, and its text while there is room for it."""
    room, found = MOST_TEXT, []
    for path in _files(folder):
        size = path.lstat().st_size
        entry: dict[str, Any] = {"path": str(path.relative_to(folder)).encode("utf-8", "replace").decode()}
        entry["bytes"] = size
        if size <= room and (text := _text_of(path)) is not None:
            entry["text"] = text
            room -= size
        found.append(entry)
    return found


def _files(folder: Path) -> Iterator[Path]:
    """Yields the files below a folder in the order of their names. Links are not followed: they may lead anywhere."""
    count = 0
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place) / name
            if path.is_symlink() or not path.is_file():
                continue
            count += 1
            if count > MOST_FILES:
                return
            yield path


def _text_of(path: Path) -> str | None:
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text
