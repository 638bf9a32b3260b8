"""Prints the workers as a table that fits the width of the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tenax.cli.output import new_table, one_line
from tenax.cli.render.fleet_words import health_words, share, short_duration, state_words

Worker = Mapping[str, Any]

HEALTH_STYLES = {"healthy": "green", "degraded": "yellow", "unhealthy": "bold red"}
STATE_STYLES = {"active": "", "paused": "magenta", "draining": "magenta", "gone": "dim"}
_MAX_LENGTH = 40
_NUMBERS = ("slots", "busy", "failures", "rate", "heartbeat")
_FIRST_TO_GO = ("version", "runtimes", "queues", "labels", "slots", "rate")
"""The columns that are left out if there is no room, in this order. `workers show` prints them all."""


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
    "rate": lambda w: Text(share(w["failure_rate"])),
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


class FleetTable:
    """Is a table with a row for each worker."""

    def __init__(self, found: Sequence[Worker]) -> None:
        self._found = found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        left_out: list[str] = [] if any(worker["labels"] for worker in self._found) else ["labels"]
        unlabelled = len(left_out)
        table = self._table(left_out)
        for title in _FIRST_TO_GO:
            if _fits(table, console, options):
                break
            left_out += [title] if title not in left_out else []
            table = self._table(left_out)
        yield table
        if for_room := left_out[unlabelled:]:
            yield Text(f"left out, for lack of room: {', '.join(for_room)}", style="dim")

    def _table(self, left_out: Sequence[str]) -> Table:
        titles = [title for title in _CELLS if title not in left_out]
        table = new_table(*titles, right=_NUMBERS, wrapped=("name", "health"))
        for worker in self._found:
            table.add_row(*(_CELLS[title](worker) for title in titles))
        return table


def _fits(table: Table, console: Console, options: ConsoleOptions) -> bool:
    wide = Measurement.get(console, options.update(max_width=100_000), table)
    return wide.maximum <= options.max_width
