"""An execution drawn for people: how it stands, and the timeline of its attempts. The same on a terminal and in a pipe."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tenax.cli.event_lines import attempt_of, failure_words
from tenax.cli.live import STYLES, moment
from tenax.cli.output import one_line, printable
from tenax.model.durations import format_duration

_LONGEST_FAILURE = 160
_LONGEST_RESULT = 4_000
_OUTCOME_STYLES = {
    "succeeded": "green",
    "failed": "red",
    "not_completed": "red",
    "lost": "red",
    "expired": "red",
    "running": "bold cyan",
    "cancelled": "magenta",
}
_VERDICTS = {"complete": "", "fail": "no retry", "stop": "stopped", "hold": "held"}


def render_execution(execution: Mapping[str, Any]) -> RenderableType:
    """All of it: the head, the timeline, and the result or the failure."""
    parts: list[RenderableType] = [render_head(execution), Text(), render_timeline(execution)]
    if execution["failure"]:
        parts += [Text(), Text(f"failure: {printable(failure_words(execution['failure']))}", style="red")]
    if execution["status"] == "completed":
        parts += [Text(), Text(f"result: {_result(execution['result'])}")]
    return Group(*parts)


def render_head(execution: Mapping[str, Any]) -> Text:
    """`execution 12 of nightly-sync (version 3): completed in 3.2s`, and what else there is to know of it."""
    head = Text.assemble(
        "execution ", (str(execution["id"]), "bold"), " of ", (printable(execution["workflow"]), "bold")
    )
    if execution["version"]:
        head.append(f" (version {printable(execution['version'])})")
    head.append(": ")
    head.append(execution["status"], style=STYLES.get(execution["status"], ""))
    ended = execution["finished_at"]
    took = format_duration(_seconds(execution["created_at"], ended or execution["now"]))
    head.append(f" in {took}" if ended else f" for {took}")
    head.append("".join(f"\n  {line}" for line in _particulars(execution)), style="dim")
    return head


def render_timeline(execution: Mapping[str, Any]) -> Table:
    """A row for each step, and below it one for each of its attempts."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("step", "status", "attempt", "start", "took", "outcome", "then"):
        right = title in ("start", "took")
        wraps = title == "outcome"
        table.add_column(title, header_style="dim", justify="right" if right else "left", no_wrap=not wraps,
                         overflow="fold")  # fmt: skip
    for name, step in execution["steps"].items():
        for row in _rows(name, step, execution):
            table.add_row(*row)
    return table


def _particulars(execution: Mapping[str, Any]) -> Iterator[str]:
    yield f"started {execution['created_at']}"
    if execution["finished_at"]:
        yield f"ended   {execution['finished_at']}"
    if execution["deadline_at"] and not execution["finished_at"]:
        yield f"deadline {execution['deadline_at']}"
    if execution["key"]:
        yield f"key {one_line(execution['key'])}"
    if execution["retry_of"]:
        original = execution["original_execution"]
        of = f" (the original is {original})" if original not in (None, execution["retry_of"]) else ""
        yield f"retry of {execution['retry_of']}{of}"
    if execution["input"]:
        yield f"input {one_line(execution['input'])}"


Row = Sequence[Text]


def _rows(name: str, step: Mapping[str, Any], execution: Mapping[str, Any]) -> Iterator[Row]:
    status = Text(step["status"], style=STYLES.get(step["status"], ""))
    number = attempt_of(step["attempt"], step["max_attempts"]) if step["attempt"] else "-"
    attempts = step["attempts"]
    first = Text("")
    cause = step["failure"] if not attempts else None
    if cause:
        words = f"because of {cause['cause']}" if "cause" in cause else failure_words(cause)
        first = Text(one_line(words, _LONGEST_FAILURE), style="dim")
    yield (
        Text(name, style="bold"),
        status,
        Text(number),
        Text(""),
        Text(""),
        first,
        _waiting(step, execution),
    )
    for attempt in attempts:
        yield _attempt_row(attempt, execution)


def _attempt_row(attempt: Mapping[str, Any], execution: Mapping[str, Any]) -> Row:
    started, ended = attempt["started_at"], attempt["ended_at"]
    begin = started or ended
    at = f"+{_seconds(execution['created_at'], begin):.3f}s" if begin else ""
    took = format_duration(_seconds(started, ended or execution["now"])) if started else ""
    outcome = Text(attempt["outcome"], style=_OUTCOME_STYLES.get(attempt["outcome"], ""))
    if attempt["failure"]:
        outcome.append(f": {one_line(failure_words(attempt['failure']), _LONGEST_FAILURE)}")
    number = Text(f"  {attempt['attempt']}", style="dim")
    return (Text(""), Text(""), number, Text(at, style="dim"), Text(took), outcome, _then(attempt))


def _then(attempt: Mapping[str, Any]) -> Text:
    """What was decided on it."""
    if attempt["delay_seconds"] is not None:
        words = "held for" if attempt["verdict"] == "hold" else "retry in"
        return Text(f"{words} {format_duration(attempt['delay_seconds'])}", style="yellow")
    verdict = attempt["verdict"] or ""
    return Text(_VERDICTS.get(verdict, verdict), style="red" if verdict == "fail" else "dim")


def _waiting(step: Mapping[str, Any], execution: Mapping[str, Any]) -> Text:
    if step["status"] not in ("retrying", "held") or not step["available_at"]:
        return Text("")
    left = _seconds(execution["now"], step["available_at"])
    return Text(
        f"next attempt in {format_duration(left)}" if left > 0 else "next attempt is due", style="yellow"
    )


def _result(value: Any) -> str:
    text = printable(json.dumps(value, indent=2, ensure_ascii=False, default=str))
    return (
        text
        if len(text) <= _LONGEST_RESULT
        else f"{text[:_LONGEST_RESULT]}...\n(cut; --json shows all of it)"
    )


def _seconds(begin: str, end: str) -> float:
    """Between two times of the database's clock, to the millisecond. A clock that was set back gives no negative time."""
    return max(round((moment(end) - moment(begin)).total_seconds(), 3), 0.0)
