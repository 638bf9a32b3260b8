"""Prints an execution for people: its state, and the timeline of its attempts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tenax.cli.flags import DEFAULT_TARGET, TargetFlags
from tenax.cli.output import new_table
from tenax.cli.render.evidence import everything, last_lines
from tenax.cli.render.family import family_lines
from tenax.cli.render.styles import STYLES
from tenax.cli.render.timeline_rows import Row, rows_of
from tenax.cli.render.why_blocked import notes
from tenax.drawing.event_lines import amounts_words, duration, failure_words, in_step, seconds_between
from tenax.drawing.text_lines import one_line, printable, to_the_second

_MAX_RESULT = 4_000


def render_execution(execution: Mapping[str, Any], where: TargetFlags = DEFAULT_TARGET) -> RenderableType:
    """Renders an execution: its head, its timeline, the details of its failed steps, and its result or failure."""
    parts: list[RenderableType] = [render_head(execution, where), Text(), Timeline(execution, where)]
    parts += _notes(execution, where)
    if tree := execution.get("tree"):
        below = (Padding(line, (0, 0, 0, 2)) for line in family_lines(tree, execution["now"]))
        parts += [Text(), Text("children:", style="bold"), *below]
    if acts := execution.get("operator_actions"):
        parts += [Text(), Text("operators:", style="bold"), *(Text(line) for line in map(_act_line, acts))]
    parts += _evidence(execution, where)
    if failure := execution["failure"]:
        words = f"failure{in_step(failure)}: {failure_words(failure)}"
        parts += [Text(), Text(printable(words), style="red")]
    if any(_has_given_up(step) for step in execution["steps"].values()):
        letters = where.command("dead-letters", "list", "--execution", execution["id"])
        parts.append(Text(f"dead letters: {letters}", style="dim"))
    if execution["status"] == "completed":
        parts += [Text(), Text(f"result: {_result(execution['result'])}")]
    return Group(*parts)


def _act_line(act: Mapping[str, Any]) -> str:
    """Describes an action of an operator: `  2026-01-31 02:17:12  ann: resolve charge: paid by hand`."""
    item = "" if act["item"] is None else f"[{act['item']}]"
    on = f" {act['step']}{item}" if act["step"] else ""
    with_it = f", with execution {act['because_of']}" if act["because_of"] else ""
    job = f", in bulk job {act['bulk']}" if act["bulk"] else ""
    why = f": {act['reason']}" if act["reason"] else ""
    words = f"{act['actor']}: {act['action']}{on}{with_it}{job}{why}"
    return f"  {to_the_second(act['at'])}  {one_line(words)}"


def _has_given_up(step: Mapping[str, Any]) -> bool:
    """Returns whether an item of the step has failed for good or is held, so that it may have a dead letter."""
    counts = step["items"] or {}
    is_last = bool(step["attempts"]) and step["attempts"][-1].get("verdict") in ("fail", "hold")
    return is_last or bool(counts.get("failed") or counts.get("held"))


def render_step(
    execution: Mapping[str, Any], name: str, where: TargetFlags = DEFAULT_TARGET
) -> RenderableType:
    """Renders one step with all details of its failed attempts, and its result."""
    step = execution["steps"][name]
    parts: list[RenderableType] = [render_head(execution, where), Text(), Timeline(execution, where)]
    parts += _notes(execution, where)
    parts += _all_evidence(step, "")
    if undoing := step.get("compensation"):
        parts += _all_evidence(undoing, "compensation, ")
    if step["status"] == "completed":
        parts += [Text(), Text(f"result: {_result(step['result'])}")]
    return Group(*parts)


def _notes(execution: Mapping[str, Any], where: TargetFlags) -> Iterator[RenderableType]:
    for why, remedy in notes(execution, where):
        yield Text()
        yield Text(printable(why), style="yellow")
        if remedy:
            yield Text(f"  {printable(remedy)}", style="yellow")


def _all_evidence(work: Mapping[str, Any], whose: str) -> Iterator[RenderableType]:
    for attempt in work["attempts"]:
        if failure := attempt["failure"]:
            yield Text()
            yield Text(
                printable(f"{whose}attempt {attempt['attempt']}: {failure_words(failure)}"), style="red"
            )
            yield from (Text(line) for line in everything(failure))


def render_head(execution: Mapping[str, Any], where: TargetFlags = DEFAULT_TARGET) -> Text:
    """Renders the head, such as `execution 12 of nightly-sync (version 3): completed in 3.2s`, with further details below."""
    head = Text.assemble(
        "execution ", (str(execution["id"]), "bold"), " of ", (printable(execution["workflow"]), "bold")
    )
    if execution["version"]:
        head.append(f" (version {printable(execution['version'])})")
    head.append(": ")
    starts_at = execution.get("starts_at")  # an older server does not tell
    status = "scheduled" if starts_at else execution["status"]
    head.append(status, style=STYLES.get(execution["status"], ""))
    ended = execution["finished_at"]
    took = duration(seconds_between(execution["created_at"], ended or execution["now"]))
    head.append(f" in {took}" if ended else f" for {took}")
    if compensation := execution.get("compensation"):
        head.append(", compensation ")
        head.append(compensation, style=STYLES.get(compensation, ""))
    if starts_at:
        start = where.command("resume", execution["id"])
        head.append(f"\n  it starts at {starts_at}\n  start it now: {start}", style=STYLES["paused"])
    elif paused := execution.get("paused_by"):
        head.append(f"\n  {_paused(paused, execution['id'], where)}", style=STYLES["paused"])
    head.append("".join(f"\n  {line}" for line in _particulars(execution)), style="dim")
    return head


def _paused(paused: Mapping[str, Any], execution_id: int, where: TargetFlags) -> str:
    """Describes a pause, and how to resume. A child that was paused with its parent is resumed with it."""
    above = paused["because_of"]
    why = f": {one_line(paused['reason'])}" if paused["reason"] else ""
    with_it = f", with execution {above}" if above else ""
    by = f"paused by {printable(str(paused['actor']))} at {paused['at']}{with_it}{why}"
    return f"{by}\n  resume it: {where.command('resume', above or execution_id)}"


MAX_TABLE_ROWS = 1000


class Timeline:
    """Renders a row for each step and each of its attempts, as a table or, if that does not fit, as lines."""

    def __init__(self, execution: Mapping[str, Any], where: TargetFlags = DEFAULT_TARGET) -> None:
        self._rows = list(rows_of(execution, where))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if len(self._rows) > MAX_TABLE_ROWS:  # the layout of a large table takes too long
            yield from (line for row in self._rows for line in _lines(row))
            return
        table = self._table()
        fits = Measurement.get(console, options.update(max_width=100_000), table).maximum <= options.max_width
        yield table if fits else Group(*(line for row in self._rows for line in _lines(row)))

    def _table(self) -> Table:
        titles = ("step", "status", "attempt", "start", "took", "outcome", "then")
        table = new_table(*titles, right=("start", "took"))
        for row in self._rows:
            outcome = row.outcome.copy()
            if row.failure:
                outcome.append(f": {row.failure}" if outcome else row.failure)
            number = Text(f"  {row.number}", style="dim") if row.is_attempt else Text(row.number)
            name = Text.assemble("  " * row.level, row.name)
            at, took = Text(row.at, style="dim"), Text(row.took)
            table.add_row(name, row.status, number, at, took, outcome, row.then)
        return table


def _lines(row: Row) -> Iterator[RenderableType]:
    """Renders a row as lines. The message of an attempt has a line of its own, since it may be long."""
    if row.is_attempt:
        parts = [Text(row.at, style="dim"), Text(row.took), row.outcome, row.then]
        shown = Text.assemble(f"{row.number}  ", Text("  ").join(part for part in parts if part))
    else:
        number = Text(f"attempt {row.number}" if row.number not in ("", "-") else "")
        facts = [part for part in (row.status, number, row.outcome, row.then) if part]
        shown = Text.assemble(row.name, "  ", Text(", ").join(facts))
    yield Padding(shown, (0, 0, 0, 2 * row.level), expand=False)
    if row.failure:
        yield Padding(Text(row.failure, style="red"), (0, 0, 0, 2 * row.level + 3), expand=False)


def _particulars(execution: Mapping[str, Any]) -> Iterator[str]:
    yield f"started {execution['created_at']}"
    if execution["finished_at"]:
        yield f"ended   {execution['finished_at']}"
    if execution["deadline_at"] and not execution["finished_at"]:
        yield f"deadline {execution['deadline_at']}"
    yield from (_budget(one, execution["id"]) for one in execution.get("budgets") or ())
    if execution["key"]:
        yield f"key {one_line(execution['key'])}"
    if parent := execution.get("parent"):
        item = "" if parent["item"] is None else f"[{parent['item']}]"
        yield f"child of execution {parent['execution_id']}, step {one_line(parent['step'])}{item}, attempt {parent['attempt']}"
    if execution["retry_of"]:
        original = execution["original_execution"]
        of = f" (the original is {original})" if original not in (None, execution["retry_of"]) else ""
        yield f"retry of {execution['retry_of']}{of}"
    if execution.get("retried_by"):
        yield f"run again as {', '.join(map(str, execution['retried_by']))}"
    if execution["input"]:
        yield f"input {one_line(execution['input'])}"


def _budget(budget: Mapping[str, Any], execution_id: int) -> str:
    """Describes the budget of a tree: `budget: 2.4 of 4 USD spent, 1 USD reserved, 0.6 USD left`."""
    costs, counts = budget["cost_usd"] is not None, budget["tokens"] is not None

    def shown(kind: str) -> str:
        cost, tokens = budget[f"{kind}_usd"], budget[f"{kind}_tokens"]
        return amounts_words(cost if costs else None, tokens if counts else None)

    whose = "budget" if budget["tree"] == execution_id else f"budget of the tree of {budget['tree']}"
    of = amounts_words(budget["cost_usd"], budget["tokens"])
    return f"{whose}: {shown('spent')} of {of} spent, {shown('reserved')} reserved, {shown('left')} left"


def _evidence(execution: Mapping[str, Any], where: TargetFlags) -> Sequence[RenderableType]:
    """Renders the details of the last failed attempt of each failed step, which explain most failures."""
    parts: list[RenderableType] = []
    for name, step in execution["steps"].items():
        for title, failure, flags in _failures(name, step):
            whole = where.command("show", execution["id"], "--step", name, *flags)
            if lines := last_lines(failure, whole=whole):
                head = Text(f"{printable(title)}:", style="bold")
                parts += [Text(), head, *(Text(line, style="dim") for line in lines)]
    return parts


def _failures(
    name: str, step: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any], tuple[object, ...]]]:
    """Yields the failures of a step, of the first failed item of its fan-out, and of its compensation."""
    if step["status"] == "failed":
        failed = next((one for one in reversed(step["attempts"]) if one["failure"]), None)
        if failed is not None:
            number = failed["attempt"]
            yield f"{name}, attempt {number}", failed["failure"], ("--attempt", number)
        item = next((one for one in step.get("listed_items", ()) if one["failure"]), None)
        if item is not None:
            yield f"{name}[{item['item']}]", item["failure"], ("--item", item["item"])
    undoing = step.get("compensation") or {}
    if undoing.get("status") == "failed":
        failed = next((one for one in reversed(undoing["attempts"]) if one["failure"]), None)
        if failed is not None:
            yield f"{name}, compensation, attempt {failed['attempt']}", failed["failure"], ()


def _result(value: Any) -> str:
    text = printable(json.dumps(value, indent=2, ensure_ascii=False, default=str))
    return text if len(text) <= _MAX_RESULT else f"{text[:_MAX_RESULT]}...\n(cut; --json shows all of it)"
