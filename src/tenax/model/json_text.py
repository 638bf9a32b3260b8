"""JSON as PostgreSQL takes it: text without NUL characters or lone surrogates, whatever a worker reported."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec
import orjson

_encode = msgspec.json.Encoder().encode
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def encode(value: Any) -> str:
    """The value as JSON text. What jsonb cannot hold becomes U+FFFD rather than an error that would lose a report."""
    try:
        text = _encode(value).decode()
    except (TypeError, ValueError, OverflowError):
        text = json.dumps(_storable(value), ensure_ascii=False, allow_nan=False, default=str)
    return _NUL.sub(r"\1\\ufffd", text) if "\\u0000" in text else text


def plain(text: str) -> str:
    """Text as PostgreSQL takes it."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def decode(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


def _plain_value(value: Any) -> Any:
    return orjson.loads(bytes(value)) if isinstance(value, msgspec.Raw) else str(value)


def _storable(value: Any) -> Any:
    """Goes where the encoder cannot: surrogates, keys that are not text, values of other types."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {_storable(str(key)): _storable(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_storable(entry) for entry in value]
        case msgspec.Struct():
            return _storable(msgspec.to_builtins(value, enc_hook=_plain_value))
        case msgspec.Raw():
            return orjson.loads(bytes(value))
        case _:
            return value
