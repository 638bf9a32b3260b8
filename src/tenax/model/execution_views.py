"""Defines the views of one execution: its steps with their attempts, and its events."""

from __future__ import annotations

from typing import Any, NamedTuple

from tenax.model.attempt.live_views import StepProgress
from tenax.model.definition.workflow import Step as Definition
from tenax.model.policy import Policy
from tenax.model.values import OpenPart, View
from tenax.model.views import Compensation, ExecutionStatus, Limited, Unserved


class Parent(View):
    """Names the attempt that started a child execution."""

    execution_id: int
    step: str
    item: int | None
    attempt: int


class Attempt(OpenPart):
    """Describes one attempt."""

    attempt: int
    started_at: str | None = None
    ended_at: str | None = None
    worker: str | None = None
    outcome: str = "running"
    failure: dict[str, Any] | None = None
    verdict: str | None = None
    rule: str | None = None
    """The rule that gave the verdict."""
    delay_seconds: float | None = None
    available_at: str | None = None
    usage: dict[str, Any] | None = None
    """`{cost_usd, tokens}`, if it has reported its usage."""
    vary: dict[str, Any] | None = None
    """`{entry, override}` if an entry of `vary` applied."""
    child: int | None = None
    """The execution that a workflow step started."""
    waiting: dict[str, Any] | None = None
    """What it waits for: `{for: sleep | signal | approval | child | callback, signal?, until?, deadline_at?}`."""
    resumed_from: int | None = None
    """The earlier attempt whose checkpoint it was given."""
    via: str | None = None
    """`callback` if the callee reported the end and not the worker. An attempt that was given up before has two entries then."""


class Work(OpenPart):
    """Describes the progress of something that has attempts: a step, an item or a compensation."""

    status: str
    attempt: int
    counted: int
    """The number of ended attempts that count against the limit."""
    max_attempts: int | None
    result: Any
    polls: int
    failure: dict[str, Any] | None
    available_at: str | None
    """When the next attempt may start, if the state is `retrying`."""
    enqueued_at: str | None
    attempts: list[Attempt]
    waiting: dict[str, Any] | None
    """What the current attempt waits for while no worker runs it. For a fan-out, what its first waiting `item` waits for."""


class FailedCompensation(OpenPart):
    """Describes an item of a fan-out that could not be undone."""

    item: int
    attempts: int
    failure: dict[str, Any] | None


class StepCompensation(Work):
    """Describes the compensation of a step."""

    items: dict[str, int] | None
    """The number of a fan-out's items in each state."""
    failures: list[FailedCompensation]
    """The first failures of a fan-out."""


class StandIn(OpenPart):
    """Says what replaces a failure, by the definition."""

    action: str
    step: str | None


class Child(OpenPart):
    """Describes an execution that an attempt started."""

    id: int
    status: ExecutionStatus
    item: int | None
    attempt: int


class HeldWork(OpenPart):
    """Describes the held work of a step: the rule, the reason, the latest end of the hold, the first held item, and the workers that
    lost their lease on it.
    """

    rule: str | None
    reason: str | None
    until: str | None
    items: int
    item: int | None
    lost_by: list[str]


class BudgetLimits(OpenPart):
    """Holds the limits of a budget. Null: there is none."""

    cost_usd: float | None
    tokens: int | None


class TreeBudget(BudgetLimits):
    """Describes the budget of a tree of executions, and what is left of it."""

    tree: int
    """The execution at the root of the tree."""
    spent_usd: float
    spent_tokens: int
    reserved_usd: float
    """The amount reserved for attempts in flight, or the usage that they have reported if that is more."""
    reserved_tokens: int
    left_usd: float | None
    left_tokens: int | None
    in_flight: int
    """The number of items for whose attempts something may be reserved."""
    exceeded_at: str | None


class Step(Work):
    """Describes the state and the definition of a step."""

    carried_from: int | None
    """The execution from which the result was kept, if this execution is a retry of it."""
    on_failure: str | None
    """What replaced its failure: `continue`, `value` or `step`."""
    for_each: bool
    items: dict[str, int] | None
    """The number of a fan-out's items in each state."""
    compensation: StepCompensation | None
    type: str
    needs: list[str]
    goal: bool
    budget: BudgetLimits | None
    """The budget of each item of the step, or of the child's tree."""
    stand_in: StandIn | None
    failures: Any = None
    """The failures of the items of a fan-out that has ended."""
    children: list[Child]
    unserved: Unserved | None
    limited: Limited | None
    held: HeldWork | None
    progress: StepProgress | None = None
    """How far it is, if that is known while it runs."""


LEFT_OUT = "tenax:left_out"


def left_out(
    size: int, where: str = "`tenax events` and GET /v1/executions/ID/events have it"
) -> dict[str, str]:
    """Returns what replaces a result that is too large for a view. `where` says how to get the result."""
    return {LEFT_OUT: f"{size:,} bytes, more than a view shows (`max_rendered`); {where}"}


LARGE_EVIDENCE = ("traceback", "stderr_tail", "data", "request")
"""The parts of a failure that may be large."""
EVIDENCE_LEFT_OUT = "its traceback, stderr, data and request, more than a view shows (`max_rendered`); `tenax events` and GET /v1/executions/ID/events have them"


def brief_failure(failure: dict[str, Any]) -> dict[str, Any]:
    """Returns a failure without its large parts, and says so in it."""
    kept = {name: value for name, value in failure.items() if name not in LARGE_EVIDENCE}
    return kept if len(kept) == len(failure) else {**kept, LEFT_OUT: EVIDENCE_LEFT_OUT}


class OperatorAct(OpenPart):
    """Describes an action of an operator on an execution, or on a step or an item of it."""

    at: str
    action: str
    actor: str
    reason: str | None
    step: str | None
    item: int | None
    because_of: int | None
    """The execution that the operator named, if this one was acted on with it."""
    bulk: int | None
    """The bulk job that did it."""


class Execution(View):
    """Describes the current state of an execution. Its steps are folded from its events."""

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
    retried_by: list[int]
    """The executions that were made from this one, each a run of all of it."""
    parent: Parent | None
    compensation: Compensation | None
    """The state of the compensations of an execution that failed. None if there is nothing to undo."""
    created_at: str
    starts_at: str | None
    """When an execution starts that was submitted to start later. It is paused until then. Null once it has started."""
    budgets: list[TreeBudget]
    """The budgets of the trees that it belongs to, the outermost first. Its own is the last, if it has one."""
    deadline_at: str | None
    finished_at: str | None
    now: str
    """The time of this answer by the database's clock."""
    operator_actions: list[OperatorAct]
    """What operators did to it, the last 20 actions in their order. Those on single items of a fan-out with more than 1,000
    items are left out."""
    last_seq: int
    """The sequence number of the last event included. Pass it to `/events?after=` for later events."""
    steps: dict[str, Step]


class StepDefinition(NamedTuple):
    """Is what an execution's workflow says of a step, with the retry policy that results from all levels."""

    step: Definition
    policy: Policy


class Event(View):
    """Is an immutable record of what happened."""

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
