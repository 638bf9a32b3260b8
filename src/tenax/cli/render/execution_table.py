"""Prints executions as a table that fits the width of the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from tenax.cli.render.styles import STYLES
from tenax.cli.render.table import Column, RankedTable
from tenax.cli.render.why_blocked import poison_words
from tenax.drawing.event_lines import attempt_of, duration, waiting_words
from tenax.drawing.text_lines import one_line, printable, to_the_second

Row = Mapping[str, Any]

_COLUMNS = (
    Column("id", right=True),
    Column("workflow", rank=4, least=12),
    Column("status"),
    Column("started", rank=1),
    Column("now", rank=2, least=16),
    Column("last error", rank=3, least=16),
)


def execution_table(found: Sequence[Row]) -> RenderableType:
    return RankedTable(_COLUMNS, [_cells(row) for row in found])


def change_key(found: Sequence[Row]) -> list[Any]:
    """Returns the rows without the times until retries, which change all the time."""
    return [
        {**row, "waiting": row["waiting"] and {**row["waiting"], "due_in": row["waiting"]["due_in"] == 0}}
        for row in found
    ]


def _cells(row: Row) -> list[Text]:
    waiting, failure = row["waiting"] or {}, row["failure"] or {}
    workflow = Text(one_line(row["workflow"]))
    if row.get("parent"):
        workflow.append(f" (child of {row['parent']})", style="dim")
    status = Text(row["status"], style=STYLES.get(row["status"], ""))
    if row.get("compensation"):
        status.append(f" (compensation {row['compensation']})", style=STYLES.get(row["compensation"], ""))
    error = one_line(failure.get("message") or waiting.get("last_error") or "", 100)
    doing = _doing(waiting) if waiting else ""
    started = Text(to_the_second(row["created_at"]))
    return [Text(str(row["id"])), workflow, status, started, Text(doing), Text(error)]


def _doing(item: Row) -> str:
    """Returns what the most telling work item does, or what it waits for. Of a fan-out it returns the counts."""
    if counts := item.get("fan_out"):
        undoing = "undoing " if item.get("compensates") else ""
        failed = f", {counts['failed']:,} failed" if counts["failed"] else ""
        return printable(
            f"{undoing}{item['step']}: {counts['ended']:,} of {counts['total']:,}{failed}{_why_blocked(item)}"
        )
    if awaiting := item.get("awaiting"):
        words = waiting_words({**awaiting, "deadline_at": None}, child=awaiting.get("child"))
        return printable(f"{item['step']}: {words}")
    which = "" if item.get("item") is None else f"[{item['item']}]"
    doing = f"{item['step']}{which} {item['state']}"
    if item.get("compensates"):
        waits = "" if item["state"] == "running" else f" ({item['state']})"
        doing = f"undoing {item['step']}{waits}"
    if (due_in := item.get("due_in")) is not None:
        doing += f", retry in {duration(due_in)}" if due_in > 0 else ", retry due"
    if item["attempt"]:
        counted = item["counted"] + (item["state"] == "running")
        doing += f", attempt {attempt_of(item['attempt'], item['max_attempts'], counted)}"
    return printable(f"{doing}{_why_blocked(item)}")


def _why_blocked(item: Row) -> str:
    """Returns why an item does not go on, to be added to its state."""
    if item["state"] == "held" and item.get("lost_by"):
        return f": {poison_words(item['lost_by'])}"
    why = item.get("unserved") or item.get("limited")
    return f": {one_line(why['reason'])}" if why else ""
