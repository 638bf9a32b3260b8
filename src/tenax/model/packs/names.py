"""Defines the names of packs and actions, and the paths of files in a pack."""

from __future__ import annotations

import re

from tenax.model.names import name_fault
from tenax.model.source.findings import shorten

MAX_PACK_NAME = 64  # characters
ACTION_REF = r"[A-Za-z0-9_][A-Za-z0-9_-]*\.[A-Za-z0-9_][A-Za-z0-9_-]*"
"""The pattern of a reference to an action: PACK.ACTION."""
MAX_PATH = 240
"""Bytes of a path in a pack. The path of the worker's folder comes before it."""
_REF = re.compile(ACTION_REF)
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\\:*?\"<>|\u2028\u2029\ud800-\udfff]")


def pack_name_fault(name: str) -> str | None:
    """Returns what is wrong with the name of a pack, in words that follow the name. Returns None if it is valid."""
    if len(name) > MAX_PACK_NAME:
        return f"is longer than {MAX_PACK_NAME} characters"
    return name_fault(name)


def is_action_ref(text: str) -> bool:
    """Returns whether a text has the form PACK.ACTION."""
    if not _REF.fullmatch(text):
        return False
    pack, _, action = text.partition(".")
    return pack_name_fault(pack) is None and name_fault(action) is None


def split_ref(ref: str) -> tuple[str, str]:
    """Splits PACK.ACTION."""
    pack, _, action = ref.partition(".")
    return pack, action


def path_fault(path: str) -> str | None:
    """Returns what is wrong with the path of a file in a pack, in words that follow the path. Returns None if it is valid.

    A valid path stays within the pack on every system.
    """
    if not path:
        return "is empty"
    if len(path.encode("utf-8", "surrogatepass")) > MAX_PATH:
        return f"is longer than {MAX_PATH} bytes"
    if (odd := _FORBIDDEN.search(path)) is not None:
        return f"has the character {odd[0]!a}, which paths in a pack cannot have"
    if path.startswith(("/", "~")):
        return "is not relative to the folder of the pack"
    parts = path.split("/")
    if ".." in parts:
        return "leads out of the pack (`..`)"
    if "" in parts or "." in parts:
        return "is not written plainly: write it as actions/call.py"
    if any(part != part.strip() or part.startswith("-") or part.endswith(".") for part in parts):
        return "has a part that begins with `-`, ends with a dot, or has a blank at an end"
    return None


def shown_path(path: str) -> str:
    """Returns a path for an error message."""
    return f"`{shorten(path, 100)}`"
