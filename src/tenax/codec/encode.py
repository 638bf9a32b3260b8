"""Turns Python values into plain JSON values that every transport can carry and PostgreSQL can store."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from typing import Any

import msgspec
import orjson

from tenax.codec.pydantic_models import dump_model, is_model
from tenax.errors import InvalidValue
from tenax.model.json_text import json_fault

_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME
"""orjson writes 10 ms of a time as 100 ms, so dates and times are encoded here."""
_LARGEST_INT = 2**63 - 1
_NUMBERS = {"nan": "a NaN", "inf": "an infinity", "-inf": "an infinity"}


def encode(value: Any, *, what: str = "the value", lenient: bool = False) -> Any:
    """Returns the value as it is after encoding to JSON and decoding. `what` names the value in errors.

    Raises `InvalidValue` for NaN, infinity and NUL, which cannot be stored: a value must not change on its way. With
    `lenient`, NaN and infinity become null, and NUL becomes U+FFFD.
    """
    if value is None or value is True or value is False:
        return value
    try:
        text = orjson.dumps(value, _to_builtins, _OPTIONS)
    except TypeError as error:
        raise _no_json_form(value, what, error) from error
    if b"null" in text and not lenient:
        _refuse_not_finite(value, what)
    if b"\\u0000" not in text:
        return orjson.loads(text)
    read = orjson.loads(text)
    if not lenient and (fault := json_fault(read)) is not None:
        raise InvalidValue(f"{what} has {fault}; leave it out, or encode the text")
    return without_nul(read)


def is_plain(value: Any) -> bool:
    """Returns whether a value surely is its own JSON form. It may be one even if this returns False."""
    match value:
        case bool():
            return True
        case int():
            return -_LARGEST_INT <= value <= _LARGEST_INT
        case str():
            return value.isascii() and "\x00" not in value
        case _:
            return False


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


def _to_builtins(value: Any) -> Any:
    """Returns simpler values for a value that orjson does not know: a set, bytes, a Decimal, a model, ..."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, set | frozenset):
        return _in_order(value)
    return msgspec.to_builtins(value, enc_hook=_of_other_type)


def _in_order(values: Collection[Any]) -> list[Any]:
    """Returns a set as a list that is the same each time, as far as its values can be sorted."""
    try:
        return sorted(values)
    except TypeError:
        return list(values)


def _of_other_type(value: Any) -> Any:
    if is_model(type(value)):
        return dump_model(value)
    if hasattr(type(value), "__fspath__"):
        return value.__fspath__()
    raise TypeError(f"Type is not JSON serializable: {type(value).__qualname__}")


def _no_json_form(value: Any, what: str, error: TypeError) -> InvalidValue:
    return InvalidValue(
        f"{what} (of type {type(value).__name__}) has no JSON form: {error.__cause__ or error}"
    )


def _refuse_not_finite(value: Any, what: str) -> None:
    found = _not_finite(value, "")
    if found is None:
        return
    number, place = found
    where = f"has {_NUMBERS[number]} at {place}" if place else f"is {_NUMBERS[number]}"
    raise InvalidValue(f"{what} {where}, which JSON cannot hold; give None or a text in its place")


def _not_finite(value: Any, place: str) -> tuple[str, str] | None:
    """Returns the first NaN or infinity and its place, or None. orjson has already refused unknown containers."""
    match value:
        case float():
            return None if math.isfinite(value) else (str(value), place)
        case None | str() | int():
            return None
        case Enum():
            return _not_finite(value.value, place)
        case dict():
            parts: Iterable[tuple[str, Any]] = _parts_of_mapping(value, place)
        case list() | tuple():
            parts = ((f"{place}[{index}]", part) for index, part in enumerate(value))
        case set() | frozenset():
            parts = ((f"{place}[{index}]", part) for index, part in enumerate(_in_order(value)))
        case _ if is_dataclass(value):
            names = (field.name for field in fields(value) if not field.name.startswith("_"))
            parts = ((_below(place, name), getattr(value, name, None)) for name in names)
        case _ if is_model(type(value)) or isinstance(value, msgspec.Struct):
            return _not_finite(_to_builtins(value), place)
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
