"""Declares and reads a mapping of the workflow file: its keys, their types, and the rules that join several keys.

pydantic checks the mapping and gives the JSON Schema. Its errors become findings with a key path, worded for the author of the file.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

from tenax.model.source.findings import MOST_FINDINGS, Findings, Path, shorten, suggest

JsonSchema = dict[str, Any]
ShapeType = TypeVar("ShapeType", bound="Shape")


class Mismatch(ValueError):
    """Says that a value has the wrong type. `wanted` follows the word "expected" in the message."""

    def __init__(self, wanted: str) -> None:
        super().__init__(f"expected {wanted}")
        self.wanted = wanted


@dataclass(frozen=True, slots=True)
class _StandIn:
    """Says why a key is required, and gives the value that replaces a missing or wrong one, so that the rest can be checked."""

    needed: str | None
    stand_in: Any


_REQUIRED: Any = ...


def declare(
    says: str,
    *types: Any,
    default: Any = None,
    needed: str | None = None,
    stand_in: Any = _REQUIRED,
    alias: str | None = None,
    extra: JsonSchema | None = None,
) -> Any:
    """Declares a key with its description, its types and its default. `needed` makes it required, and follows "missing" in the message.

    `stand_in` replaces a missing or wrong value, so that the rest can be checked. For a required key it is None if it is not given.
    """
    if needed is not None:
        default = _REQUIRED
        stand_in = None if stand_in is _REQUIRED else stand_in
    info: FieldInfo = Field(default, description=says, alias=alias, json_schema_extra=extra)
    info.metadata = [*types, *([_StandIn(needed, stand_in)] if stand_in is not _REQUIRED else [])]
    return info


class ValueReader:
    """Is the type of a key: a function that reads the value or raises ValueError, and the JSON Schema of the value."""

    def __init__(self, read: Callable[[Any], Any], schema: JsonSchema) -> None:
        self.read = read
        self.schema = schema

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchema:
        return copy.deepcopy(self.schema)


class DeferredReader(ValueReader):
    """Is the type of a value that another module reads in full. `declared` returns the type for the JSON Schema."""

    def __init__(self, read: Callable[[Any], Any], declared: Callable[[], Any]) -> None:
        super().__init__(read, {})
        self.declared = declared

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchema:
        # pydantic drops the description of the outermost schema, so another schema is put around it.
        return handler(core_schema.nullable_schema(TypeAdapter(self.declared()).core_schema))


class WrittenValueReader(ValueReader):
    """Is the type of a value that may hold numbers. Its reader gets the numbers as they were written."""

    def __init__(self, read: Callable[[Any, Written], Any], schema: JsonSchema) -> None:
        super().__init__(lambda value: value, schema)
        self.read_written = read

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: Any, info: ValidationInfo) -> Any:
            context: Any = info.context
            return self.read_written(value, lambda *below: context.written((str(info.field_name), *below)))

        return core_schema.with_info_plain_validator_function(read)


Written = Callable[..., str | None]
"""Returns the number at a key path below the value, as it was written."""


class ShortForms:
    """Adds short forms to a type. `expand` returns the long form, so a mistake in any form is one error."""

    def __init__(self, expand: Callable[[Any], Any], *forms: JsonSchema) -> None:
        self.expand = expand
        self.forms = forms

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.expand, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchema:
        return {"anyOf": [handler(schema), *copy.deepcopy(self.forms)]}


@dataclass(frozen=True, slots=True)
class KeysRule:
    """Is a rule about several keys of one mapping."""

    is_broken: Callable[[Mapping[str, Any]], bool]
    message: str
    schema: JsonSchema
    at: tuple[str, ...] = ()
    """The key that an error names. If it is empty, the error names the mapping itself."""


def exclusive(first: str, second: str) -> KeysRule:
    return KeysRule(
        lambda data: first in data and second in data,
        f"`{first}` and `{second}` exclude each other: keep one",
        {"not": {"required": [first, second]}},
        (second,),
    )


def any_of(first: str, second: str, message: str) -> KeysRule:
    return KeysRule(
        lambda data: first not in data and second not in data,
        message,
        {"anyOf": [{"required": [first]}, {"required": [second]}]},
    )


def only_with(key: str, other: str, message: str) -> KeysRule:
    return KeysRule(
        lambda data: key in data and other not in data, message, {"dependentRequired": {key: [other]}}, (key,)
    )


def faults(found: Iterable[tuple[Path, ValueError, Any]]) -> ValidationError:
    """Returns several errors below one place as one. Each has its path, its message and the value."""
    return ValidationError.from_exception_data(
        "faults",
        [
            InitErrorDetails(type="value_error", loc=path, input=value, ctx={"error": error})
            for path, error, value in found
        ],
    )


class _BrokenRule(ValueError):
    """Says that a rule about several keys is broken. Each key may be right by itself."""


class Shape(BaseModel):
    """Is a mapping of the file. Values are not converted, and unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    within: ClassVar[str] = ""
    """The place of the keys, in words that follow "unknown key"."""
    together: ClassVar[tuple[KeysRule, ...]] = ()

    @classmethod
    def key_names(cls) -> tuple[str, ...]:
        return tuple(keys_by_field(cls).values())

    @classmethod
    def field(cls, key: str | int) -> FieldInfo | None:
        return next((f for name, f in cls.model_fields.items() if (f.alias or name) == key), None)

    @classmethod
    def unknown_key_message(cls, key: str) -> str:
        """Returns the error message for an unknown key."""
        return f"unknown key `{shorten(key)}` {cls.within}{suggest(key, cls.key_names())}"

    def given(self) -> dict[str, Any]:
        """Returns the keys that were given, in their own order, with their values."""
        given = self.model_fields_set
        return {key: getattr(self, name) for name, key in keys_by_field(type(self)).items() if name in given}

    @model_validator(mode="wrap")
    @classmethod
    def _look_at_keys_together(
        cls, data: Any, handler: ModelWrapValidatorHandler[ShapeType], info: ValidationInfo
    ) -> ShapeType:
        context: Any = info.context
        rules = () if context.lenient or not isinstance(data, dict) else _rules_of(cls)
        broken = [(rule.at, _BrokenRule(rule.message), data) for rule in rules if rule.is_broken(data)]
        if not broken:
            return handler(data)
        found = faults(broken)
        # A key that this rule reports is one mistake, so other errors of its value are left out.
        at = {rule_at for rule_at, *_ in broken if rule_at}
        try:
            handler(data)
        except ValidationError as error:
            lines = [*found.errors(), *(line for line in error.errors() if line["loc"][:1] not in at)]
            raise ValidationError.from_exception_data("faults", [_as_init(line) for line in lines]) from None
        raise found

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchema:
        made: JsonSchema = handler.resolve_ref_schema(handler(schema))
        if _rules_of(cls):
            made["allOf"] = [copy.deepcopy(rule.schema) for rule in _rules_of(cls)]
        return made


@cache
def keys_by_field(shape: type[Shape]) -> dict[str, str]:
    """Returns the keys of a mapping by the names of its fields."""
    return {name: field.alias or name for name, field in shape.model_fields.items()}


@cache
def _rules_of(shape: type[Shape]) -> tuple[KeysRule, ...]:
    return tuple(rule for base in shape.__mro__ for rule in base.__dict__.get("together", ()))


def _as_init(line: Any) -> InitErrorDetails:
    return InitErrorDetails(type=line["type"], loc=line["loc"], input=line["input"], ctx=line.get("ctx", {}))


@dataclass(frozen=True, slots=True)
class Fault:
    """Describes one mistake: its place below the mapping, the message, and the value there."""

    key: str | int | None
    """The key of the mapping, which may be missing. None if the mistake concerns the whole mapping."""
    path: Path
    message: str | Mismatch
    value: Any


@dataclass(frozen=True, slots=True)
class _Context:
    written: Callable[[Path], str | None]
    lenient: bool = False


_WANTED = {"model_type": "a mapping", "dict_type": "a mapping", "list_type": "a list"}
_MOST_PASSES = 4


def read_shape(
    shape: type[ShapeType], data: Mapping[Any, Any], written: Callable[[Path], str | None]
) -> tuple[ShapeType, list[Fault]]:
    """Reads a mapping and finds all mistakes in it. Returns the mapping without the wrong values."""
    try:
        return shape.model_validate(data, context=_Context(written)), []
    except ValidationError as error:
        lines: list[Any] = error.errors(include_url=False)
    found = [_fault(shape, line, data) for line in reversed(lines[:MOST_FINDINGS])]
    lenient = _Context(written, lenient=True)
    mended: dict[Any, Any] = dict(data)
    whole = len(lines) >= MOST_FINDINGS  # the file is refused then, so precision does not matter
    for depth in (1 if whole else None, *[1] * _MOST_PASSES):
        _mend(shape, mended, lines, depth)
        try:
            return shape.model_validate(mended, context=lenient), found
        except ValidationError as error:
            lines = list(error.errors(include_url=False))
    raise AssertionError(f"nothing can be read of {shape.__name__}: {lines}")


def _fault(shape: type[Shape], line: Any, data: Any) -> Fault:
    kind, path = line["type"], line["loc"]
    message: str | Mismatch
    if kind == "missing":
        field = _owner(shape, path).field(path[-1])
        why = next(extra.needed for extra in _stand_ins_of(field))
        message = f"`{path[-1]}` is missing: {why}"
    elif kind in ("extra_forbidden", "invalid_key"):
        message = _owner(shape, path).unknown_key_message(path[-1])
    elif kind == "value_error":
        error = line["ctx"]["error"]
        message = error if isinstance(error, Mismatch) else str(error)
    else:
        message = Mismatch(_WANTED[kind]) if kind in _WANTED else line["msg"]
    present = _present(data, path[:-1] if kind == "missing" else path)
    return Fault(next(iter(path), None), present, message, line["input"])


def read_mapping(
    shape: type[ShapeType], data: Mapping[str, Any], path: Path, findings: Findings
) -> tuple[ShapeType, set[str | int | None]]:
    """Reads the mapping at `path` of a file and reports its mistakes. Also returns the keys that have mistakes."""
    found, wrong = read_shape(shape, data, lambda below: findings.source.written((*path, *below)))
    for fault in wrong:
        place = (*path, *fault.path)
        if isinstance(fault.message, Mismatch):
            findings.mismatch(fault.message.wanted, fault.value, place)
        else:
            findings.add(place, fault.message)
    return found, {fault.key for fault in wrong}


def _stand_ins_of(field: FieldInfo | None) -> list[_StandIn]:
    return [extra for extra in (field.metadata if field is not None else ()) if isinstance(extra, _StandIn)]


def _owner(shape: type[Shape], path: Path) -> type[Shape]:
    """Returns the shape of the mapping that holds the last key of a path."""
    for key in path[:-1]:
        field = shape.field(key)
        shape = next(_shapes_in(field.annotation), shape) if field is not None else shape
    return shape


def _shapes_in(annotation: Any) -> Iterator[Any]:
    if isinstance(annotation, type) and issubclass(annotation, Shape):
        yield annotation
    for part in get_args(annotation):
        yield from _shapes_in(part)


def _present(data: Any, path: Path) -> Path:
    """Returns the part of a path that exists in the file. The long form of a short value has keys that nobody wrote."""
    present: list[str | int] = []
    for key in path:
        below = _below(data, key)
        if below is not _NOTHING:
            present.append(key)
            data = below
    return tuple(present)


_NOTHING = object()


def _below(data: Any, key: Any) -> Any:
    if isinstance(data, Mapping):
        return data.get(key, _NOTHING)
    if isinstance(data, list | tuple) and isinstance(key, int) and key < len(data):
        return data[key]
    return _NOTHING


def _mend(shape: type[Shape], data: dict[Any, Any], lines: list[Any], depth: int | None) -> None:
    """Removes wrong values, or replaces them by their stand-ins. Changes as little as possible, or whole keys if `depth` is 1.

    Starts with the last error, so that the positions in lists stay right.
    """
    done: set[Path] = set()
    for line in reversed(lines):
        *above, last = line["loc"] or (None,)
        missing = (last,) if line["type"] == "missing" else ()
        path: Path = (*_present(data, tuple(above) if missing else line["loc"]), *missing)[:depth]
        if not path or path in done or isinstance(line.get("ctx", {}).get("error"), _BrokenRule):
            continue
        done.add(path)
        holder: Any = data
        for key in path[:-1]:
            below = copy.copy(holder[key])
            holder[key] = below
            holder = below
        stand_ins = [extra.stand_in for extra in _stand_ins_of(_owner(shape, path).field(path[-1]))]
        if stand_ins and isinstance(holder, dict):
            holder[path[-1]] = copy.deepcopy(stand_ins[0])
        elif isinstance(holder, dict):
            holder.pop(path[-1], None)
        else:
            del holder[path[-1]]
