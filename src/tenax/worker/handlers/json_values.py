"""Reads JSON and texts of other programs as values that every transport can carry and PostgreSQL can store."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from tenax.codec import encode
from tenax.errors import InvalidValue, UsageError
from tenax.model.json_text import json_fault


class Unstorable(Exception):
    """The JSON cannot be stored exactly, for example an integer beyond 64 bits or a NUL character."""


def checkpoint_json(value: Any, limit: int) -> str:
    """Returns a checkpoint as JSON. Raises `UsageError` if it has no JSON form, or more than `limit` bytes. 0: no limit."""
    try:
        text = orjson.dumps(encode(value, what="the checkpoint"))
    except InvalidValue as error:
        raise UsageError(str(error)) from None
    if limit and len(text) > limit:
        raise UsageError(
            f"the checkpoint is {len(text):,} bytes, and the server keeps {limit:,} (`max_checkpoint`)",
            remedy="keep a place to go on from, such as a page or a key, and not the data; or raise TENAX_MAX_CHECKPOINT on the server",
        )
    return text.decode()


def parse_json(text: bytes | str) -> Any:
    """Decodes JSON exactly. Raises `orjson.JSONDecodeError` for invalid JSON, and `Unstorable` if it cannot be stored exactly."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        orjson.loads(text)  # its error has the line and column
        raise orjson.JSONDecodeError("it cannot be read", "", 0) from None
    if (fault := json_fault(value)) is not None:
        raise Unstorable(f"it has {fault}")
    return value


def storable_text(text: str) -> str:
    """Returns a text that every transport and PostgreSQL can hold.

    Lone surrogates, which file names may contain, become escapes as in Python's stderr. NUL characters become U+FFFD.
    """
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()
    return text.replace("\x00", "\ufffd")


def decode_output(text: bytes) -> str:
    """Decodes the output of a process. Bytes that are not UTF-8, and NUL characters, become U+FFFD."""
    return text.decode("utf-8", "replace").replace("\x00", "\ufffd")
