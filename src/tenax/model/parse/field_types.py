"""Defines the types of the keys of a workflow file. Each has a function that reads a value, and the JSON Schema of that value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tenax.model.durations import parse_duration
from tenax.model.names import MAX_NAME, name_fault
from tenax.model.parse.shape import JsonSchema, Mismatch, ValueReader, Written, WrittenValueReader, faults
from tenax.model.source.findings import shorten

_NO_TEMPLATE = "a template cannot stand here: the value must be known before anything runs; write it out"
DURATION_PATTERN = r"^\s*([0-9]+(\.[0-9]+)?|([0-9]+(\.[0-9]+)?\s*(ms|s|m|h|d)\s*)+)\s*$"
TEMPLATE: JsonSchema = {"type": "string", "pattern": r"\{\{"}
TEXT_SCHEMA: JsonSchema = {"type": "string", "pattern": r"\S"}
WRITTEN_SCHEMA: JsonSchema = {"type": ["string", "number"]}
NAME_SCHEMA: JsonSchema = {
    "type": "string",
    "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]*$",
    "maxLength": MAX_NAME,
}
_NOT_ZERO: JsonSchema = {"not": {"pattern": "^[^1-9]*$"}}


def is_template(value: Any) -> bool:
    return isinstance(value, str) and "{{" in value


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def refuse_template(value: Any) -> None:
    if is_template(value):
        raise ValueError(_NO_TEMPLATE)


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise Mismatch("text")
    if not value.strip():
        raise ValueError("must not be empty")
    return value


def name(value: Any) -> str:
    if (fault := name_fault(text(value))) is not None:
        raise ValueError(f"`{shorten(value)}` {fault}")
    return str(value)


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Mismatch("true or false")
    return value


def mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Mismatch("a mapping")
    return value


def duration(value: Any) -> float:
    """Returns the seconds of a duration, which must be longer than zero."""
    refuse_template(value)
    if not is_number(value) and not isinstance(value, str):
        raise Mismatch("a duration such as 30s, 5m or a number of seconds")
    seconds = parse_duration(value)
    if seconds <= 0:
        raise ValueError(f"must be longer than zero, found {shorten(str(value))}")
    return seconds


def whole(least: int, most: int) -> ValueReader:
    def read(value: Any) -> int:
        refuse_template(value)
        if not is_whole(value):
            raise Mismatch(f"a whole number from {least} to {most}")
        if not least <= value <= most:
            raise ValueError(f"must be from {least} to {most}, found {value}")
        return int(value)

    return ValueReader(read, {"type": "integer", "minimum": least, "maximum": most})


def or_template(read: Callable[[Any], Any], schema: JsonSchema) -> ValueReader:
    """Makes a type for a value, or for a template that gives the value."""
    return ValueReader(
        lambda value: value if is_template(value) else read(value), {"anyOf": [schema, TEMPLATE]}
    )


def as_written(value: Any, written: str | None) -> Any:
    return written if is_number(value) else value


def _label(value: Any, written: Written) -> str:
    """Returns a text. A number is taken as it was written, so `1.10` does not become 1.1."""
    return text(as_written(value, written()))


def _text_mapping(value: Any, written: Written) -> dict[str, str]:
    """Returns a mapping of text to text. Numbers are taken as they were written."""
    texts = {key: as_written(one, written(key)) for key, one in mapping(value).items()}
    wrong = [(key,) for key, one in texts.items() if not isinstance(one, str)]
    if wrong:
        raise faults((path, Mismatch("text"), value[path[0]]) for path in wrong)
    return texts


def text_mapping(
    fault: Callable[[str, str], str | None], key: JsonSchema, value: JsonSchema | None = None
) -> WrittenValueReader:
    """Makes a type for a mapping of text to text. `fault` returns what is wrong with a key and its value, or None."""

    def read(given: Any, written: Written) -> dict[str, str]:
        texts = _text_mapping(given, written)
        wrong = [(name, said) for name, one in texts.items() if (said := fault(name, one)) is not None]
        if wrong:
            raise faults(((name,), ValueError(said), texts[name]) for name, said in wrong)
        return texts

    values = {**WRITTEN_SCHEMA, **(value or {})}
    return WrittenValueReader(read, {"type": "object", "propertyNames": key, "additionalProperties": values})


def matching(pattern: re.Pattern[str], message: str, schema: JsonSchema) -> ValueReader:
    """Makes a type for text that matches a pattern. Templates are refused. `message` follows the text in an error."""

    def read(value: Any) -> str:
        given = text(value)
        refuse_template(given)
        if not pattern.fullmatch(given):
            raise ValueError(f"`{shorten(given)}` {message}")
        return given

    return ValueReader(read, schema)


TEXT = ValueReader(text, TEXT_SCHEMA)
NAME = ValueReader(name, NAME_SCHEMA)
FLAG = ValueReader(flag, {"type": "boolean"})
MAPPING = ValueReader(mapping, {"type": "object"})
ANY = ValueReader(lambda value: value, {})
LABEL = WrittenValueReader(_label, {"anyOf": [TEXT_SCHEMA, {"type": "number"}]})
TEXT_MAPPING = WrittenValueReader(_text_mapping, {"type": "object", "additionalProperties": WRITTEN_SCHEMA})
DURATION_SCHEMA: JsonSchema = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": DURATION_PATTERN, **_NOT_ZERO},
    ]
}
DURATION = ValueReader(duration, DURATION_SCHEMA)
