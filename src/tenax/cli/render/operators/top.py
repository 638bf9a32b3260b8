"""Draws what `tenax top` shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.text import Text

from tenax.cli.output import console, new_table
from tenax.cli.render.operators.figures import lag_words, percent, seconds_words, sparkline
from tenax.drawing.text_lines import one_line

NARROW = 80  # columns below which some columns of the tables are left out
WORKERS_SHOWN = 10
QUEUES_SHOWN = 8
TALL = 40  # lines from which there are empty lines between the tables
_HEALTH_STYLES = {"healthy": "green", "degraded": "yellow", "unhealthy": "bold red"}
Row = Mapping[str, Any]


class _Column(NamedTuple):
    title: str
    cell: Callable[[Row], str | Text]
    wide: bool = False
    """True if the column is shown in wide terminals only."""
    right: bool = True


class _Section(NamedTuple):
    title: str
    rows: Sequence[Row]
    columns: Sequence[_Column]


def picture(
    found: Mapping[str, Any], width: int, height: int | None = None, now: datetime | None = None
) -> list[RenderableType]:
    """Returns the parts of the picture, from top to bottom, for a terminal of this size. Without a height, all rows are
    shown."""
    at = now or datetime.now(UTC)
    head = _top(found, at)
    sections = (
        _Section("queues", found["queues"][:QUEUES_SHOWN], _QUEUES),
        _Section("workers", _worst_first(found["workers"])[:WORKERS_SHOWN], _WORKERS),
        _Section("failures by group", found["groups"], _GROUPS),
        _Section("newest failures", found["newest"], _newest(at)),
    )
    counts = [len(section.rows) for section in sections]
    apart = height is None or height >= TALL
    if height is not None:
        lines = sum(len(text.wrap(console(), width)) for text in head)
        lines += sum((2 if count else 1) + apart for count in counts)
        counts = _shares(counts, height - lines)
    shown: list[RenderableType] = [*head]
    for section, count in zip(sections, counts, strict=True):
        shown += _drawn(section, count, width, apart=apart)
    return shown


def _shares(counts: Sequence[int], room: int) -> list[int]:
    """Divides the lines that there is room for. Each section gets at least one, if it has a row."""
    given = [min(count, 1) for count in counts]
    left = room - sum(given)
    while left > 0 and (more := [n for n, count in enumerate(counts) if given[n] < count]):
        for n in more[:left]:
            given[n] += 1
        left -= len(more)
    return given


def _top(found: Mapping[str, Any], at: datetime) -> list[Text]:
    figures = found["figures"]
    shown = [_head(found, figures), _throughput(found["minutes"])]
    shown += [Text(one_line(alert["text"]), style="bold red") for alert in found["alerts"] if alert["firing"]]
    if lag := lag_words(figures["counted_until"], at):
        shown.append(Text(lag, style="yellow"))
    return shown


def _head(found: Mapping[str, Any], figures: Mapping[str, Any]) -> Text:
    """Returns the figures of the window. A narrow terminal wraps them."""
    workers = ", ".join(f"{n:,} {health}" for health, n in figures["workers"].items() if n) or "none"
    parts = (
        f"attempts {figures['attempts']:,}",
        f"failures {percent(figures['failure_rate'])}",
        f"retries {figures['retries']:,} ({percent(figures['retry_rate'])} of first attempts)",
        f"retries that succeed {percent(figures['retry_success_rate'])}",
        f"late p50 {_within(found['lateness']['p50'])}, p99 {_within(found['lateness']['p99'])}",
        f"workers {workers}",
        f"dead letters {figures['dead_letters']:,}",
    )
    window = Text(f"last {seconds_words(figures['window_seconds'])}: ", style="bold")
    return window.append(Text("  |  ".join(parts), style="not bold"))


def _within(bound: float | None) -> str:
    return "-" if bound is None else f"<= {seconds_words(bound)}"


def _throughput(minutes: Sequence[Row]) -> Text:
    counts = [one["attempts"] for one in minutes]
    last = f"{counts[-1]:,} in the last minute, {max(counts):,} at most" if counts else "none"
    return Text.assemble(("attempts a minute ", "dim"), (sparkline(counts), "cyan"), f" {last}")


def _drawn(section: _Section, count: int, width: int, *, apart: bool) -> list[RenderableType]:
    kept = [column for column in section.columns if width >= NARROW or not column.wide]
    space: list[RenderableType] = [Text("")] if apart else []
    if not section.rows:
        return [*space, Text.assemble((section.title, "bold"), (": none", "dim"))]
    of_all = f" ({count} of {len(section.rows)} shown)" if count < len(section.rows) else ""
    table = new_table(
        *(column.title for column in kept), right=[column.title for column in kept if column.right]
    )
    for row in section.rows[:count]:
        table.add_row(*(_text(column.cell(row)) for column in kept))
    return [*space, Text.assemble((section.title, "bold"), (of_all, "dim")), table]


def _text(cell: str | Text) -> Text:
    return cell if isinstance(cell, Text) else Text(one_line(cell))


def _worst_first(workers: Sequence[Row]) -> list[Row]:
    ranks = list(_HEALTH_STYLES)
    return sorted(workers, key=lambda one: (-ranks.index(one["health"]), -one["queue_depth"], one["name"]))


def _health(row: Row) -> Text:
    return Text(row["health"], style=_HEALTH_STYLES[row["health"]])


_QUEUES = (
    _Column("queue", lambda row: row["queue"], right=False),
    _Column("ready", lambda row: f"{row['ready']:,}"),
    _Column("waiting", lambda row: f"{row['waiting']:,}"),
    _Column("running", lambda row: f"{row['running']:,}"),
    _Column("blocked", lambda row: f"{row['blocked']:,}", wide=True),
    _Column("workers", lambda row: f"{row['workers']:,}"),
)
_WORKERS = (
    _Column("worker", lambda row: row["name"], right=False),
    _Column("health", _health, right=False),
    _Column("state", lambda row: row["state"], right=False),
    _Column("leased", lambda row: f"{row['queue_depth']:,}"),
    _Column("slots", lambda row: f"{row['slots']:,}", wide=True),
    _Column("failures", lambda row: percent(row["failure_rate"]), wide=True),
)
_GROUPS = (
    _Column("failures", lambda row: f"{row['failures']:,}"),
    _Column("reason", lambda row: row["reason"], right=False),
    _Column("class", lambda row: row["class"], wide=True, right=False),
    _Column("step", lambda row: row["step"], right=False),
    _Column("workflow", lambda row: row["workflow"], wide=True, right=False),
)


def _newest(now: datetime) -> Sequence[_Column]:
    return (
        _Column("execution", lambda row: str(row["execution_id"])),
        _Column("step", _step, right=False),
        _Column("attempt", lambda row: str(row["attempt"]), wide=True),
        _Column("reason", lambda row: row["reason"], right=False),
        _Column("retry", lambda row: "dead" if row["dead"] else _due(row["due"], now), right=False),
    )


def _step(row: Row) -> str:
    return row["step"] if row["item"] is None else f"{row['step']}[{row['item']}]"


def _due(due: str | None, now: datetime) -> str:
    if due is None:
        return "running or held"
    left = (datetime.fromisoformat(due) - now).total_seconds()
    return f"in {seconds_words(left)}" if left > 0 else "due"
