"""Writes what a failed assertion on an execution shows: its timeline, its failure, and the explanation of the last decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

from tenax.model.execution_views import Event
from tenax.model.views import Explanation

_WIDTH = 118  # columns
_SHOWN_EVENTS = 60


def story(execution: Mapping[str, Any], decisions: Sequence[Explanation]) -> str:
    """Tells what happened in an execution."""
    return "\n\n".join(_parts(execution, decisions))


def _parts(execution: Mapping[str, Any], decisions: Sequence[Explanation]) -> Iterator[str]:
    from tenax.cli.render.timeline import Timeline, render_head
    from tenax.drawing.event_lines import failure_words, in_step

    yield _plain(render_head(execution))
    yield _plain(Timeline(execution))
    if failure := execution["failure"]:
        yield f"failure{in_step(failure)}: {failure_words(failure)}"
    if trace := _last_traceback(execution):
        yield trace
    if decisions:
        yield f"The last decision: {decisions[-1].text}"


def event_list(events: Sequence[Event]) -> str:
    """Lists events, one in a line: `step_retry charge attempt 1`. Leaves out the middle of a long list."""
    lines = [f"  {event_words(event)}" for event in events]
    if len(lines) > _SHOWN_EVENTS:
        half = _SHOWN_EVENTS // 2
        lines[half:-half] = [f"  ({len(lines) - 2 * half} more)"]
    return "\n".join(lines)


def event_words(event: Event) -> str:
    item = "" if event.item is None else f"[{event.item}]"
    step = f" {event.step}{item}" if event.step else ""
    attempt = "" if event.attempt is None else f" attempt {event.attempt}"
    return f"{event.type}{step}{attempt}"


def _last_traceback(execution: Mapping[str, Any]) -> str | None:
    """Returns the traceback of the last failed attempt of a step that failed."""
    failed = (step for step in execution["steps"].values() if step["status"] == "failed")
    attempts = [attempt for step in failed for attempt in step["attempts"] if attempt["failure"]]
    trace = attempts[-1]["failure"].get("traceback") if attempts else None
    # An injected error was not raised, so its traceback is only its message.
    return trace.rstrip() if isinstance(trace, str) and "\n" in trace.rstrip() else None


def _plain(renderable: Any) -> str:
    from rich.console import Console

    out = StringIO()
    console = Console(file=out, width=_WIDTH, color_system=None, markup=False, emoji=False, highlight=False)
    console.print(renderable)
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines())
