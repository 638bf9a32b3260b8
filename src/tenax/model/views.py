"""Defines the views that the engine returns and the server encodes as JSON.

Times are RFC 3339, in UTC, by the database's clock.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from tenax.model.fleet.views import IdleWorker
from tenax.model.values import OpenPart, View

ExecutionStatus = Literal["running", "paused", "completed", "failed", "cancelled"]
Compensation = Literal["running", "completed", "failed", "cancelled"]
ItemStatus = Literal[
    "waiting", "queued", "running", "accepted", "retrying", "held", "succeeded", "failed", "cancelled"
]


class Awaited(OpenPart):
    """Says what an item waits for while no worker runs it, in the words of `action_started`."""

    kind: str = field(name="for")
    """`sleep`, `signal`, `approval`, `callback` or `child`."""
    signal: str | UnsetType = UNSET
    child: int | UnsetType | None = UNSET
    until: str | UnsetType | None = UNSET
    """The end of a sleep. Other waits have `deadline_at`."""
    deadline_at: str | UnsetType | None = UNSET


class Unserved(OpenPart):
    """Says why no worker takes ready work, and what that work requires."""

    reason: str
    since: str
    queue: str
    labels: dict[str, str]
    idle: list[IdleWorker]
    """The first few of these workers."""


class Limited(OpenPart):
    """Says which limit keeps ready work from starting."""

    reason: str
    since: str
    queue: str | None
    """The queue whose limit it is. Null for the `concurrency` of a step or action."""
    held_by: list[int]
    """Executions of which work runs under the `concurrency`, at most 5 of them."""
    paused: bool = False
    """True if a person has paused the queue."""


class Standing(OpenPart):
    """Says why ready work does not start. A field is null if it is not the cause."""

    unserved: Unserved | None = None
    limited: Limited | None = None


class FanOutCounts(OpenPart):
    """Counts the items of a fan-out. `ended` includes the items that failed."""

    total: int
    ended: int
    failed: int


class WaitingItem(OpenPart):
    """Describes the work item that says most about the state of its execution."""

    item: int | None
    step: str
    state: str
    """The state, in the words of the states of steps."""
    attempt: int
    counted: int
    lost_by: list[str]
    awaiting: Awaited | None
    last_error: str | None
    compensates: bool
    available_at: str
    due_in: float | None
    """Seconds until the retry is due, by the clock of the database; 0 if it is. Null if no retry waits."""
    max_attempts: int | None
    unserved: Unserved | None
    limited: Limited | None
    fan_out: FanOutCounts | None
    """The counts of the fan-out that it belongs to. Null if it belongs to none."""


class ExecutionSummary(View):
    """Describes an execution in a list.

    `waiting` is the work item that says most about its state, if there is one. It says what the item awaits (`awaiting`), or why it is
    ready and does not run (`unserved`, `limited`).
    """

    id: int
    workflow: str
    version: str | None
    status: ExecutionStatus
    failure: dict[str, Any] | None
    created_at: str
    finished_at: str | None
    retry_of: int | None
    parent: int | None
    """The execution that started it, if it is a child."""
    compensation: Compensation | None
    waiting: WaitingItem | None


class ItemInfo(View):
    """Describes one item of a fan-out. `item` is its number in the list, from 0."""

    item: int
    status: ItemStatus
    attempt: int | None
    """Null if the item was cancelled."""
    max_attempts: int | None
    result: Any
    failure: dict[str, Any] | None
    available_at: str | None
    last_error: str | None
    lost_by: list[str]
    """The workers that lost their lease on the item."""
    worker: str | None
    waiting: Awaited | None
    """What it waits for while no worker runs it: a sleep, a signal, an approval, a callback or a child."""


class Explanation(View):
    """Explains one decision on a retry: the rule that gave it, the values that it saw, and a text in plain English."""

    step: str | None
    item: int | None
    attempt: int | None
    compensation: bool
    """True if the attempt belonged to the step's `compensate`."""
    at: str
    verdict: str
    rule: str
    reason: str | None
    failure: dict[str, Any] | None
    decision: dict[str, Any]
    text: str


class Delivery(View):
    """Names the step or item that took a signal."""

    step: str
    item: int | None


class SignalAnswer(View):
    id: int
    signal: str
    delivered_to: Delivery | None
    """The step or item that took the signal. Null if nothing waits for it yet: the signal is kept."""
    created: bool
    """False if a signal with this key was sent before. The answer describes that signal."""
    expected: bool
    """False if no step of the definition waits for a signal with this name."""
    names: list[str] | None
    """The signals for which its steps wait. Null if a template gives the name, so that it may be any."""


class ApprovalAnswer(View):
    id: int
    step: str
    item: int | None
    approved: bool


class RetryAnswer(View):
    """Answers a retry: with the `steps` that run now, or with the new execution of a finished one (`retry_of`)."""

    id: int
    created: bool
    status: ExecutionStatus | None = None
    """The state of the execution afterwards, if it is not a new one."""
    steps: list[str] | None = None
    items: int | None = None
    """The number of work items that run now."""
    reopened: list[int] | None = None
    """The executions that run again because of it, the root first."""
    retry_of: int | None = None


class ActionAnswer(View):
    """Answers an operator's action with the steps and items that it acted on, and the executions that it opened again."""

    id: int
    action: str
    status: ExecutionStatus
    """The state of the execution afterwards."""
    changed: bool
    """False if the execution was in this state already."""
    steps: list[str]
    """The steps concerned. Empty for an action on the whole execution."""
    items: int
    """The number of work items concerned."""
    reopened: list[int]
    """The executions that run again because of it, the root first."""


class StoredWorkflow(View):
    name: str
    version: str | None
    hash: str
    created: bool
    """False if the same definition was stored before."""


class ImportedWorkflow(View):
    """Is a workflow that an import made of a file of another system."""

    name: str
    system: str
    text: str
    """The workflow file."""


class ImportEntry(View):
    """Says what became of one part of a file of another system."""

    kind: str
    """`understood`, `changed` or `dropped`."""
    file: str | None
    line: int | None
    path: str
    sentence: str


class ImportedFile(View):
    workflows: list[ImportedWorkflow]
    report: list[ImportEntry]


class LintEntry(View):
    """Is one finding of the lint."""

    code: str
    """The code of the rule: `TX101`."""
    severity: Literal["error", "warning"]
    message: str
    remedy: str
    path: str
    file: str | None
    line: int | None
    column: int | None
    fixable: bool
    """True if `tenax lint --fix` removes it."""


class LintReport(View):
    findings: list[LintEntry]
    errors: int
    warnings: int


class SubmissionFault(View):
    """Says what is wrong with one submission of a batch."""

    place: int
    """The place in the batch, from 0."""
    error: str


class WorkflowInfo(View):
    """Describes a stored definition. Its hash is its identity."""

    name: str
    version: str | None
    hash: str
    created_at: str | None
    """When it was stored. Null: it was not, and is listed because the workflow is paused."""
    paused_by: str | None = None
    """The person who paused the workflow. Null: it is not paused."""
    paused_why: str | None = None


class WorkflowPauseAnswer(View):
    """Answers the pause of a workflow, or its end."""

    workflow: str
    paused: bool
    changed: bool
    """False if it was so already."""


class Checked(View):
    """Counts what was checked. `decisions` counts the decisions that were made again."""

    executions: int
    events: int
    decisions: int


class Violation(View):
    """Names a law that an execution breaks, and the ids of the events concerned."""

    law: str
    execution: int
    step: str | None
    item: int | None
    attempt: int | None
    events: list[int]
    message: str


class Verified(View):
    """Is the result of the check of some executions.

    `other_versions` counts the decisions that were not made again, by the version of the decision function that made them.
    """

    checked: Checked
    violations: list[Violation]
    not_shown: int
    """The number of violations that are not listed."""
    other_versions: dict[str, int]
    next: int | None
    """The value of `after` for the next page. Null if all executions have been checked."""


class Tree(View):
    """Describes an execution and its children. `more` is the number of children that are not listed."""

    id: int
    workflow: str
    status: ExecutionStatus
    step: str | None
    """The step of the parent that started it. This and the next two fields are null at the top."""
    item: int | None
    attempt: int | None
    failure: dict[str, Any] | None
    created_at: str
    finished_at: str | None
    children: list[Tree]
    more: int
