"""Follows the documents that states hand on, so that paths (`$.order.id`) become the results and inputs that they mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tenax.dialects.native.names import member, of_input
from tenax.dialects.native.templates import literal_text
from tenax.dialects.native.workflow import ForeignText, NativeWorkflow
from tenax.model.source.findings import Path

INPUT = "input"
Keys = tuple[str, ...]

_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
_FORMAT = re.compile(r"\s*States\.Format\(\s*'((?:[^'\\]|\\.)*)'\s*(?:,(.*))?\)\s*", re.DOTALL)
_CONTEXT: Mapping[Keys, str] = {
    ("Execution", "Id"): "execution_id",
    ("Execution", "Name"): "execution_id",
    ("Map", "Item", "Value"): "item",
    ("Map", "Item", "Index"): "index",
    ("State", "RetryCount"): "attempt - 1",
}


@dataclass(frozen=True)
class Document:
    """Is the value that a state gets or gives."""

    base: str | None = None
    """The expression of the whole value. None if only its parts are known."""
    parts: Mapping[str, Document] = field(default_factory=dict)
    """The values that `ResultPath` or a selector put into the document."""
    renames: Mapping[str, str] = field(default_factory=dict)
    """The names that its members have in Tenax. A member whose name is empty is the document itself."""

    def at(self, keys: Keys, workflow: NativeWorkflow) -> str | None:
        """Returns the expression of a member, or None if it is not known."""
        if not keys:
            return None if self.parts else self.base
        first, *rest = keys
        if first in self.parts:
            return self.parts[first].at(tuple(rest), workflow)
        if self.base is None:
            return None
        if self.base == INPUT:
            return _below(workflow.declare(first, required=True), tuple(rest))
        if first in self.renames:
            return _below(self.base, (*([self.renames[first]] if self.renames[first] else []), *rest))
        return _below(self.base, keys)

    def sub(self, keys: Keys, workflow: NativeWorkflow) -> Document:
        """Returns a member as a document of its own."""
        if not keys:
            return self
        if keys[0] in self.parts:
            return self.parts[keys[0]].sub(keys[1:], workflow)
        return Document(self.at(keys, workflow))

    def with_part(self, keys: Keys, part: Document) -> Document:
        """Returns the document with another one put into it."""
        if not keys:
            return part
        inner = self.parts.get(keys[0], Document(None))
        return replace(self, parts={**self.parts, keys[0]: inner.with_part(keys[1:], part)})


def _below(base: str, keys: Keys) -> str:
    for key in keys:
        base = member(base, int(key) if key.isdecimal() else key)
    return base


def keys_of(path: str) -> Keys | None:
    """Returns the keys of a reference path, or None if it selects more than one value."""
    text = path.strip()
    if not text.startswith("$"):
        return None
    keys: list[str] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            return None
        keys.append(next(part for part in found.groups() if part is not None))
        at = found.end()
    return tuple(keys)


@dataclass
class Reader:
    """Translates the paths and payloads of one state."""

    workflow: NativeWorkflow
    document: Document

    def expression(self, path: str, origin: Path) -> str:
        """Returns the expression of a path. Without a counterpart it is an input of its own."""
        found = self._context(path[1:]) if path.startswith("$$") else self._member(path)
        if found is None:
            return self.workflow.stand_in(ForeignText(path, path, origin), "what it names is not known")
        return found

    def _member(self, path: str) -> str | None:
        keys = keys_of(path)
        return None if keys is None else self.document.at(keys, self.workflow)

    def _context(self, path: str) -> str | None:
        keys = keys_of(path)
        if keys is None:
            return None
        if keys[:2] == ("Execution", "Input"):
            return Document(INPUT).at(keys[2:], self.workflow)
        for known, expression in _CONTEXT.items():
            if keys[: len(known)] == known:
                return _below(expression, keys[len(known) :])
        return None

    def template(self, path: str, origin: Path) -> ForeignText:
        """Returns the template of a path or of an intrinsic function."""
        formatted = _FORMAT.fullmatch(path)
        if formatted is not None:
            return ForeignText(self._formatted(formatted, origin), path, origin)
        if path.lstrip().startswith("States."):
            expression = self.workflow.stand_in(ForeignText(path, path, origin), "Tenax has no such function")
        else:
            expression = self.expression(path, origin)
        return ForeignText(f"{{{{ {expression} }}}}", path, origin)

    def _formatted(self, found: re.Match[str], origin: Path) -> str:
        pieces = found[1].replace("\\'", "'").split("{}")
        arguments = [one.strip() for one in (found[2] or "").split(",")]
        made = literal_text(pieces[0])
        for index, piece in enumerate(pieces[1:]):
            argument = arguments[index] if index < len(arguments) else "''"
            value = (
                argument.strip("'") if not argument.startswith("$") else str(self.template(argument, origin))
            )
            made += value + literal_text(piece)
        return made

    def payload(self, value: Any, origin: Path) -> Any:
        """Translates a payload template. A key that ends in `.$` has a path as its value."""
        match value:
            case dict():
                made: dict[str, Any] = {}
                for key, part in value.items():
                    if key.endswith(".$") and isinstance(part, str):
                        made[key[:-2]] = self.template(part, (*origin, key))
                    else:
                        made[key] = self.payload(part, (*origin, key))
                return made
            case list():
                return [self.payload(part, (*origin, index)) for index, part in enumerate(value)]
            case str() if value.startswith("{%"):
                why = "JSONata is not evaluated here"
                return f"{{{{ {self.workflow.stand_in(ForeignText(value, value, origin), why)} }}}}"
            case str():
                return literal_text(value)
            case _:
                return value

    def selected(self, value: Any, origin: Path) -> Document:
        """Returns the document that a selector makes."""
        parts: dict[str, Document] = {}
        for key, part in value.items() if isinstance(value, dict) else ():
            if key.endswith(".$") and isinstance(part, str):
                made = self.template(part, (*origin, key))
                parts[key[:-2]] = Document(str(made).removeprefix("{{ ").removesuffix(" }}"))
            elif isinstance(part, dict):
                parts[key] = self.selected(part, (*origin, key))
            else:
                parts[key] = Document(_constant(part))
        return Document(None, parts)


def _constant(value: Any) -> str | None:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    if isinstance(value, int | float):
        return str(value)
    return (
        "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'" if isinstance(value, str) else None
    )


def stands_in(schema: Mapping[str, Any]) -> bool:
    """Tells whether an input stands for an expression without a counterpart."""
    return str(schema.get("description", "")).startswith("stands for")


def whole_input(workflow: NativeWorkflow, document: Document) -> Any:
    """Returns a template of the whole document: of an execution's input, all of it, or its members that are known by now."""
    if document.base == INPUT and not document.parts:
        return "{{ input }}"
    expression = document.at((), workflow)
    if expression is not None:
        return f"{{{{ {expression} }}}}"
    known = (
        [name for name, one in workflow.inputs.items() if not stands_in(one)]
        if document.base == INPUT
        else []
    )
    given = {name: f"{{{{ {of_input(name)} }}}}" for name in known}
    return given | {
        key: whole_input(workflow, part) for key, part in document.parts.items() if part.base or part.parts
    }


def input_for(child: NativeWorkflow, document: Document, parent: NativeWorkflow) -> dict[str, Any]:
    """Returns the inputs of a child: the members of the document that the child reads."""
    given: dict[str, Any] = {}
    for name, schema in child.inputs.items():
        if stands_in(schema):
            continue
        expression = document.at((name,), parent)
        given[name] = f"{{{{ {expression or of_input(name)} }}}}"
        if expression is None:
            parent.declare(name, required=True)
    return given
