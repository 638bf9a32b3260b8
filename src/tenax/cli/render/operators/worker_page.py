"""Prints one worker for people: its state, each column of its health, its leases and its last events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tenax.cli.flags import DEFAULT_TARGET, TargetFlags
from tenax.cli.output import new_table
from tenax.cli.render.operators.fleet_table import HEALTH_STYLES, STATE_STYLES, health_text
from tenax.drawing.event_lines import moment
from tenax.drawing.fleet_words import (
    COLUMN_NAMES,
    counted,
    fleet_event_words,
    percentage,
    short_duration,
    state_words,
)
from tenax.drawing.text_lines import one_line, printable, to_the_second
from tenax.model.durations import format_duration
from tenax.model.fleet.health import SERVER_ACTOR

Worker = Mapping[str, Any]

_FAILURE_COLUMNS = ("consecutive_failures", "failure_rate")


def render_worker(worker: Worker, where: TargetFlags = DEFAULT_TARGET) -> RenderableType:
    parts: list[RenderableType] = [_head(worker, where)]
    if worker["state"] != "gone":
        parts += [Text(), _columns(worker)]
        parts += [Text(printable(line), style="dim") for line in _reported(worker)]
    if worker["leases"]:
        parts += [Text(), Text(_how_many_leases(worker), style="bold"), _leases(worker)]
    if worker["events"]:
        parts += [Text(), Text("last events:", style="bold"), _events(worker)]
    return Group(*parts)


def _head(worker: Worker, where: TargetFlags) -> Text:
    head = Text.assemble(
        "worker ",
        (one_line(worker["name"]), "bold"),
        ": ",
        (state_words(worker), STATE_STYLES.get(worker["state"], "")),
    )
    if worker["state"] != "gone":
        head.append(", ")
        head.append(health_text(worker))
        if worker["health_since"]:
            head.append(
                f" (for {short_duration(_seconds(worker['health_since'], _now(worker)))})", style="dim"
            )
    for line in _standing(worker, where):
        head.append(f"\n  {printable(line)}", style="yellow")
    head.append("".join(f"\n  {printable(line)}" for line in _particulars(worker)), style="dim")
    return head


def _standing(worker: Worker, where: TargetFlags) -> Iterator[str]:
    """Yields why the worker gets no work, or less than others, and how to change that."""
    resume = where.command("workers", "resume", worker["name"])
    if worker["state"] in ("paused", "draining"):
        by = "the server" if worker["state_actor"] == SERVER_ACTOR else worker["state_actor"]
        word = {"paused": "paused", "draining": "drained"}[worker["state"]]
        why = f": {one_line(worker['state_reason'])}" if worker["state_reason"] else ""
        yield f"{word} by {by or 'someone'} at {worker['state_since']}{why}"
        if worker["state"] == "paused" or worker["state_actor"] == SERVER_ACTOR:
            yield f"give it work again: {resume}"
        else:
            yield "its process ends when it has finished its running attempts"
    elif worker["state"] == "active" and worker["probe_at"]:
        left = _seconds(_now(worker), worker["probe_at"])
        gets = f"one item in {short_duration(left)}" if left > 0 else "the next item it is able to run"
        yield f"gets {gets}, to see whether it has recovered; give it work at once: {resume}"
    elif worker["state"] == "active" and worker["health"] == "unhealthy":
        yield _until(worker)
    if _is_floored(worker):
        yield "still gets work, after the other workers: too few of them are able to do it"


def _until(worker: Worker) -> str:
    match worker["health_column"]:
        case "heartbeat_age":
            return "gets no work until it sends a heartbeat again"
        case "queue_depth":
            return "gets no work until it has reported some of its items"
        case "reported_status":
            return "gets no work until it reports itself as healthy"
        case _:
            return "gets no work except the one item that shows whether it has recovered"


def _is_floored(worker: Worker) -> bool:
    return worker["health"] == "degraded" and any(
        one["health"] == "unhealthy" for one in worker["columns"] if one["column"] in _FAILURE_COLUMNS
    )


def _particulars(worker: Worker) -> Iterator[str]:
    version = f"version {one_line(worker['version'])}, " if worker["version"] else ""
    yield f"{version}{counted(worker['slots'], 'slot')}"
    labels = ", ".join(f"{name}={value}" for name, value in sorted(worker["labels"].items()))
    queues = f"queues {', '.join(worker['queues'])}"
    if worker["serves"] is not None:
        queues = f"serves execution {worker['serves']} and its children only"
    yield f"{queues}; runtimes {', '.join(worker['runtimes'])}{f'; labels {labels}' if labels else ''}"
    yield f"registered     {worker['registered_at']}"
    yield f"last heartbeat {worker['last_heartbeat']} ({short_duration(worker['heartbeat_age'])} ago)"
    if worker["losses"]:
        times = "once" if worker["losses"] == 1 else f"{worker['losses']} times"
        yield f"was lost with work in its hands {times} lately"


def _columns(worker: Worker) -> RenderableType:
    table = new_table("health", "value", "degraded from", "unhealthy from", "verdict")
    for one in worker["columns"]:
        name = one["column"]
        cells = (_value(name, one[key]) for key in ("value", "degraded_at", "unhealthy_at"))
        verdict = Text(one["health"], style=HEALTH_STYLES.get(one["health"], ""))
        table.add_row(Text(COLUMN_NAMES.get(name, name)), *map(Text, cells), verdict)
    return table


def _value(column: str, value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float() | int() if column == "heartbeat_age":
            return format_duration(round(value, 1))
        case float() | int() if column == "failure_rate":
            return percentage(value)
        case float() | int():
            return f"{value:,g}"
        case _:
            return one_line(value)


def _reported(worker: Worker) -> Iterator[str]:
    said = worker["reported"]
    if not said:
        yield "it has reported nothing about itself yet"
        return
    took = format_duration(round(said.get("average_execution_time_ms") or 0) / 1000)
    in_hand = f"{counted(said.get('queue_depth', 0), 'item')} in hand"
    if overdue := said.get("overdue"):
        in_hand += f", {counted(overdue, 'slot')} held by threads that outlived their attempts"
    yield (
        f"it reports: {said.get('status')}, {counted(said.get('total_executions', 0), 'run')} in its life, "
        f"{said.get('failed_executions', 0):,} of them failed, {took} on average; "
        f"{counted(said.get('consecutive_failures', 0), 'failure')} in a row, {in_hand}"
    )
    if said.get("status") != "healthy" and _own_verdict(worker) == "healthy":
        yield "(while it counts so many failures in a row, the server judges these and not its status)"


def _own_verdict(worker: Worker) -> str | None:
    return next((one["health"] for one in worker["columns"] if one["column"] == "reported_status"), None)


def _how_many_leases(worker: Worker) -> str:
    shown, total = len(worker["leases"]), worker["leases_total"]
    return f"holds {total:,}:" if shown == total else f"holds {total:,}, of them {shown:,}:"


def _leases(worker: Worker) -> RenderableType:
    now = _now(worker)
    table = new_table(
        "execution", "step", "attempt", "for", "lease until", right=("execution", "attempt", "for")
    )
    for one in worker["leases"]:
        item = "" if one["item"] is None else f"[{one['item']}]"
        cells = (
            str(one["execution_id"]),
            f"{one_line(one['step'])}{item}",
            str(one["attempt"]),
            short_duration(_seconds(one["started_at"], now)),
            to_the_second(one["lease_until"]),
        )
        table.add_row(*map(Text, cells))
    return table


def _events(worker: Worker) -> RenderableType:
    table = new_table("at", "event", "what", wrapped=("what",))
    for one in worker["events"]:
        words = fleet_event_words(one["type"], one["data"]) or one["type"].replace("_", " ")
        table.add_row(Text(to_the_second(one["at"])), Text(one["type"]), Text(one_line(words)))
    return table


def _now(worker: Worker) -> str:
    """Returns the time of the answer by the database's clock."""
    heard: datetime = moment(worker["last_heartbeat"])
    return (heard + timedelta(seconds=worker["heartbeat_age"])).isoformat()


def _seconds(begin: str, end: str) -> float:
    return (moment(end) - moment(begin)).total_seconds()
