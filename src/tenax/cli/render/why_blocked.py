"""Describes why open work does not go on (held, no able worker, a limit), and what a person can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenax.cli.flags import TargetFlags, worker_command
from tenax.drawing.event_lines import duration, seconds_between, why_held
from tenax.drawing.text_lines import one_line
from tenax.model.definition.workflow import DEFAULT_QUEUE
from tenax.model.fleet.health import SERVER_ACTOR

Body = Mapping[str, Any]

_MAX_LENGTH = 600
_IN_SHORT = {"held": "held: see below", "unserved": "nobody runs it: see below", "limited": "at a limit: see below"}  # fmt: skip


def in_short(step: Body) -> Sequence[str]:
    """Returns short notes that a step does not go on. `notes` gives the reasons."""
    return [words for key, words in _IN_SHORT.items() if step.get(key)]


def notes(execution: Body, where: TargetFlags) -> Iterator[tuple[str, str]]:
    """Yields for each step that does not go on the reason, and what to do or an empty text."""
    if execution["finished_at"]:
        return
    for name, step in execution["steps"].items():
        if held := step.get("held"):
            yield f"{_whose(name, step, held)} is held: {_why_held(held)}", _release(held, execution, where)
        if unserved := step.get("unserved"):
            yield f"{_whose(name, step)} is not run: {_told(unserved)}", _serve(unserved, where)
        if limited := step.get("limited"):
            yield f"{_whose(name, step)} waits at a limit: {_told(limited)}", _look(limited, execution, where)


def _whose(name: str, step: Body, held: Body | None = None) -> str:
    item = step.get("item") if held is None else held.get("item", step.get("item"))
    return one_line(name) if item is None else f"{one_line(name)}[{item}]"


def _told(why: Body) -> str:
    return one_line(why["reason"], _MAX_LENGTH)


def _why_held(held: Body) -> str:
    lost_by = held.get("lost_by") or ()
    others = f"; {held['items'] - 1} more are held" if held.get("items", 1) > 1 else ""
    if lost_by and held.get("rule") in (None, "poison"):
        return f"{poison_words(lost_by)}{others}"
    return f"{one_line(held['reason'] or why_held(held['rule']), _MAX_LENGTH)}{others}"


def poison_words(lost_by: Sequence[str]) -> str:
    """Describes why an item is quarantined."""
    workers = f"{len(lost_by)} worker{'s' if len(lost_by) != 1 else ''}"
    return f"it has cost {workers} their lease ({', '.join(map(one_line, lost_by))})"


def _release(held: Body, execution: Body, where: TargetFlags) -> str:
    if held.get("rule") == "budget":
        return f"it goes on when attempts in flight give back what is reserved: {where.command('show', execution['id'])}"
    release = f"release it: {where.command('retry', execution['id'])}"
    if not held.get("until"):
        return release
    left = seconds_between(execution["now"], held["until"])
    return f"fails in {duration(left)}; {release}" if left > 0 else f"about to fail; {release}"


def _serve(unserved: Body, where: TargetFlags) -> str:
    """Returns how to give an able worker work again, or how to start one."""
    if idle := unserved.get("idle"):
        return wake(idle, where)
    queue, labels = unserved.get("queue"), unserved.get("labels") or {}
    flags = [] if queue in (None, DEFAULT_QUEUE) else ["--queue", queue]
    flags += [part for name, value in sorted(labels.items()) for part in ("--label", f"{name}={value}")]
    return f"start a worker: {worker_command(where, *flags)} (those there are: {where.command('workers')})"


def _look(limited: Body, execution: Body, where: TargetFlags) -> str:
    """Returns where to see what uses up a limit."""
    if limited.get("queue"):
        return f"see the limits of the queue: {where.command('queues')}"
    others = [number for number in limited.get("held_by") or () if number != execution["id"]]
    if not others:
        return f"it goes on when one of them ends: {where.command('show', execution['id'], '--follow')}"
    named = ", ".join(map(str, others))
    plural = "s" if len(others) > 1 else ""
    return f"see what runs, in execution{plural} {named}: {where.command('show', others[0])}"


def wake(idle: Sequence[Body], where: TargetFlags) -> str:
    """Returns how to give one of these workers work again, or where to see what keeps it from work."""
    kept = [one for one in idle if one["state"] == "paused" or one["state_actor"] == SERVER_ACTOR]
    if kept:
        return f"give it work again: {where.command('workers', 'resume', kept[0]['name'])}"
    return f"see what it has: {where.command('workers', 'show', idle[0]['name'])}"
