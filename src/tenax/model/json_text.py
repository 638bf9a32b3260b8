"""Encodes JSON for PostgreSQL, and checks which values it can hold.

Inputs, results, callbacks and signals are stored exactly as they were sent, or refused (`json_fault`). Integers have up to 64 bits, and
there are no NaN, infinity, NUL characters or lone surrogates. In texts for people, such as messages, unsuitable characters are replaced.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec
import orjson

SMALLEST_INTEGER, LARGEST_INTEGER = -(2**63), 2**64 - 1
MAX_DEPTH = 500
"""Levels of lists and objects in a value."""
_encode_finite = json.JSONEncoder(allow_nan=False, check_circular=False).encode
_encode = msgspec.json.Encoder().encode
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def encode(value: Any) -> str:
    """Encodes a value as JSON. Characters that jsonb cannot hold become U+FFFD, since an error would lose a report."""
    try:
        text = _encode(value).decode()
    except (TypeError, ValueError, OverflowError):
        text = json.dumps(
            _storable(value), ensure_ascii=False, allow_nan=False, default=str, separators=(",", ":")
        )
    return _NUL.sub(r"\1\\ufffd", text) if "\\u0000" in text else text


def json_fault(value: Any) -> str | None:
    """Returns what makes a value impossible to store exactly. Returns None if it can be stored."""
    try:
        text = orjson.dumps(value)
    except (TypeError, RecursionError):
        return _find_fault(value)
    if b"\\u0000" in text:
        return _find_fault(value)
    if b"null" in text:  # orjson writes a NaN as null
        try:
            _encode_finite(value)
        except (TypeError, ValueError):
            return _find_fault(value)
    return None


def most_values(text: bytes, *, exactly: bool = False) -> int:
    """Returns an upper bound on the number of values in a JSON text. `exactly` does not count commas and brackets inside strings.

    The exact count takes longer. The bound takes a few passes over the bytes.
    """
    outside = _TEXT.sub(b"", text) if exactly else text
    return 1 + outside.count(b",") + outside.count(b"[") + outside.count(b"{")


def _find_fault(value: Any) -> str | None:
    """Searches every part of a value for a fault. Does not recurse, since the value may be nested deeply."""
    parts = [(value, "", 0)]
    while parts:
        part, place, depth = parts.pop()
        if (fault := _fault_of(part)) is not None or depth > MAX_DEPTH:
            return f"{fault or f'more than {MAX_DEPTH} levels'}{f' at {place[:200]}' if place else ''}"
        if isinstance(part, dict):
            for name, below in part.items():
                where = f"{place}.{name}" if place else str(name)
                if (fault := _fault_of(name) if isinstance(name, str) else None) is not None:
                    return f"{fault} in the name {name[:100]!r}"
                parts.append((below, where, depth + 1))
        elif isinstance(part, list | tuple):
            parts += [(below, f"{place}[{n}]", depth + 1) for n, below in enumerate(part)]
    return None


def _fault_of(part: Any) -> str | None:
    """Returns what is wrong with one number or text."""
    match part:
        case bool() | None:
            return None
        case int() if not SMALLEST_INTEGER <= part <= LARGEST_INTEGER:
            return "an integer beyond 64 bits (from -2^63 to 2^64-1): send it as a text"
        case float() if not math.isfinite(part):
            return "a NaN or an infinity: send null or a text"
        case str() if "\0" in part:
            return "a NUL character (U+0000) in a text"
        case str() if not part.isascii() and any("\ud800" <= character <= "\udfff" for character in part):
            return "half of a surrogate pair in a text"
        case _:
            return None


def postgres_text(text: str) -> str:
    """Returns a text that PostgreSQL can hold. Other characters become U+FFFD or a question mark."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def decode(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


def _plain_value(value: Any) -> Any:
    return orjson.loads(bytes(value)) if isinstance(value, msgspec.Raw) else str(value)


def _storable(value: Any) -> Any:
    """Converts values that the encoder refuses: lone surrogates, keys that are not text, and values of other types."""
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
