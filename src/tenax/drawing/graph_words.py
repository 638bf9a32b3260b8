"""Describes a step in a drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tenax.model.definition.workflow import Step
from tenax.model.durations import format_duration
from tenax.model.source.findings import shorten

State = Mapping[str, Any]
"""The state of a step in an execution: `status`, `attempt`, `counted`, `max_attempts`, and, if they apply, `goal`, `for_each`, `items`,
`children` and `compensation`."""

_MAX_LENGTH = 30
_TIMES = "\N{MULTIPLICATION SIGN}"


def words_of(step: Step, state: State | None, *, goal: bool) -> Iterator[str]:
    yield _type_words(step)
    if step.spec.get("async"):
        yield "async"
    if step.for_each is not None or (state and state.get("for_each")):
        yield _items_words(state.get("items") if state else None)
    if state:
        yield from _state_words(state)
        yield from _children_words(state.get("children") or ())
    if state and state.get("compensation"):
        yield f"compensation {state['compensation']['status']}"
    elif step.compensate is not None:
        yield f"compensated by {step.compensate.type}"
    if step.on_failure is not None and step.on_failure.action != "step":
        yield f"on failure: {step.on_failure.action}"
    if goal:
        yield "goal"


def _type_words(step: Step) -> str:
    """Describes the type of a step. The steps of an execution have no keys, so only the type is known."""
    match step.type, step.spec:
        case "sleep", {"for": int() | float() as seconds}:
            return f"sleep {format_duration(seconds)}"
        case "sleep", {"at": str() as time}:
            return f"sleep until {shorten(time, _MAX_LENGTH)}"
        case "wait", {"signal": str() as signal}:
            return f"wait for signal {shorten(signal, _MAX_LENGTH)}"
        case "wait", {"signal": None}:
            return "wait for approval"
        case "workflow", {"workflow": str() as child} | {"file": str() as child}:
            return f"workflow {shorten(child, _MAX_LENGTH)}"
        case _:
            return step.type


def _items_words(items: Mapping[str, int] | None) -> str:
    if items is None:
        return f"{_TIMES} for_each"
    counts = [f"{count} {name}" for name, count in items.items() if name != "total" and count]
    return f"{_TIMES} {items['total']} items" + (f" ({', '.join(counts)})" if counts else "")


def _state_words(state: State) -> Iterator[str]:
    status, number, limit = state["status"], state["attempt"], state["max_attempts"]
    yield status
    if not number:
        return
    counted = state["counted"] + (
        status == "running"
    )  # whether an attempt counts is known only when it has ended
    words = f"attempt {number}"
    if limit is not None:
        words += f" of {limit}" if number == counted else f" (counted: {counted} of {limit})"
    yield words


def _children_words(children: list[State] | tuple[()]) -> Iterator[str]:
    if len(children) == 1:
        yield f"child {children[0]['id']} {children[0]['status']}"
    elif children:
        yield f"{len(children)} children"


def printable_line(text: str) -> str:
    """Returns a text for one line. Characters that a terminal or XML cannot show are replaced."""
    if text.isprintable():  # almost every text is
        return text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
