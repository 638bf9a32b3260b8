"""What people see of one execution: its steps with their attempts, and its events."""

from __future__ import annotations

from typing import Any

from tenax.model.views import Compensation, ExecutionStatus, Limited, OpenPart, Unserved, View


class Parent(View):
    """The attempt that started a child execution."""

    execution_id: int
    step: str
    item: int | None
    attempt: int


class Attempt(OpenPart):
    """One attempt as the timeline shows it."""

    attempt: int
    started_at: str | None = None
    ended_at: str | None = None
    worker: str | None = None
    outcome: str = "running"
    failure: dict[str, Any] | None = None
    verdict: str | None = None
    rule: str | None = None
    """The rule that the verdict rests on."""
    delay_seconds: float | None = None
    available_at: str | None = None
    vary: dict[str, Any] | None = None
    """`{entry, override}`, where an entry of `vary` applied."""
    child: int | None = None
    """The execution that a workflow step started."""
    waiting: dict[str, Any] | None = None
    """What it waits for: `{for: sleep | signal | approval | child | callback, signal?, until?, deadline_at?}`."""
    via: str | None = None
    """`callback`: the callee reported the end, not the worker. Of an attempt that had been given up it is a second entry."""


class Work(OpenPart):
    """Whatever has attempts: how far it has come."""

    status: str
    attempt: int
    counted: int
    """How many of the ended attempts count against the limit."""
    max_attempts: int | None
    result: Any
    polls: int
    failure: dict[str, Any] | None
    available_at: str | None
    """When the next attempt may start, while it is retrying."""
    enqueued_at: str | None
    attempts: list[Attempt]
    waiting: dict[str, Any] | None
    """What the attempt that is under way waits for, if it does not work; of a fan-out, what its first such `item` waits for."""


class FailedCompensation(OpenPart):
    """What could not be undone of a fan-out."""

    item: int
    attempts: int
    failure: dict[str, Any] | None


class StepCompensation(Work):
    """What undoes a step."""

    items: dict[str, int] | None
    """Of a fan-out: how many of its items are in which state."""
    failures: list[FailedCompensation]
    """Of a fan-out: the first ones."""


class StandIn(OpenPart):
    """What the definition puts in the place of a failure."""

    action: str
    step: str | None


class Child(OpenPart):
    """An execution that an attempt started."""

    id: int
    status: ExecutionStatus
    item: int | None
    attempt: int


class HeldWork(OpenPart):
    """Held work of a step: by which rule, why, until when at most, which item is the first, and the workers that this one has cost
    their lease.
    """

    rule: str | None
    reason: str | None
    until: str | None
    items: int
    item: int | None
    lost_by: list[str]


class Step(Work):
    """A step as it stands, and as its definition has it."""

    carried_from: int | None
    """The execution whose result was kept, where this is a retry of it."""
    on_failure: str | None
    """What came in the place of its failure: `continue`, `value` or `step`."""
    for_each: bool
    items: dict[str, int] | None
    """Of a fan-out: how many of its items are in which state."""
    compensation: StepCompensation | None
    type: str
    needs: list[str]
    goal: bool
    stand_in: StandIn | None
    failures: Any = None
    """Of a fan-out that has ended: the failures of its items."""
    children: list[Child]
    unserved: Unserved | None
    limited: Limited | None
    held: HeldWork | None


LEFT_OUT = "tenax:left_out"


def left_out(
    size: int, where: str = "`tenax events` and GET /v1/executions/ID/events have it"
) -> dict[str, str]:
    """Returns what a view has in the place of a result that is too large for it. `where`: how to get it."""
    return {LEFT_OUT: f"{size:,} bytes, more than a view shows (`max_rendered`); {where}"}


LARGE_EVIDENCE = ("traceback", "stderr_tail", "data")
"""The parts of a failure that may be large."""
EVIDENCE_LEFT_OUT = "its traceback, stderr and data, more than a view shows (`max_rendered`); `tenax events` and GET /v1/executions/ID/events have them"


def brief_failure(failure: dict[str, Any]) -> dict[str, Any]:
    """Returns a failure without its large parts, and says so in it."""
    kept = {name: value for name, value in failure.items() if name not in LARGE_EVIDENCE}
    return kept if len(kept) == len(failure) else {**kept, LEFT_OUT: EVIDENCE_LEFT_OUT}


class Execution(View):
    """An execution as it stands, with its steps folded from its events."""

    id: int
    status: ExecutionStatus
    workflow: str
    version: str | None
    input: dict[str, Any]
    result: Any
    failure: dict[str, Any] | None
    key: str | None
    retry_of: int | None
    original_execution: int | None
    parent: Parent | None
    compensation: Compensation | None
    """Of an execution that failed: how far it is with undoing what its steps did. None: there is nothing to undo."""
    created_at: str
    deadline_at: str | None
    finished_at: str | None
    now: str
    """The database's time of this answer."""
    last_seq: int
    """The sequence number of the last event in it: where to go on with `/events?after=`."""
    steps: dict[str, Step]


class Event(View):
    """An immutable record of what happened."""

    id: int
    seq: int
    type: str
    at: str
    step: str | None
    item: int | None
    attempt: int | None
    data: dict[str, Any]


class News(View):
    events: list[Event]
    cursor: str | None
