"""Defines the views of schedules."""

from __future__ import annotations

from typing import Any, Literal

from tenax.model.schedule.look import RunReason
from tenax.model.values import View

ScheduleState = Literal["active", "paused", "over"]


class ScheduleInfo(View):
    """Describes a schedule."""

    name: str
    workflow: str
    """The stored workflow that it starts: NAME, or NAME@VERSION."""
    state: ScheduleState
    """`over`: no tick comes any more."""
    schedule: dict[str, Any]
    """When it starts, in the keys of a workflow file. Keys at their default are left out, and times are in UTC."""
    declared: bool
    """True if the file of the workflow declares it."""
    next_at: str | None
    """The next tick, without its jitter. Null: there is none, or the schedule is paused."""
    waiting: list[str]
    """The ticks that wait for the end of the last execution."""
    last_execution: int | None
    last_status: str | None
    """The state of the last execution."""
    last_started_at: str | None
    failures: int
    """Executions that have failed in a row. They are counted up to `pause_after_failures`, or 10."""
    paused_by: str | None
    paused_why: str | None
    paused_at: str | None
    created_at: str


class ScheduleRun(View):
    """Describes something that a schedule did."""

    id: int
    at: str
    kind: Literal["started", "skipped", "failed", "paused"]
    tick: str | None
    """The tick, or the first of several that were skipped together. Null: a person started it, or the schedule paused itself."""
    until: str | None
    """The last of several ticks."""
    reason: RunReason | None
    note: str | None
    """The error of a start that failed, the person who started it, or why the schedule paused itself."""
    execution_id: int | None
    status: str | None
    """The state of the execution."""


class ScheduleInFull(ScheduleInfo):
    """Describes a schedule with its next ticks and its newest runs."""

    next_ticks: list[str]
    runs: list[ScheduleRun]
    """What it did, the newest first."""


class ScheduleAnswer(View):
    name: str
    created: bool
    """False if it took the place of an earlier schedule of this name."""
    next_at: str | None


class ScheduleTicks(View):
    name: str
    ticks: list[str]
    """The next ticks, in UTC and without jitter."""


class SchedulePauseAnswer(View):
    name: str
    paused: bool
    changed: bool
    """False if it was so already."""


class ScheduleStarted(View):
    name: str
    execution_id: int


class DeletedSchedule(View):
    name: str
    deleted: bool
