"""Renders dead letters: lists, groups, and one letter in full."""

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
from tenax.cli.output import new_table, to_the_second
from tenax.cli.render.evidence import everything
from tenax.cli.render.styles import STYLES
from tenax.drawing.text_lines import one_line, printable

_MESSAGE = 100
"""Characters of a message in a table."""
_INPUT = 2000
"""Characters of an input that are shown."""


class FittedTable:
    """Renders a table or, on a terminal that is too narrow for it, some lines for each row. Nothing that people copy is
    ever cut."""

    def __init__(self, table: Table, rows: Sequence[Sequence[Text]]) -> None:
        self._table = table
        self._rows = rows
        for row in rows:
            table.add_row(*row)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.update(max_width=100_000)
        if Measurement.get(console, wide, self._table).maximum <= options.max_width:
            yield self._table
        else:
            yield from (line for row in self._rows for line in self._lines(row))

    def _lines(self, row: Sequence[Text]) -> Iterator[RenderableType]:
        """Renders a row: its first cell, and below it the other cells with their titles."""
        titles = [str(column.header) for column in self._table.columns]
        yield Text.assemble((f"{titles[0]} ", "dim"), row[0])
        for title, cell in zip(titles[1:], row[1:], strict=True):
            if cell.plain:
                yield Padding(Text.assemble((f"{title} ", "dim"), cell, overflow="fold"), (0, 0, 0, 2))


def letter_table(found: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Renders a list of dead letters."""
    titles = ("letter", "execution", "workflow", "item", "status", "failure", "attempts", "last", "group", "message")  # fmt: skip
    table = new_table(*titles, right=("letter", "execution", "attempts"))
    rows = [
        (
            Text(str(one["id"]), style="bold"),
            Text(str(one["execution_id"])),
            Text(one_line(one["workflow"])),
            Text(_item(one)),
            _status(one),
            Text(one_line(one["reason"])),
            Text(str(one["attempts"])),
            Text(to_the_second(one["last_at"])),
            Text(one["fingerprint"]),
            Text(one_line(one["message"], _MESSAGE)),
        )
        for one in found
    ]
    return FittedTable(table, rows)


def group_table(found: Sequence[Mapping[str, Any]], where: TargetFlags = DEFAULT_TARGET) -> RenderableType:
    """Renders the groups of dead letters, and how to list one of them."""
    titles = ("group", "count", "share", "failure", "workflows", "steps", "first", "last", "example")
    table = new_table(*titles, right=("count", "share"))
    rows = [
        (
            Text(one["fingerprint"], style="bold"),
            Text(f"{one['count']:,}"),
            Text("-" if one["share"] is None else f"{one['share']:.1%}"),
            Text(one_line(one["reason"])),
            Text(one_line(", ".join(one["workflows"]))),
            Text(one_line(", ".join(one["steps"]))),
            Text(to_the_second(one["first_at"])),
            Text(to_the_second(one["last_at"])),
            Text(one_line(one["example"], _MESSAGE)),
        )
        for one in found
    ]
    look = where.command("dead-letters", "list", "--fingerprint", found[0]["fingerprint"])
    return Group(FittedTable(table, rows), Text(), Text(f"list a group: {look}", style="dim"))


def render_letter(letter: Mapping[str, Any], where: TargetFlags = DEFAULT_TARGET) -> RenderableType:
    """Renders a dead letter in full, and the commands that help."""
    parts: list[RenderableType] = [_head(letter), Text(), *_attempts(letter)]
    if failure := letter["failure"]:
        parts += [Text(), Text(printable(f"last failure: {letter['message']}"), style="red")]
        parts += [Text(line) for line in everything(failure)]
    if explanation := letter["explanation"]:
        parts += [Text(), Text(printable(explanation["text"]))]
    parts += [Text(), *_payload(letter["payload"]), Text(), *_next(letter, where)]
    return Group(*parts)


def _head(letter: Mapping[str, Any]) -> Text:
    head = Text.assemble("dead letter ", (str(letter["id"]), "bold"), ": ", (_item(letter), "bold"))
    head.append(f" of execution {letter['execution_id']} ({printable(letter['workflow'])}), ")
    head.append(letter["status"], style=STYLES.get(letter["status"], ""))
    head.append("".join(f"\n  {line}" for line in _particulars(letter)), style="dim")
    return head


def _particulars(letter: Mapping[str, Any]) -> Iterator[str]:
    times = letter["failed_times"]
    often = (
        "failed for good once"
        if times == 1
        else f"failed for good {times} times, first at {letter['first_at']}"
    )
    yield f"{often}, last at {letter['last_at']}, after {letter['attempts']} attempt{'' if letter['attempts'] == 1 else 's'}"
    yield f"{letter['class']} ({printable(letter['reason'])}), given up by the rule {letter['rule']}, group {letter['fingerprint']}"
    if letter["tolerated"]:
        yield "tolerated: the step went on in spite of it"
    if letter["note"] is not None:
        yield f"discarded by {printable(letter['actor'])}: {one_line(letter['note'])}"
    yield f"its execution is {letter['execution_status']}"


def _attempts(letter: Mapping[str, Any]) -> Iterator[RenderableType]:
    table = new_table("attempt", "started", "worker", "outcome", "verdict", "failure", right=("attempt",), wrapped=("failure",))  # fmt: skip
    for one in letter["history"]:
        failure = one.get("failure") or {}
        outcome = str(one.get("outcome") or "")
        table.add_row(
            Text(str(one["attempt"])),
            Text(to_the_second(one.get("started_at") or "-")),
            Text(one_line(one.get("worker") or "-")),
            Text(outcome, style=STYLES.get(outcome, "")),
            Text(str(one.get("verdict") or "-")),
            Text(one_line(failure.get("message") or "", _MESSAGE)),
        )
    yield table


def _payload(payload: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text(f"input: {_value(payload['input'])}")
    if payload["element"] is not None:
        yield Text(f"element: {_value(payload['element'])}")


def _value(value: Any) -> str:
    text = printable(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= _INPUT else f"{text[:_INPUT]}... (cut; --json shows all of it)"


def _next(letter: Mapping[str, Any], where: TargetFlags) -> Iterator[RenderableType]:
    """Yields the commands that can be tried now."""
    number, execution = letter["id"], letter["execution_id"]
    if letter["refusal"] is not None:
        yield Text(printable(f"it cannot be redriven: {letter['refusal']}"), style="yellow")
    if letter["can_redrive"]:
        yield Text(f"start it again: {where.command('dead-letters', 'redrive', number)}")
    if letter["can_discard"]:
        yield Text(f"put it aside: {where.command('dead-letters', 'discard', number, '--note', 'WHY')}")
    yield Text(
        f"see its execution: {where.command('show', execution, '--step', letter['step'])}", style="dim"
    )


def _item(letter: Mapping[str, Any]) -> str:
    which = "" if letter["item"] is None else f"[{letter['item']}]"
    return printable(f"{letter['step']}{which}{' (compensation)' if letter['compensation'] else ''}")


def _status(letter: Mapping[str, Any]) -> Text:
    words = f"{letter['status']}, tolerated" if letter["tolerated"] else letter["status"]
    return Text(words, style=STYLES.get(letter["status"], ""))
