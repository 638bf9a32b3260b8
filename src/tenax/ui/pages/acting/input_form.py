"""Makes the fields of a form from the inputs that a workflow declares, and reads them back as values."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal, NamedTuple, TypeVar

from tenax.errors import InvalidInput, TenaxError, UsageError
from tenax.model.definition.workflow import Input
from tenax.model.source.json_source import parse_json
from tenax.ui.rendering import pretty

T = TypeVar("T")
PREFIX = "input."
"""Stands before the names of inputs in the form, so that none of them is taken for another field."""
MOST_EDITED = 100_000  # characters of a value that a field holds
_LONG = 80  # characters of a text for which a line is too short

Kind = Literal["text", "lines", "date", "integer", "number", "boolean", "choice", "json", "kept"]
Read = tuple[dict[str, Any], dict[str, str]]
"""The values that have changed, and what is wrong with others, by the names of the inputs."""


@dataclass(frozen=True, slots=True)
class InputField:
    """Is the field of one input."""

    name: str
    kind: Kind
    text: str
    """What the field holds. Of a `boolean`, `on` if it is checked."""
    choices: Mapping[str, Any] = field(default_factory=dict)
    """The values of a `choice`, by the texts that stand for them."""
    hint: str = ""
    is_needed: bool = False
    is_given: bool = False
    """True if the execution has a value for it."""
    error: str | None = None


def fields_of(inputs: Mapping[str, Input], given: Mapping[str, Any]) -> list[InputField]:
    """Returns a field for each input, with the value that an execution had, or else with its default."""
    return [_field(name, declared, given) for name, declared in inputs.items()]


def _field(name: str, declared: Input, given: Mapping[str, Any]) -> InputField:
    schema, is_given = declared.schema, name in given
    value = given.get(name, declared.default if declared.has_default else None)
    kind = _kind(schema, value)
    text = "" if value is None and kind != "json" else _text(kind, value)
    if value is None and not is_given and not declared.has_default:
        text = ""
    if len(text) > MOST_EDITED:
        kind, text = "kept", ""
    hint = " ".join(str(schema[key]) for key in ("title", "description") if schema.get(key))
    return InputField(
        name,
        kind,
        text,
        choices=_choices(schema) if kind == "choice" else {},
        hint=hint[:500],
        is_needed=declared.required,
        is_given=is_given,
    )


def _kind(schema: Mapping[str, Any], value: Any) -> Kind:
    if _choices(schema) and (value is None or _text("choice", value) in _choices(schema)):
        return "choice"
    match schema.get("type"):
        case "string" if value is None or isinstance(value, str):
            if schema.get("format") == "date" and (not value or _is_date(value)):
                return "date"
            return "lines" if value is not None and ("\n" in value or len(value) > _LONG) else "text"
        case "integer" if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return "integer"
        case "number" if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            return "number"
        case "boolean" if value is None or isinstance(value, bool):
            return "boolean"
        case _:
            return "json"


def _choices(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values that an input may have, by the texts that stand for them. It is empty if they are not a few plain ones."""
    values = schema.get("enum")
    if not isinstance(values, list) or any(isinstance(one, dict | list) for one in values):
        return {}
    found = {_text("choice", one): one for one in values}
    return found if len(found) == len(values) and "" not in found else {}


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _text(kind: Kind, value: Any) -> str:
    match kind:
        case "text" | "lines" | "date":
            return str(value)
        case "choice":
            return value if isinstance(value, str) else json.dumps(value)
        case "boolean":
            return "on" if value else ""
        case _:
            return pretty(value)


def read_fields(fields: Sequence[InputField], sent: Mapping[str, str], given: Mapping[str, Any]) -> Read:
    """Reads the sent fields. A field that was and is empty gives no value, so the default of its input holds."""
    changed: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for one in fields:
        text = sent.get(PREFIX + one.name, "").replace("\r\n", "\n")
        if one.kind == "kept" or _is_left_out(one, text):
            continue
        try:
            value = _value(one, text)
        except TenaxError as error:
            wrong[one.name] = error.message
            continue
        if not one.is_given or value != given[one.name] or type(value) is not type(given[one.name]):
            changed[one.name] = value
    return changed, wrong


def _is_left_out(field: InputField, text: str) -> bool:
    """Returns whether a field gives no value. A box that is needed always gives one, and an empty number or date never does."""
    if text.strip() or field.is_given:
        return False
    if field.kind == "boolean":
        return not field.is_needed and field.text == ""
    return field.text == "" or field.kind not in ("text", "lines")


def _value(field: InputField, text: str) -> Any:
    match field.kind:
        case "text" | "lines" | "date":
            return text
        case "choice":
            return field.choices.get(text, text)
        case "boolean":
            return text == "on"
        case _ if not text.strip():
            raise InvalidInput("a value is missing: an input that was given cannot be taken away")
        case _:
            return parse_json(text, field.name)


def filled_in(
    fields: Sequence[InputField], sent: Mapping[str, str], wrong: Mapping[str, str]
) -> list[InputField]:
    """Returns the fields as they were sent, each with what is wrong with it."""
    return [replace(one, text=sent.get(PREFIX + one.name, ""), error=wrong.get(one.name)) for one in fields]


class RefusedInput(NamedTuple):
    """Is a form as it was sent, with what is wrong beside the fields, and the error if something else is wrong."""

    fields: list[InputField]
    error: TenaxError | None


async def start_with_input(
    inputs: Mapping[str, Input],
    given: Mapping[str, Any],
    sent: Mapping[str, str],
    start: Callable[[dict[str, Any]], Awaitable[T]],
) -> T | RefusedInput:
    """Calls `start` with the values of the form that differ from those given. Returns its answer, or the form if it cannot be."""
    fields = fields_of(inputs, given)
    changed, wrong = read_fields(fields, sent, given)
    error: TenaxError | None = None
    if not wrong:
        try:
            return await start(changed)
        except (InvalidInput, UsageError) as refused:
            wrong, rest = place_problems(refused.message, list(inputs))
            error = refused if rest or not wrong else None
    return RefusedInput(filled_in(fields, sent, wrong), error)


def place_problems(message: str, names: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Returns what is wrong with each input, from a refusal that has a line for each misfit, and the lines that name none."""
    wrong: dict[str, str] = {}
    rest: list[str] = []
    for line in message.split("\n")[1:]:
        text = line.strip()
        name = _named(text, names)
        if name is None:
            rest.append(text)
            continue
        told = text.removeprefix(name).removeprefix(": ").lstrip(".")
        wrong[name] = f"{wrong[name]}; {told}" if name in wrong else told
    return wrong, rest


def _named(line: str, names: Sequence[str]) -> str | None:
    """Returns the longest name with which a line begins."""
    fitting = [name for name in names if line.startswith((f"{name}:", f"{name}.", f"{name}["))]
    return max(fitting, key=len, default=None)
