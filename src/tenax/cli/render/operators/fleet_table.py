"""Prints the workers as a table that fits the width of the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.text import Text

from tenax.cli.render.table import Column, RankedTable
from tenax.drawing.fleet_words import health_words, percentage, short_duration, state_words
from tenax.drawing.text_lines import one_line

Worker = Mapping[str, Any]

HEALTH_STYLES = {"healthy": "green", "degraded": "yellow", "unhealthy": "bold red"}
STATE_STYLES = {"active": "", "paused": "magenta", "draining": "magenta", "gone": "dim"}
_MAX_LENGTH = 40
_NUMBERS = ("slots", "busy", "failures", "rate", "heartbeat")
_COLUMNS = {
    "version": Column("version", rank=1),
    "runtimes": Column("runtimes", rank=2),
    "queues": Column("queues", rank=3),
    "labels": Column("labels", rank=4),
    "slots": Column("slots", rank=5, right=True),
    "rate": Column("rate", rank=6, right=True),
}
"""The columns that give way if there is no room. `workers show` prints them all."""


def _names(names: Sequence[str]) -> Text:
    return Text(one_line(", ".join(names), _MAX_LENGTH))


def health_text(worker: Worker) -> Text:
    """Returns the health of a worker. The last health of a worker that is gone has no meaning."""
    if worker["state"] == "gone":
        return Text("-", style="dim")
    return Text(health_words(worker), style=HEALTH_STYLES.get(worker["health"], ""))


_CELLS: Mapping[str, Callable[[Worker], Text]] = {
    "name": lambda w: Text(one_line(w["name"])),
    "state": lambda w: Text(state_words(w), style=STATE_STYLES.get(w["state"], "")),
    "health": health_text,
    "queues": lambda w: _names(w["queues"]) if w["serves"] is None else Text(f"execution {w['serves']} only"),
    "runtimes": lambda w: _names(w["runtimes"]),
    "labels": lambda w: _names([f"{name}={value}" for name, value in sorted(w["labels"].items())]),
    "slots": lambda w: Text(str(w["slots"])),
    "busy": lambda w: Text(str(w["queue_depth"])),
    "failures": lambda w: Text(str(w["failures"]), style="red" if w["failures"] else ""),
    "rate": lambda w: Text(percentage(w["failure_rate"])),
    "heartbeat": lambda w: Text(short_duration(w["heartbeat_age"])),
    "version": lambda w: Text(one_line(w["version"] or "-", _MAX_LENGTH)),
}


def change_key(found: Sequence[Worker]) -> list[tuple[str, ...]]:
    """Returns the texts of the table without the ages of heartbeats, which change all the time."""
    titles = [title for title in _CELLS if title != "heartbeat"]
    return [tuple(_told(title, worker) for title in titles) for worker in found]


def _told(title: str, worker: Worker) -> str:
    """Returns the text of a cell. Leaves out the seconds of silence of a silent worker, which change all the time."""
    if title == "health" and worker["health_column"] == "heartbeat_age":
        return str(worker["health"])
    return _CELLS[title](worker).plain


def fleet_table(found: Sequence[Worker]) -> RankedTable:
    """Returns a table with a row for each worker. Labels are shown if a worker has any."""
    has_labels = any(worker["labels"] for worker in found)
    titles = [title for title in _CELLS if title != "labels" or has_labels]
    columns = [_COLUMNS.get(title, Column(title, right=title in _NUMBERS)) for title in titles]
    return RankedTable(columns, [[_CELLS[title](worker) for title in titles] for worker in found])
