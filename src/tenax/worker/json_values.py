"""Results as plain JSON values: what every transport can carry and PostgreSQL can store."""

from __future__ import annotations

from typing import Any

import orjson


class Unserialisable(Exception):
    """A value that has no JSON form."""


def plain(value: Any) -> Any:
    """The value as JSON would give it back. Dataclasses, dates, UUIDs and enums are taken; a NaN becomes null."""
    if value is None or value is True or value is False:
        return value
    try:
        text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        raise Unserialisable(f"the result, a {type(value).__name__}, has no JSON form: {error}") from error
    return without_nul(orjson.loads(text)) if b"\\u0000" in text else orjson.loads(text)


def parse_json(text: bytes | str) -> Any:
    """Raises `orjson.JSONDecodeError` where it is no JSON."""
    value = orjson.loads(text)
    escape_seen = b"\\u0000" in text if isinstance(text, bytes) else "\\u0000" in text
    if not escape_seen:
        return value
    try:
        return without_nul(value)
    except RecursionError:
        raise orjson.JSONDecodeError("it is nested too deeply", "", 0) from None


def without_nul(value: Any) -> Any:
    """PostgreSQL's jsonb and text have no place for the character U+0000; everything else it takes."""
    match value:
        case str():
            return value.replace("\x00", "\ufffd")
        case list():
            return [without_nul(part) for part in value]
        case dict():
            return {without_nul(name): without_nul(part) for name, part in value.items()}
        case _:
            return value


def readable(text: bytes) -> str:
    """Bytes that ought to be text, with what is not replaced."""
    return text.decode("utf-8", "replace").replace("\x00", "\ufffd")
