"""Makes reports that are decided on from memory, and reads everything that an execution leaves in the database."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from support.hand import Hand
from tenax.engine.report.report import ReportBatch
from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.wire import Assignment, Report
from tenax.store.journal import Journal
from tenax.store.service import now

SEPARATE = {"id", "lease_grant", "lease_token", "xid"}
"""Columns whose values differ in every row."""


def chain(length: int, *more: str, top: str = "") -> str:
    """Returns a chain of steps. `more` has the further keys of each step. Its last entry is for all remaining steps."""
    lines = ["name: chain", top, "workflow:"]
    for n in range(length):
        own = more[min(n, len(more) - 1)] if more else ""
        needs = f"needs: [s{n - 1}], " if n else ""
        lines.append(f"  - {{step: s{n}, type: python, task: 't:t', {needs}{own}}}")
    return "\n".join(lines)


def success(a: Assignment, result: Any = None, **more: Any) -> Report:
    outcome = Outcome("succeeded", result, **more)
    return Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step, a.item)


def failure(a: Assignment, *, usage: Usage | None = None, **facts: Any) -> Report:
    outcome = Outcome("failed", facts=Facts(**{"status_code": 503, "message": "busy", **facts}), usage=usage)
    return Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step, a.item)


async def decided_from_memory(hand: Hand, *reports: Report, verdict: str = "complete") -> set[int]:
    """Reports what can be decided on from memory, and returns the items of these reports.

    The server has forgotten the leases of the others.
    """
    batch = ReportBatch(hand.engine.context, reports)
    async with hand.engine.context.statements() as session:
        journal = Journal(await now(session))
        await batch.decide_from_memory(journal)
        applied = await journal.write(session) if journal.guarded else set()
    batch.note_applied(journal, applied)
    answers = batch.answers.values()
    assert all((answer.status, answer.verdict) == ("applied", verdict) for answer in answers)
    return {answer.item_id for answer in answers}


async def answered(hand: Hand, *reports: Report) -> list[tuple[str, str | None]]:
    return [(answer.status, answer.verdict) for answer in await hand.engine.report(reports)]


async def columns(hand: Hand, table: str) -> list[str]:
    """Returns the columns by the catalogue, so that new columns are compared too."""
    rows = await hand.sql(
        "select column_name from information_schema.columns where table_schema = 'tenax' and table_name = $1",
        table,
    )
    assert rows
    return sorted(row[0] for row in rows)


def compared(row: dict[str, Any], id_: int, begun: datetime) -> dict[str, Any]:
    """Returns a row as it would be in any execution. Times count from its start, and its own id is replaced by a word."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if name in SEPARATE:
            found[name] = value is not None
        elif isinstance(value, datetime):
            found[name] = (value - begun).total_seconds()
        elif name in ("execution_id", "lane"):
            found[name] = "own" if value == id_ else value
        elif name == "submit_key":
            found[name] = value is not None
        elif name == "events":
            found[name] = _told(json.loads(value), id_, begun)
        else:
            found[name] = value
    return found


def _told(value: Any, id_: int, begun: datetime) -> Any:
    """Returns events, or a part of one, in the same form."""
    if isinstance(value, list):
        return [_told(one, id_, begun) for one in value]
    if not isinstance(value, dict):
        return value
    found = {name: _told(one, id_, begun) for name, one in value.items()}
    for name, one in value.items():
        if name in ("token", "item_id"):
            found[name] = True
        elif name == "execution_id":
            found[name] = one == id_
        elif name.endswith("_at") and isinstance(one, str):
            found[name] = (datetime.fromisoformat(one) - begun).total_seconds()
    return found


async def left_behind(hand: Hand, id_: int) -> dict[str, list[dict[str, Any]]]:
    """Returns all rows of an execution, by table."""
    [[begun]] = await hand.sql("select created_at from tenax.execution where id = $1", id_)
    found = {}
    for table, key, order in (
        ("execution", "id", "id"),
        ("step", "execution_id", "step"),
        ("item", "execution_id", "id"),
        ("fan", "execution_id", "step"),
        ("item_result", "execution_id", "step, item_no"),
        ("log", "execution_id", "id"),
        ("inbox", "execution_id", "id"),
    ):
        names = ", ".join(await columns(hand, table))
        rows = await hand.sql(f"select {names} from tenax.{table} where {key} = $1 order by {order}", id_)
        found[table] = [compared(dict(row), id_, begun) for row in rows]
    return found
