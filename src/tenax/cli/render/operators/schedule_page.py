"""Renders schedules: the list, and one with its next ticks and what it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tenax.cli.flags import TargetFlags
from tenax.cli.render.table import Column, RankedTable
from tenax.drawing.schedule_words import local_time, rules_words, run_words, times_words
from tenax.drawing.text_lines import one_line, to_the_second


def schedule_table(found: Sequence[Mapping[str, Any]]) -> RankedTable:
    columns = (
        Column("schedule"),
        Column("workflow", rank=3, least=10),
        Column("when", rank=2, least=12),
        Column("state"),
        Column("next", rank=4),
        Column("last", rank=1, least=8),
    )
    rows = [
        (
            one["name"],
            one["workflow"],
            times_words(one["schedule"]),
            Text(one["state"], style="yellow" if one["state"] == "paused" else ""),
            local_time(one["next_at"], one["schedule"]) if one["next_at"] else "",
            f"{one['last_execution']} {one['last_status'] or ''}" if one["last_execution"] else "",
        )
        for one in found
    ]
    return RankedTable(columns, rows)


def render_schedule(one: Mapping[str, Any], where: TargetFlags) -> RenderableType:
    schedule = one["schedule"]
    source = "declared by its file" if one["declared"] else "created by hand"
    lines = [
        f"schedule {one['name']} starts workflow {one['workflow']}: {times_words(schedule)}",
        f"  {', '.join([*rules_words(schedule), source])}",
    ]
    parts: list[RenderableType] = [Text("\n".join(lines))]
    if one["paused_by"]:
        why = f": {one_line(one['paused_why'])}" if one["paused_why"] else ""
        go_on = where.command("schedules", "resume", one["name"])
        text = f"paused by {one_line(one['paused_by'])}{why}; let it go on: {go_on}"
        parts.append(Text(text, style="yellow"))
    if one["failures"]:
        parts.append(Text(f"failures in a row: {one['failures']}", style="red"))
    if one["waiting"]:
        ticks = ", ".join(local_time(tick, schedule) for tick in one["waiting"])
        parts.append(Text(f"waits for the end of execution {one['last_execution']}: {ticks}"))
    if one["next_ticks"]:
        ticks = "\n".join(f"  {local_time(tick, schedule)}" for tick in one["next_ticks"])
        parts.append(Text(f"next\n{ticks}"))
    elif one["state"] == "over":
        parts.append(Text("it is over: no tick comes any more"))
    if one["runs"]:
        parts += [Text("what it did, the newest first"), _run_table(one["runs"], schedule)]
    return Group(*parts)


def _run_table(runs: Sequence[Mapping[str, Any]], schedule: Mapping[str, Any]) -> RankedTable:
    columns = (
        Column("at", rank=1),
        Column("tick", rank=2),
        Column("what", rank=3, least=20, wrapped=True),
        Column("execution"),
    )
    rows = [
        (
            to_the_second(run["at"]),
            local_time(run["tick"], schedule) if run["tick"] else "",
            one_line(run_words(run), 500),
            f"{run['execution_id']} {run['status'] or ''}" if run["execution_id"] else "",
        )
        for run in runs
    ]
    return RankedTable(columns, rows)
