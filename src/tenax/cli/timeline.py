"""An execution drawn for people: how it stands, and the timeline of its attempts. The same on a terminal and in a pipe."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tenax.cli.event_lines import attempt_of, duration, failure_words, in_step, kept_from, moment, why_not
from tenax.cli.evidence import everything, last_lines
from tenax.cli.live import STYLES
from tenax.cli.output import one_line, printable

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
_OUTCOMES = {"released": "handed back (not counted)", "snoozed": "snoozed (not counted)"}
_VERDICTS = {"complete": "", "fail": "no retry", "stop": "stopped", "hold": "held"}


def render_execution(execution: Mapping[str, Any]) -> RenderableType:
    """All of it: the head, the timeline, what the failed steps left behind, and the result or the failure."""
    parts: list[RenderableType] = [render_head(execution), Text(), Timeline(execution)]
    parts += _evidence(execution)
    if failure := execution["failure"]:
        words = f"failure{in_step(failure)}: {failure_words(failure)}"
        parts += [Text(), Text(printable(words), style="red")]
    if execution["status"] == "completed":
        parts += [Text(), Text(f"result: {_result(execution['result'])}")]
    return Group(*parts)


def render_step(execution: Mapping[str, Any], name: str) -> RenderableType:
    """One step with all that its failed attempts left behind, and its result."""
    step = execution["steps"][name]
    parts: list[RenderableType] = [render_head(execution), Text(), Timeline(execution)]
    for attempt in step["attempts"]:
        if failure := attempt["failure"]:
            title = f"attempt {attempt['attempt']}: {failure['class']} ({failure['reason']}): {failure['message']}"
            parts += [
                Text(),
                Text(printable(title), style="red"),
                *(Text(line) for line in everything(failure)),
            ]
    if step["status"] == "completed":
        parts += [Text(), Text(f"result: {_result(step['result'])}")]
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
    took = duration(_seconds(execution["created_at"], ended or execution["now"]))
    head.append(f" in {took}" if ended else f" for {took}")
    head.append("".join(f"\n  {line}" for line in _particulars(execution)), style="dim")
    return head


class Timeline:
    """A row for each step, and below it one for each of its attempts: a table, or lines where it would not fit."""

    def __init__(self, execution: Mapping[str, Any]) -> None:
        self._execution = execution

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self._table()
        fits = Measurement.get(console, options.update(max_width=100_000), table).maximum <= options.max_width
        yield table if fits else Group(*self._lines())

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for title in ("step", "status", "attempt", "start", "took", "outcome", "then"):
            right = title in ("start", "took")
            table.add_column(title, header_style="dim", justify="right" if right else "left", no_wrap=True)
        for name, step in self._execution["steps"].items():
            table.add_row(
                Text(printable(name), style="bold"), _status(step), Text(_number(step)), Text(), Text(),
                Text(_because(step), style="dim"), _waiting(step, self._execution),
            )  # fmt: skip
            for attempt in step["attempts"]:
                number = Text(f"  {attempt['attempt']}", style="dim")
                at, took = Text(self._at(attempt), style="dim"), Text(self._took(attempt))
                outcome = _outcome(attempt)
                if words := _failure(attempt):
                    outcome.append(f": {words}")
                table.add_row(Text(), Text(), number, at, took, outcome, _then(attempt, step))
        return table

    def _lines(self) -> Iterator[RenderableType]:
        """The message of an attempt on a line of its own, so that it can be as long as it is."""
        for name, step in self._execution["steps"].items():
            facts = [_status(step)]
            facts += [Text(f"attempt {_number(step)}")] if step["attempt"] else []
            facts += [
                text for text in (Text(_because(step), style="dim"), _waiting(step, self._execution)) if text
            ]
            yield Text.assemble((printable(name), "bold"), "  ", Text(", ").join(facts))
            for attempt in step["attempts"]:
                parts = [Text(self._at(attempt), style="dim"), Text(self._took(attempt)), _outcome(attempt)]
                parts.append(_then(attempt, step))
                shown = Text("  ").join(part for part in parts if part)
                yield Padding(Text.assemble(f"{attempt['attempt']}  ", shown), (0, 0, 0, 2), expand=False)
                if words := _failure(attempt):
                    yield Padding(Text(words, style="red"), (0, 0, 0, 5), expand=False)

    def _at(self, attempt: Mapping[str, Any]) -> str:
        begin = attempt["started_at"] or attempt["ended_at"]
        return f"+{_seconds(self._execution['created_at'], begin):.3f}s" if begin else ""

    def _took(self, attempt: Mapping[str, Any]) -> str:
        started, ended = attempt["started_at"], attempt["ended_at"]
        return duration(_seconds(started, ended or self._execution["now"])) if started else ""


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


def _evidence(execution: Mapping[str, Any]) -> Sequence[RenderableType]:
    """Of the last failed attempt of each failed step, so that most failures are understood without asking again."""
    parts: list[RenderableType] = []
    for name, step in execution["steps"].items():
        failed = next((one for one in reversed(step["attempts"]) if one["failure"]), None)
        if step["status"] != "failed" or failed is None:
            continue
        whole = f"tenax show {execution['id']} --step {name} --attempt {failed['attempt']}"
        if lines := last_lines(failed["failure"], whole=whole):
            title = Text(f"{printable(name)}, attempt {failed['attempt']}:", style="bold")
            parts += [Text(), title, *(Text(line, style="dim") for line in lines)]
    return parts


def _status(step: Mapping[str, Any]) -> Text:
    status = Text(step["status"], style=STYLES.get(step["status"], ""))
    return status.append(kept_from(step.get("carried_from")))


def _number(step: Mapping[str, Any]) -> str:
    if not step["attempt"]:
        return "-"
    counted = step["counted"] + (step["status"] == "running")
    return attempt_of(step["attempt"], step["max_attempts"], counted)


def _because(step: Mapping[str, Any]) -> str:
    """Why a step that had no attempt stands as it does."""
    cause = step["failure"] if not step["attempts"] else None
    if not cause:
        return ""
    words = f"because of {cause['cause']}" if "cause" in cause else failure_words(cause)
    return one_line(words, _LONGEST_FAILURE)


def _outcome(attempt: Mapping[str, Any]) -> Text:
    outcome = attempt["outcome"]
    return Text(_OUTCOMES.get(outcome, outcome), style=_OUTCOME_STYLES.get(outcome, ""))


def _failure(attempt: Mapping[str, Any]) -> str:
    return one_line(failure_words(attempt["failure"]), _LONGEST_FAILURE) if attempt["failure"] else ""


def _then(attempt: Mapping[str, Any], step: Mapping[str, Any]) -> Text:
    """What was decided on it."""
    if attempt["delay_seconds"] is not None:
        words = "held for" if attempt["verdict"] == "hold" else "retry in"
        return Text(f"{words} {duration(attempt['delay_seconds'])}", style="yellow")
    verdict = attempt["verdict"] or ""
    why = why_not(attempt["rule"], step["max_attempts"]) if verdict == "fail" else ""
    words = f"{_VERDICTS.get(verdict, verdict)}{f': {why}' if why else ''}"
    return Text(words, style="red" if verdict == "fail" else "dim")


def _waiting(step: Mapping[str, Any], execution: Mapping[str, Any]) -> Text:
    if step["status"] not in ("retrying", "held") or not step["available_at"]:
        return Text()
    left = _seconds(execution["now"], step["available_at"])
    return Text(f"next attempt in {duration(left)}" if left > 0 else "next attempt is due", style="yellow")


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
