"""Decides what a schedule does now: which ticks start an execution, which wait, and which are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from tenax.model.schedule.schedule import Schedule
from tenax.model.schedule.ticks import delay_of, newest_ticks, next_after

ON_TIME = timedelta(seconds=60)
"""A tick that is found within this time has not been missed."""
RECHECK = timedelta(seconds=1)
"""The time between two looks at the last execution while a tick waits for its end."""

Origin = Literal["tick", "caught_up", "queued"]
SkipReason = Literal["missed", "overlap", "queue_full", "replaced"]
RunReason = Origin | SkipReason | Literal["by_hand"]
"""Why a schedule started an execution, or why it left out a tick."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Is a tick that waits for the end of the last execution: one that is made up for, or that `overlap: queue` keeps."""

    tick: datetime
    origin: Origin


@dataclass(frozen=True, slots=True)
class Skipped:
    """Says that a tick was left out, or all ticks from one to another."""

    tick: datetime
    reason: SkipReason
    until: datetime | None = None
    """The last of several ticks."""


@dataclass(frozen=True, slots=True)
class ScheduleFacts:
    """Is what a look depends on, besides the schedule and the time."""

    next_tick: datetime | None
    """The first tick that was not dealt with yet."""
    waiting: tuple[Waiting, ...]
    is_running: bool
    """True if the last execution has not ended."""
    failures: int
    """The failures in a row."""


@dataclass(frozen=True, slots=True)
class Look:
    """Is the decision of one look."""

    next_tick: datetime | None
    starts: tuple[Waiting, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    cancels: bool = False
    """True if the last execution is cancelled before the start."""
    pauses: bool = False
    """True if the schedule pauses itself."""

    @property
    def acts(self) -> bool:
        return bool(self.starts or self.skipped or self.pauses)


def look(name: str, schedule: Schedule, facts: ScheduleFacts, now: datetime) -> Look:
    """Decides what the schedule of this name does now."""
    due, skipped, next_tick = _due(name, schedule, facts.next_tick, now)
    waiting = (*facts.waiting, *due[:-1])
    newest = due[-1] if due else None
    if newest is not None and newest.origin == "caught_up":
        waiting, newest = (*waiting, newest), None
    if not waiting and newest is None:
        return Look(next_tick, skipped=skipped)
    most = schedule.pause_after_failures
    if most is not None and facts.failures >= most:
        return Look(next_tick, skipped=skipped, pauses=True)
    return _place(
        schedule, Look(next_tick, skipped=skipped, waiting=waiting), newest, is_running=facts.is_running
    )


def look_at(
    name: str, schedule: Schedule, next_tick: datetime | None, *, waits: bool, now: datetime
) -> datetime | None:
    """Returns when the schedule is to be looked at next. Returns None if nothing comes any more."""
    due = None if next_tick is None else next_tick + delay_of(name, schedule, next_tick)
    if waits:
        return now + RECHECK if due is None else min(due, now + RECHECK)
    return due


def _due(
    name: str, schedule: Schedule, first: datetime | None, now: datetime
) -> tuple[list[Waiting], tuple[Skipped, ...], datetime | None]:
    """Returns the ticks that are due and not left out, those that are left out, and the first tick that is not due."""
    if first is None or first > now:
        return [], (), first
    ticks = newest_ticks(schedule, first, now, schedule.catch_up + 3)
    if not ticks:  # the rules of the zone have changed since
        return [], (), next_after(schedule, now)
    next_tick = next_after(schedule, ticks[-1])
    if ticks[-1] + delay_of(name, schedule, ticks[-1]) > now:
        next_tick = ticks.pop()
    if not ticks:
        return [], (), next_tick
    last = ticks[-1]
    on_time = [last] if last + delay_of(name, schedule, last) + ON_TIME >= now else []
    missed = ticks[: len(ticks) - len(on_time)]
    made_up = missed[len(missed) - schedule.catch_up :] if len(missed) > schedule.catch_up else missed
    due = [Waiting(tick, "caught_up") for tick in made_up] + [Waiting(tick, "tick") for tick in on_time]
    return due, _left_out(first, missed[: len(missed) - len(made_up)]), next_tick


def _left_out(first: datetime, missed: Sequence[datetime]) -> tuple[Skipped, ...]:
    """Returns one record of all missed ticks that are not made up for. The first of them may be earlier than those listed."""
    if not missed:
        return ()
    return (Skipped(first, "missed", missed[-1] if missed[-1] > first else None),)


def _place(schedule: Schedule, look: Look, newest: Waiting | None, *, is_running: bool) -> Look:
    """Starts ticks that wait, and places the newest one, which has just come: it starts, waits or is left out."""
    if schedule.overlap == "allow":
        starts = (*look.waiting, newest) if newest is not None else look.waiting
        return replace(look, starts=starts, waiting=())
    if newest is not None and schedule.overlap == "cancel":
        replaced = tuple(Skipped(one.tick, "replaced") for one in look.waiting)
        return replace(
            look, starts=(newest,), skipped=(*look.skipped, *replaced), waiting=(), cancels=is_running
        )
    if look.waiting and not is_running:
        look = replace(look, starts=look.waiting[:1], waiting=look.waiting[1:])
        is_running = True
    if newest is None:
        return look
    if not is_running:
        return replace(look, starts=(newest,))
    if schedule.overlap == "queue":
        if all(one.origin != "queued" for one in look.waiting):
            return replace(look, waiting=(*look.waiting, Waiting(newest.tick, "queued")))
        return replace(look, skipped=(*look.skipped, Skipped(newest.tick, "queue_full")))
    return replace(look, skipped=(*look.skipped, Skipped(newest.tick, "overlap")))
