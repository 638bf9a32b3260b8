"""Turns results into plain JSON values that every transport can carry and PostgreSQL can store."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import msgspec
import orjson

from tenax.errors import UsageError
from tenax.model.json_text import json_fault


class Unserialisable(Exception):
    """A value that has no JSON form."""


class Unstorable(Exception):
    """The JSON cannot be stored exactly, for example an integer beyond 64 bits or a NUL character."""


def to_json_value(value: Any, *, lenient: bool = False) -> Any:
    """Returns the value as it is after encoding to JSON and decoding. Dataclasses, dates, UUIDs and enums are accepted.

    Raises `Unserialisable` for NaN, infinity and NUL, which cannot be stored: a result must not change on its way. With
    `lenient`, NaN and infinity become null, and NUL becomes U+FFFD.
    """
    if value is None or value is True or value is False:
        return value
    try:
        text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        raise Unserialisable(
            f"the result (of type {type(value).__name__}) has no JSON form: {error}"
        ) from error
    if b"null" in text and not lenient and (found := _not_finite(value, "")) is not None:
        number, place = found
        where = f"has {_NUMBERS[number]} at {place}" if place else f"is {_NUMBERS[number]}"
        raise Unserialisable(
            f"the result {where}, which JSON cannot hold; return None or a text in its place"
        )
    if b"\\u0000" not in text:
        return orjson.loads(text)
    read = orjson.loads(text)
    if not lenient and (fault := json_fault(read)) is not None:
        raise Unserialisable(f"the result has {fault}; leave it out, or encode the text")
    return without_nul(read)


def checkpoint_json(value: Any, limit: int) -> str:
    """Returns a checkpoint as JSON. Raises `UsageError` if it has no JSON form, or more than `limit` bytes. 0: no limit."""
    try:
        text = orjson.dumps(to_json_value(value))
    except Unserialisable as error:
        raise UsageError(str(error).replace("the result", "the checkpoint", 1)) from None
    if limit and len(text) > limit:
        raise UsageError(
            f"the checkpoint is {len(text):,} bytes, and the server keeps {limit:,} (`max_checkpoint`)",
            remedy="keep a place to go on from, such as a page or a key, and not the data; or raise TENAX_MAX_CHECKPOINT on the server",
        )
    return text.decode()


_NUMBERS = {"nan": "a NaN", "inf": "an infinity", "-inf": "an infinity"}


def _not_finite(value: Any, place: str) -> tuple[str, str] | None:
    """Returns the first NaN or infinity and its place, or None. orjson has already refused unknown containers."""
    match value:
        case float():
            return None if math.isfinite(value) else (str(value), place)
        case Enum():
            return _not_finite(value.value, place)
        case dict():
            parts: Iterable[tuple[str, Any]] = _parts_of_mapping(value, place)
        case list() | tuple():
            parts = ((f"{place}[{index}]", part) for index, part in enumerate(value))
        case _ if is_dataclass(value):
            names = (field.name for field in fields(value) if not field.name.startswith("_"))
            parts = ((_below(place, name), getattr(value, name, None)) for name in names)
        case _:
            return None
    return next((found for below, part in parts if (found := _not_finite(part, below)) is not None), None)


def _parts_of_mapping(value: dict[Any, Any], place: str) -> Iterator[tuple[str, Any]]:
    """Yields the values and the numeric keys of a mapping. A NaN key would become the name "null"."""
    for name, part in value.items():
        below = _below(place, name.value if isinstance(name, Enum) else name)
        if isinstance(name, float | Enum):
            yield below, name
        yield below, part


def _below(place: str, name: object) -> str:
    return f"{place}.{name}" if place else str(name)


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


def without_nul(value: Any) -> Any:
    """Replaces NUL characters by U+FFFD. They are the only characters that PostgreSQL's jsonb and text cannot hold."""
    match value:
        case str():
            return value.replace("\x00", "\ufffd")
        case list():
            return [without_nul(part) for part in value]
        case dict():
            return {without_nul(name): without_nul(part) for name, part in value.items()}
        case _:
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
