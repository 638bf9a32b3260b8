"""Makes the tables of docs/events.md, from the declarations of the event types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import msgspec

from generators.tables import code, table
from tenax.model.events import NAMES
from tenax.model.events.parts import DecisionRecord, EventData, FailureRecord
from tenax.model.events.types import TYPES, Event

_EXPLAINED = (DecisionRecord, FailureRecord)
"""Structs that have pages of their own. Their fields are not listed."""
_SHARED = 3
"""The number of fields from which a shape is written out only once. Later types refer to the first one."""


def events() -> str:
    """Builds the table of the events that this version writes."""
    return table(
        ("event", "when", "data"),
        [(code(name), kind.when, _data_words(kind)) for name, kind in TYPES.items()],
    )


def _data_words(kind: type[Event]) -> str:
    shape = _data_type(kind)
    if shape is None:
        return ""
    first = next((other for other in TYPES.values() if _shape_of(other) is _shape_of(kind)), kind)
    base = _shape_of(kind)
    if base is None or first is kind or len(msgspec.structs.fields(base)) < _SHARED:
        return _field_words(shape)
    own = [field for field in msgspec.structs.fields(shape) if field.name not in base.__struct_fields__]
    return "; ".join([f"as {code(NAMES[first])}", *([", ".join(_words(f) for f in own)] if own else [])])


def _field_words(shape: type[msgspec.Struct]) -> str:
    """Lists the fields: first the fields of every event, and after a semicolon the others."""
    fields = msgspec.structs.fields(shape)
    always = ", ".join(_words(field) for field in fields if field.required)
    others = ", ".join(_words(field) for field in fields if not field.required)
    if not always:
        return f"where it applies: {others}"
    return f"{always}; {others}" if others else always


def _words(field: msgspec.structs.FieldInfo) -> str:
    description = next((m.description for m in _metas(field.type) if m.description), None)
    if description is not None:
        return f"{field.encode_name} ({description})"
    part = _struct(field.type)
    if part is None or issubclass(part, _EXPLAINED):
        return field.encode_name
    return f"{field.encode_name} ({_field_words(part)})"


def _data_type(kind: type[Event]) -> type[msgspec.Struct] | None:
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    return _struct(fields["data"].type) if "data" in fields else None


def _shape_of(kind: type[Event]) -> type[msgspec.Struct] | None:
    """Returns the data of a type as it is before other types add fields of their own."""
    found = _data_type(kind)
    return None if found is None else found.__mro__[found.__mro__.index(EventData) - 1]


def _metas(hint: Any) -> Iterator[msgspec.Meta]:
    if get_origin(hint) is Annotated:
        yield from (one for one in get_args(hint)[1:] if isinstance(one, msgspec.Meta))
    else:
        for one in get_args(hint):
            yield from _metas(one)


def _struct(hint: Any) -> type[msgspec.Struct] | None:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint
    return next((found for one in get_args(hint) if (found := _struct(one)) is not None), None)


BLOCKS = {"events": events}
