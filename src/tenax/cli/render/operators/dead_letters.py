"""Renders dead letters: lists, groups, and one letter in full."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tenax.cli.flags import DEFAULT_TARGET, TargetFlags
from tenax.cli.output import new_table, one_line, printable, to_the_second
from tenax.cli.render.evidence import everything
from tenax.cli.render.styles import STYLES
from tenax.cli.render.table import Column, RankedTable

_MESSAGE = 100
"""Characters of a message in a table."""
_INPUT = 2000
"""Characters of an input that are shown."""


_LETTERS = (
    Column("letter", right=True),
    Column("execution", right=True),
    Column("workflow", rank=5, least=12),
    Column("item", rank=6, least=10),
    Column("status"),
    Column("failure", rank=8),
    Column("attempts", rank=2, right=True),
    Column("last", rank=3),
    Column("group", rank=1),
    Column("message", rank=7, least=20),
)
_GROUPS = (
    Column("group"),
    Column("count", right=True),
    Column("share", rank=2, right=True),
    Column("failure", rank=7),
    Column("workflows", rank=4, least=12),
    Column("steps", rank=5, least=10),
    Column("first", rank=1),
    Column("last", rank=3),
    Column("example", rank=6, least=20),
)


def letter_table(found: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Renders a list of dead letters."""
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
    return RankedTable(_LETTERS, rows)


def group_table(found: Sequence[Mapping[str, Any]], where: TargetFlags = DEFAULT_TARGET) -> RenderableType:
    """Renders the groups of dead letters, and how to list one of them."""
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
    return Group(RankedTable(_GROUPS, rows), Text(), Text(f"list a group: {look}", style="dim"))


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
