"""Reads the JSON values for `tenax decide`. Each reader raises a ValueError that says what it expected."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tenax.cli.input.inputs import read_bytes
from tenax.errors import UsageError
from tenax.model.attempt.outcome import FAILURE_CLASSES, Usage
from tenax.model.attempt.usage import read_usage
from tenax.model.durations import parse_duration, parse_retry_after
from tenax.model.source.findings import format_path, name_kind, shorten, suggest, suggest_or_list
from tenax.model.source.json_source import parse_json
from tenax.sdk.files import decode_text

Reader = Callable[[Any], Any]
Readers = Mapping[str, tuple[str, Reader]]
"""The name of the field and the reader of its value, by the key that people write."""


def readers_of(
    model: type,
    *,
    integers: Reader,
    special: Mapping[str, Reader] | None = None,
    renamed: Mapping[str, str] | None = None,
    without: Collection[str] = (),
) -> Readers:
    """Returns the readers of the fields of a model, by their types. `special` has the readers of fields whose type does not suffice."""
    special, renamed = special or {}, renamed or {}
    return {
        renamed.get(name, name): (name, special[name] if name in special else _reader_of(hint, integers))
        for name, hint in get_type_hints(model).items()
        if name not in without
    }


def _reader_of(hint: Any, integers: Reader) -> Reader:
    """Returns the reader of a type. A number that is not whole is read as a duration."""
    [kind, *_] = (
        [one for one in get_args(hint) if one is not NoneType]
        if get_origin(hint) in (Union, UnionType)
        else [hint]
    )
    if get_origin(kind) is Literal:
        return one_of(get_args(kind))
    return {bool: flag, int: integers, float: parse_duration, str: text, tuple[str, ...]: texts}.get(
        kind, anything
    )


def read_object(given: str, flag: str) -> dict[str, Any]:
    content, what = (given, flag)
    if given.startswith("@"):
        content, what = decode_text(read_bytes(given[1:]), given[1:]), given[1:]
    body = parse_json(content, what)
    if not isinstance(body, dict):
        raise UsageError(f"{what}: expected a JSON object, found {name_kind(body)}")
    return body


def read_keys(body: Mapping[str, Any], fields: Readers, flag: str) -> dict[str, Any]:
    """Returns the values by their internal names. A null counts as absent."""
    values: dict[str, Any] = {}
    for key, value in body.items():
        if key not in fields:
            raise UsageError(f"{flag}: unknown key `{shorten(key)}`{suggest_or_list(key, fields)}")
        if value is None:
            continue
        name, reader = fields[key]
        try:
            values[name] = reader(value)
        except ValueError as error:
            raise UsageError(f"{flag}: {format_path((key,))}: {error}") from None
    return values


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, found {name_kind(value)}")
    return value


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, found {name_kind(value)}")
    return value


def whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 10**9:
        raise ValueError(f"expected a whole number, found {name_kind(value)}")
    return value


def whole_from_zero(value: Any) -> int:
    if (found := whole(value)) < 0:
        raise ValueError(f"expected a whole number from 0, found {found}")
    return found


def amount(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 10**15:
        raise ValueError(
            f"expected a number from 0, found {value if isinstance(value, int | float) else name_kind(value)}"
        )
    return float(value)


def class_counts(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object of classes and counts, found {name_kind(value)}")
    return {one_of(FAILURE_CLASSES)(name): whole_from_zero(count) for name, count in value.items()}


def rule_counts(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object of rules and counts, found {name_kind(value)}")
    for index in value:
        if not index.isdecimal():
            raise ValueError(f'{shorten(repr(index))} is no index of a rule: they count from "0"')
    return {str(int(index)): whole_from_zero(count) for index, count in value.items()}


def usage(value: Any) -> Usage:
    if (found := read_usage(value)) is None:
        raise ValueError(f"expected an object with cost_usd and tokens, found {name_kind(value)}")
    return found


def one_of(known: Sequence[str]) -> Reader:
    def read(value: Any) -> str:
        if value not in known:
            raise ValueError(
                f"unknown {shorten(repr(value))}{suggest(str(value), known) if isinstance(value, str) else ''}"
            )
        return str(value)

    return read


def texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list of text, found {name_kind(value)}")
    return tuple(text(entry) for entry in value)


def retry_after(value: Any) -> float:
    """Reads a `Retry-After`: seconds or a date as in the header, or a duration."""
    if isinstance(value, str) and (seconds := parse_retry_after(value, datetime.now(UTC))) is not None:
        return seconds
    seconds = parse_duration(value)
    return seconds if math.isfinite(seconds) else 0.0


def anything(value: Any) -> Any:
    return value
