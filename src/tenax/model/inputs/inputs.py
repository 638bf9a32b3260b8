"""Reads the inputs that a workflow declares as JSON Schemas, and checks the inputs of executions against them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from tenax.errors import InvalidInput
from tenax.model.definition.workflow import Input, Workflow
from tenax.model.inputs.schema_cost import NotAtOnce, SchemaCost, cost_of, is_short, size_of, weight_of
from tenax.model.inputs.schema_validator import validator_of
from tenax.model.json_text import LARGEST_INTEGER, SMALLEST_INTEGER
from tenax.model.source.findings import Findings, Path, describe_mismatch, format_path, shorten, suggest

MAX_INPUTS = 500  # inputs of one workflow  # inputs of one workflow
_PATH: Path = ("input",)
MAX_DEPTH = 100
"""Levels of lists and objects in an input."""
_SCHEMAS_AT_ONCE = 200
"""The most values in all schemas of a definition that is read on the event loop. Each schema is checked against the meta-schema."""
SCHEMA_MEMORY = 32_000_000
"""Bytes of the schemas whose validators are kept in memory."""
_VALIDATOR = 2_000
"""Bytes of a validator without its schema."""
_VALUES_AT_ONCE = 10_000
"""The most values in all inputs of an execution that are checked on the event loop."""

# fmt: off
INPUT_KEYWORDS = (
    "type", "enum", "const", "required", "default", "description", "title", "examples", "format",
    "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
    "maxLength", "items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems",
    "minContains", "maxContains", "properties", "patternProperties", "additionalProperties",
    "propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
    "unevaluatedItems", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
    "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema",
    "$schema", "$ref", "$defs", "$comment",
)
# fmt: on
_SURROGATE = re.compile("[\ud800-\udfff]")
_REFUSED_ANYWHERE = ("$id", "$anchor", "$dynamicRef", "$dynamicAnchor")
_MAX_PROBLEM = 300
_MAX_PROBLEMS = 50


@dataclass(frozen=True, slots=True)
class DefinitionLimits:
    """Limits the size of a definition."""

    steps: int = 20_000
    schema: int = 5_000
    """The most values in all schemas of its inputs."""
    at_once: bool = False
    """True if reading must be short. `NotAtOnce` is raised if a schema may take longer."""


def read_inputs(
    given: Mapping[str, Any], findings: Findings, limits: DefinitionLimits, at: Path = _PATH
) -> dict[str, Input]:
    """Reads the workflow's `input`, or an action's `parameters`: a mapping of names to schemas."""
    if len(given) > MAX_INPUTS:
        findings.add(at, f"more than {MAX_INPUTS} inputs: pass one mapping instead")
        return {}
    values = cost_of(given).values
    if values > limits.schema:
        message = (
            f"{values:,} values in the schemas of the inputs; {limits.schema:,} are allowed (`max_schema`)"
        )
        findings.add(at, message)
        return {}
    if limits.at_once and values > _SCHEMAS_AT_ONCE:
        raise NotAtOnce
    inputs: dict[str, Input] = {}
    for name, value in given.items():
        if limits.at_once:
            _stay_short(value)
        declared = _read_input(value, (*at, name), findings)
        if declared is not None:
            inputs[name] = declared
    return inputs


def _stay_short(schema: Any) -> None:
    """Raises NotAtOnce unless the checks of the schema and of its default are provably short."""
    default = size_of(schema.get("default")) if isinstance(schema, dict) else size_of(schema)
    if default is None or not is_short(cost_of(schema), default):
        raise NotAtOnce


def _read_input(value: Any, path: Path, findings: Findings) -> Input | None:
    if not isinstance(value, dict):
        example = f"{{type: {value}}}" if isinstance(value, str) and value.isalpha() else "{type: string}"
        findings.add(path, f"an input is a JSON Schema such as {shorten(example)}")
        return None
    found = len(findings)
    for key in value:
        if key not in INPUT_KEYWORDS:
            hint = suggest(key, INPUT_KEYWORDS)
            findings.add((*path, key), f"unknown key `{shorten(key)}` in an input's schema{hint}")
    # JSON Schema's own `required` is a list of property names; the input's is a boolean.
    required = value.get("required") is True
    if not isinstance(value.get("required", False), bool | list):
        findings.mismatch("true or false", value["required"], (*path, "required"))
    schema = {
        key: part for key, part in value.items() if key != "default" and not (key == "required" and required)
    }
    if value.get("required") is False:
        del schema["required"]
    if required and "default" in value:
        message = "an input with a `default` is never missing: leave out `required` or `default`"
        findings.add((*path, "required"), message)
    if len(findings) == found:
        _check_schema(schema, path, findings)
    if "default" not in value:
        return Input(schema, required=required)
    if len(findings) == found:
        for below, problem in _problems(schema, value["default"]):
            findings.add((*path, "default", *below), f"does not fit the input's own schema: {problem}")
    return Input(schema, has_default=True, default=value["default"])


def _check_schema(schema: dict[str, Any], path: Path, findings: Findings) -> None:
    from jsonschema import Draft202012Validator, SchemaError

    references = list(_walk_references(schema, ()))
    for below, message in references:
        findings.add((*path, *below), message)
    if references:
        return
    try:
        Draft202012Validator.check_schema(schema)
    except (OverflowError, RecursionError):
        message = "not valid JSON Schema: a `pattern` counts or nests too far"
        findings.add(path, message)
        return
    except SchemaError as error:
        findings.add((*path, *error.absolute_path), f"not valid JSON Schema: {_brief(error.message)}")
        return
    if unusable := _try_out(schema):
        findings.add(path, unusable)


def _try_out(schema: dict[str, Any]) -> str | None:
    """Uses the schema once, since a `$ref` to nothing or in a circle shows only then. Returns the error or None."""
    return next((problem for _, problem in _problems(schema, None) if problem.startswith("its schema")), None)


def _walk_references(schema: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yields the parts of a schema that refer to something outside of it. Nothing is ever fetched."""
    if isinstance(schema, list):
        for index, element in enumerate(schema):
            yield from _walk_references(element, (*path, index))
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if key in _REFUSED_ANYWHERE:
            yield (*path, key), f"`{key}` is not allowed in an input's schema"
        elif key == "$ref" and isinstance(value, str) and not value.startswith("#"):
            yield (*path, key), "`$ref` must stay within the schema: it begins with #"
        yield from _walk_references(value, (*path, key))


def check_input(workflow: Workflow, given: Mapping[str, Any]) -> dict[str, Any]:
    """Checks the given inputs. Returns them with the defaults of the others."""
    problems = find_misfits(workflow.inputs, given, "workflow", "input")
    if problems:
        raise InvalidInput(f"the input does not fit workflow `{workflow.name}`:\n  " + "\n  ".join(problems))
    return fill_in(workflow.inputs, given)


def find_misfits(inputs: Mapping[str, Input], given: Mapping[str, Any], owner: str, word: str) -> list[str]:
    """Returns what does not fit, one line for each. `owner` declares the inputs and calls one of them a `word`."""
    problems = [
        f"{shorten(name)}: there is no such {word}{suggest(name, list(inputs))}"
        if inputs
        else f"{shorten(name)}: the {owner} declares no {word}s"
        for name in given
        if name not in inputs
    ]
    for name, declared in inputs.items():
        if name in given:
            problems += [
                format_path((name, *path)) + f": {text}" for path, text in _problems_of(declared, given[name])
            ]
        elif declared.required:
            problems.append(f"{name}: required, but not given")
    return problems if len(problems) <= _MAX_PROBLEMS else [*problems[:_MAX_PROBLEMS], "and more"]


def fill_in(inputs: Mapping[str, Input], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the given inputs, which were checked before, with the defaults of the others."""
    return {
        name: given.get(name, declared.default)
        for name, declared in inputs.items()
        if name in given or declared.has_default
    }


def is_checked_shortly(inputs: Mapping[str, Input], given: Mapping[str, Any]) -> bool:
    """Returns whether `find_misfits` is provably short. If not, it may take any time."""
    values = 0
    for name, value in given.items():
        size = size_of(value)
        if size is None:
            return False
        values += size.values
        declared = inputs.get(name)
        if (
            declared is not None
            and declared.schema
            and not is_short(_VALIDATORS.of(declared.schema).cost, size)
        ):
            return False
    return values <= _VALUES_AT_ONCE


def _problems_of(declared: Input, value: Any) -> list[tuple[Path, str]]:
    unstorable = next(_walk_unstorable(value), None)
    return [unstorable] if unstorable is not None else _problems(declared.schema, value)


def _walk_unstorable(value: Any) -> Iterator[tuple[Path, str]]:
    """Yields the parts that JSON or PostgreSQL cannot hold. Does not recurse, since a value may be nested deeply."""
    pending: list[tuple[Path, Any]] = [((), value)]
    while pending:
        path, part = pending.pop()
        if len(path) > MAX_DEPTH:
            yield path[:3], f"nested deeper than {MAX_DEPTH} levels"
        elif isinstance(part, dict):
            pending.extend(((*path, str(key)), below) for key, below in part.items())
            pending.extend((path, key) for key in part)
        elif isinstance(part, list):
            pending.extend(((*path, index), below) for index, below in enumerate(part))
        elif isinstance(part, float) and not math.isfinite(part):
            yield path, f"{part} is not a finite number"
        elif isinstance(part, int) and not SMALLEST_INTEGER <= part <= LARGEST_INTEGER:
            yield path, "an integer beyond 64 bits (from -2^63 to 2^64-1): send it as a text"
        elif isinstance(part, str) and ("\0" in part or not _is_unicode(part)):
            yield path, "a character that cannot be stored as text (U+0000, or half of a surrogate pair)"


def _is_unicode(text: str) -> bool:
    return text.isascii() or _SURROGATE.search(text) is None


def _problems(schema: Mapping[str, Any], value: Any) -> list[tuple[Path, str]]:
    """Returns where and how `value` does not fit `schema`."""
    if not schema:
        return []
    from referencing.exceptions import Unresolvable

    validator = _VALIDATORS.of(schema).validator
    try:
        errors = list(islice(validator.iter_errors(value), _MAX_PROBLEMS + 1))
    except RecursionError:
        return [((), "its schema refers to itself without end (`$ref`)")]
    except Unresolvable:
        return [((), "its schema has a `$ref` that leads nowhere")]
    except (MemoryError, SystemError):  # the process that checks inputs has no more memory
        raise
    except Exception:  # noqa: BLE001 -- a `$ref` may lead to a part that is no schema, and cause any error
        return [((), "its schema has a `$ref` that leads to what is no schema")]
    return [
        (tuple(error.absolute_path), _explain(error.validator, error.validator_value, error))
        for error in errors
    ]


def _explain(keyword: object, wanted: Any, error: Any) -> str:
    if keyword == "type":
        wanted_types = " or ".join(wanted) if isinstance(wanted, list) else str(wanted)
        written = json.dumps(error.instance) if not isinstance(error.instance, list | dict) else None
        return describe_mismatch(wanted_types, error.instance, written)
    return _brief(str(error.message))


def _brief(message: str) -> str:
    return shorten(message, _MAX_PROBLEM)


class _Compiled(NamedTuple):
    schema: Mapping[str, Any]
    """The schema, which is kept so that its `id` stays unique."""
    cost: SchemaCost
    validator: Any
    weight: int


class _Validators:
    """Caches validators by the `id` of their schemas, since a workflow is submitted many times. Drops the oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[int, _Compiled] = {}
        self.weight = 0

    def of(self, schema: Mapping[str, Any]) -> _Compiled:
        found = self._kept.get(id(schema))
        if found is not None:
            return found
        weight = _VALIDATOR + weight_of(schema)
        while self._kept and self.weight + weight > self._most:
            self.weight -= self._kept.pop(next(iter(self._kept))).weight
        made = self._kept[id(schema)] = _Compiled(schema, cost_of(schema), validator_of(schema), weight)
        self.weight += weight
        return made


_VALIDATORS = _Validators(SCHEMA_MEMORY)
