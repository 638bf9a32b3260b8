"""Makes the page of the Python API: the public names of `tenax`, `tenax.builder`, `tenax.testing` and `tenax.embed`, from their docstrings.

Counts the lines of quick starts in the page about coming from other systems.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import tenax
import tenax.builder.steps
import tenax.embed
import tenax.testing
from generators.tables import code, table

_GROUPS = {
    "Tasks": ("task", "context", "TaskContext"),
    "Workflows": ("Workflow",),
    "How an attempt ends": ("Fatal", "Retry", "NotCompleted", "Snooze", "Cancelled"),
    "Clients": ("Client", "SyncClient", "Submission", "Submitted"),
    "Errors": ("TenaxError",),
}
_OTHERS = {
    tenax.builder.steps: ("Step",),
    tenax.testing: ("Tester", "ExecutionResult", "workbench", "Workbench"),
    tenax.embed: ("open_engine", "local_worker"),
}


def python_api() -> str:
    grouped = {name for names in _GROUPS.values() for name in names}
    missing = set(tenax.__all__) - grouped - {"__version__"}
    sections = [(title, [("tenax", name) for name in names]) for title, names in _GROUPS.items()]
    if missing:
        sections.append(("Others", [("tenax", name) for name in sorted(missing)]))
    parts: list[str] = []
    for title, names in sections:
        parts += [
            f"## {title}",
            *(_described(f"{module}.{name}", getattr(tenax, name)) for module, name in names),
        ]
    for module, names in _OTHERS.items():
        parts += [
            f"## `{module.__name__}`",
            *(_described(f"{module.__name__}.{name}", getattr(module, name)) for name in names),
        ]
    return "\n\n".join(parts)


def _described(name: str, value: Any) -> str:
    lines = [f"### `{name}`", "", f"```text\n{name}{_signature(value)}\n```", "", inspect.getdoc(value) or ""]
    if value is tenax.SyncClient:
        lines += ["", "It has the methods of [`Client`](#tenaxclient), without `await`."]
    elif inspect.isclass(value):
        rows = list(_members(value))
        if rows:
            lines += ["", table(("", "what it does"), rows)]
    return "\n".join(lines).rstrip()


def _signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = found.replace(
        parameters=[
            one.replace(annotation=_hint(one.annotation))
            for one in found.parameters.values()
            if one.name != "self"
        ],
        return_annotation=_hint(found.return_annotation),
    )
    return str(plain).replace("'", "").replace("~", "")


def _hint(annotation: Any) -> Any:
    """Returns a hint as a reader writes it, without the bounds that a decoder checks."""
    annotation = _plain_type(annotation)
    if annotation is inspect.Signature.empty or isinstance(annotation, str):
        return annotation
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")


def _plain_type(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return _plain_type(get_args(hint)[0])
    inner = tuple(_plain_type(one) for one in get_args(hint))
    if inner and inner != get_args(hint):
        return Union[inner] if get_origin(hint) in (Union, UnionType) else get_origin(hint)[inner]  # noqa: UP007
    return hint


def _members(value: type) -> Iterator[tuple[str, str]]:
    for name, member in inspect.getmembers(value):
        if name.startswith("_") or name in dir(BaseException) or name in dir(object):
            continue
        words = (inspect.getdoc(member) or "").partition("\n\n")[0].replace("\n", " ")
        if inspect.isfunction(member):
            yield code(f"{name}{_signature(member)}"), words
        elif isinstance(member, property):
            yield code(name), words


COMING_FROM = Path(__file__).parents[3] / "docs/coming-from.md"
_SECTION = re.compile(r"^## (\w+)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_PART = re.compile(r"^\*\*(\w+)\*\*\n(.*?)(?=^\*\*\w+\*\*\n|^\||\Z)", re.DOTALL | re.MULTILINE)
_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class QuickStart:
    """Is the quick start of one system, beside that of Tenax."""

    system: str
    commands: int
    lines: int


def quick_starts() -> dict[str, tuple[QuickStart, QuickStart]]:
    """Returns for each system its quick start, and the same with Tenax."""
    found: dict[str, tuple[QuickStart, QuickStart]] = {}
    for system, text in _SECTION.findall(COMING_FROM.read_text("utf-8")):
        parts = {name: _counted(name, body) for name, body in _PART.findall(text)}
        found[system] = (parts[system], parts["Tenax"])
    return found


def _counted(name: str, text: str) -> QuickStart:
    commands = lines = 0
    for language, body in _FENCED.findall(text):
        if language == "console":
            commands += sum(line.startswith("$ ") for line in body.splitlines())
        else:
            lines += sum(
                bool(line.strip()) and not line.strip().startswith("#") for line in body.splitlines()
            )
    return QuickStart(name, commands, lines)


def first_minutes() -> str:
    rows = [
        (system, f"{theirs.commands} + {theirs.lines}", f"{ours.commands} + {ours.lines}")
        for system, (theirs, ours) in quick_starts().items()
    ]
    return table(("commands + lines of code", "theirs", "Tenax"), rows)


BLOCKS: Mapping[str, Callable[[], str]] = {"python-api": python_api, "first-minutes": first_minutes}
