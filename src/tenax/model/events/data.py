"""Defines the data of events, with one struct for each shape.

The fields are in the order in which they are written. A field without a default is in every event of its type. A field that may be
UNSET is only in the events to which it applies, or was not written by an earlier version, so that old logs conform. The descriptions go
into `docs/events.md`, for fields whose name does not say enough.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from tenax.model.attempt.outcome import OutcomeStatus
from tenax.model.decision import Ledger
from tenax.model.events.parts import (
    AnyDecision,
    AnyFailure,
    EventData,
    ItemCounts,
    OperatorEnd,
    ParentRecord,
    RetryCount,
    Time,
    UsageRecord,
    VaryRecord,
    WaitingRecord,
)

ItemIdentity = Annotated[int, Meta(description="the id from which its receipt follows")] | UnsetType
Compensation = Annotated[bool, Meta(description="true if the event belongs to a compensation")] | UnsetType
Via = Annotated[Literal["callback"], Meta(description="`callback` if the callee reported it")] | UnsetType
Result = Any | UnsetType
LossKind = Literal["lease_expired", "queue_expired", "action_not_completed", "action_snoozed"]

# -- executions


class ExecutionStartedData(EventData):
    workflow: str
    input: dict[str, Any] | UnsetType = UNSET
    parent: ParentRecord | UnsetType = UNSET
    retry_of: int | UnsetType = UNSET
    original_execution: int | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class ActivatedData(EventData):
    reason: str
    restored: Annotated[int, Meta(description="the number of restored items of a fan-out")] | UnsetType = (
        UNSET
    )


class ExecutionCompletedData(EventData):
    result: Annotated[Any, Meta(description="only if the workflow has `outputs`")] | UnsetType = UNSET


class ExecutionFailedData(EventData):
    failure: AnyFailure


class CancelledData(EventData):
    actor: str
    reason: str | None


class CompensatedData(EventData):
    completed: Annotated[int, Meta(description="the number that succeeded")]
    failed: Annotated[int, Meta(description="the number that failed")]


class SignalData(EventData):
    name: str
    data: Any
    actor: str
    key: str | None
    reason: Annotated[str, Meta(description="why a person has sent it")] | UnsetType = UNSET


class OperatorData(EventData):
    action: str
    worker: str | UnsetType = UNSET
    queue: str | UnsetType = UNSET
    workflow: str | UnsetType = UNSET
    pack: str | UnsetType = UNSET
    content: Annotated[str, Meta(description="the hash of the pack's content")] | UnsetType = UNSET
    concurrency: int | UnsetType | None = UNSET
    rate: float | UnsetType | None = UNSET
    burst: int | UnsetType | None = UNSET
    actor: str
    reason: str | None
    compensation: Compensation = UNSET
    bulk: Annotated[int, Meta(description="the bulk job that acted")] | UnsetType = UNSET
    from_failed: Annotated[bool, Meta(description="true if a retry keeps what succeeded")] | UnsetType = UNSET
    because_of: (
        Annotated[int, Meta(description="the execution on which the person acted, if this one is below it")]
        | UnsetType
    ) = UNSET


class ReopenedData(EventData):
    steps: Annotated[
        list[str],
        Meta(
            description="the steps that start again or that the operator ends: they had ended, or never began"
        ),
    ]
    pending: Annotated[list[str], Meta(description="the steps that wait for their needs again")]
    actor: str
    because_of: (
        Annotated[
            int,
            Meta(description="the execution on which the person acted, if this one was opened because of it"),
        ]
        | UnsetType
    ) = UNSET
    failure: (
        Annotated[
            AnyFailure,
            Meta(
                description="the failure of a goal that stays lost, with which the execution will fail at its end"
            ),
        ]
        | UnsetType
    ) = UNSET
    deadline_at: (
        Annotated[Time, Meta(description="the new deadline, if the old one had passed")] | UnsetType
    ) = UNSET
    parent: Annotated[ParentRecord, Meta(description="the attempt that waits for it now")] | UnsetType = UNSET


ByOperator = (
    Annotated[OperatorEnd, Meta(description="only if an operator ended it: the action, and the state before")]
    | UnsetType
)

# -- steps


class EnqueuedData(EventData):
    items: Annotated[int, Meta(description="the number of items of a fan-out")] | UnsetType = UNSET
    parallelism: int | UnsetType = UNSET


class StepCompletedData(EventData):
    carried_from: (
        Annotated[int, Meta(description="the execution that the result was kept from")] | UnsetType
    ) = UNSET
    attempts: Annotated[
        int, Meta(description="the number of the last attempt; for a fan-out, the sum over its items")
    ]
    result: (
        Annotated[
            Any,
            Meta(
                description="only if it was kept from another execution, if a value replaces it, or if the list was empty"
            ),
        ]
        | UnsetType
    ) = UNSET
    on_failure: (
        Annotated[Literal["value"], Meta(description="`value` if a value replaces its result")] | UnsetType
    ) = UNSET
    items: ItemCounts | UnsetType = UNSET
    operator: ByOperator = UNSET


class SkippedData(EventData):
    when: str | UnsetType = UNSET
    fallback_of: Annotated[str, Meta(description="the step that did not fail")] | UnsetType = UNSET
    carried_from: int | UnsetType = UNSET
    attempts: int | UnsetType = UNSET


class UnreachableData(EventData):
    cause: Annotated[str, Meta(description="the step that failed")]


class RetryData(EventData):
    attempt: int
    max_attempts: int | None
    delay_seconds: float
    available_at: Time
    last_error: str | None
    decision: AnyDecision


class CompensationRetryData(RetryData):
    held: bool


class HeldData(EventData):
    reason: str
    decision: AnyDecision


class ExhaustedData(EventData):
    attempts: Annotated[
        int, Meta(description="the counted attempts. If the limit of a rule was reached, attempts and max_attempts are those of the rule")
    ]  # fmt: skip
    attempt: Annotated[int, Meta(description="the number of the last")] | UnsetType = UNSET
    max_attempts: int
    final_error: str | None


class TerminalData(EventData):
    attempts: Annotated[int, Meta(description="the counted attempts")] | UnsetType = UNSET
    attempt: Annotated[int, Meta(description="the number of the last")] | UnsetType = UNSET
    max_attempts: int | UnsetType | None = UNSET
    final_error: str | UnsetType | None = UNSET
    reason: str | UnsetType = UNSET
    failure: AnyFailure | None
    decision: AnyDecision | UnsetType = UNSET
    item_id: ItemIdentity = UNSET
    operator: ByOperator = UNSET


class StepFailedData(TerminalData):
    items: ItemCounts | UnsetType = UNSET
    on_failure: (
        Annotated[Literal["continue", "value", "step"], Meta(description="`continue`, `value` or `step`")]
        | UnsetType
    ) = UNSET


class ItemFailedData(TerminalData):
    tolerated: Annotated[bool, Meta(description="true if the step goes on without the item")] | UnsetType = (
        UNSET
    )


class ItemCompletedData(EventData):
    attempts: int
    result: Annotated[Any, Meta(description="only if an operator gave it")] | UnsetType = UNSET
    operator: ByOperator = UNSET


class ItemCancelledData(EventData):
    was: str | UnsetType = UNSET
    worker: str | UnsetType = UNSET
    item_id: ItemIdentity = UNSET
    count: int | UnsetType = UNSET
    items: (
        Annotated[list[tuple[int, int]], Meta(description="ranges of items that never began")] | UnsetType
    ) = UNSET


# -- attempts


class StartedData(EventData):
    worker: Annotated[str | None, Meta(description="null for the server")]
    retry: RetryCount
    vary: VaryRecord | UnsetType = UNSET
    waiting: WaitingRecord | UnsetType = UNSET
    child: Annotated[int, Meta(description="the child's execution")] | UnsetType = UNSET
    adopted: Annotated[bool, Meta(description="true if an earlier attempt started it")] | UnsetType = UNSET
    item_id: (
        Annotated[int, Meta(description="only for http steps: identifies the work item to the callee")]
        | UnsetType
    ) = UNSET
    resumed_from: Annotated[int, Meta(description="the attempt whose checkpoint it got")] | UnsetType = UNSET


class CompletedData(EventData):
    result: Any
    usage: UsageRecord | UnsetType = UNSET
    after: float | UnsetType = UNSET
    seconds: float | UnsetType = UNSET
    via: Via = UNSET
    decision: AnyDecision


class CompensationCompletedData(CompletedData):
    attempts: int


class PolledData(EventData):
    result: Any
    usage: UsageRecord | UnsetType = UNSET
    after: float | UnsetType = UNSET
    polls: int | UnsetType = UNSET
    seconds: float | UnsetType = UNSET
    via: Via = UNSET
    decision: AnyDecision | UnsetType = UNSET


class ErrorData(EventData):
    error: str
    failure: AnyFailure
    result: Result = UNSET
    worker: str | UnsetType = UNSET
    usage: UsageRecord | UnsetType = UNSET
    after: float | UnsetType = UNSET
    polls: int | UnsetType = UNSET
    seconds: float | UnsetType = UNSET
    via: Via = UNSET
    decision: AnyDecision | UnsetType = UNSET


class SnoozedData(EventData):
    error: str | UnsetType = UNSET
    failure: (
        Annotated[
            AnyFailure, Meta(description="only in logs of version 0.1, for a snooze beyond `max_snoozes`")
        ]
        | UnsetType
    ) = UNSET
    result: Result = UNSET
    worker: str | UnsetType = UNSET
    usage: UsageRecord | UnsetType = UNSET
    after: Annotated[float, Meta(description="the requested delay in seconds")] | UnsetType = UNSET
    seconds: float | UnsetType = UNSET
    via: Via = UNSET
    decision: AnyDecision | UnsetType = UNSET


class CompensationErrorData(EventData):
    error: str | UnsetType = UNSET
    failure: AnyFailure | UnsetType = UNSET
    result: Result = UNSET
    worker: str | UnsetType = UNSET
    usage: UsageRecord | UnsetType = UNSET
    after: float | UnsetType = UNSET
    seconds: float | UnsetType = UNSET
    via: Via = UNSET
    decision: AnyDecision | UnsetType = UNSET
    how: (
        Annotated[
            LossKind,
            Meta(description="`lease_expired`, `queue_expired`, `action_not_completed`, `action_snoozed`"),
        ]
        | UnsetType
    ) = UNSET
    attempts: int


class AcceptedData(EventData):
    deadline_at: Time
    result: Any
    item_id: Annotated[int, Meta(description="identifies the work item to the callee")] | UnsetType = UNSET


class ReleasedLeaseData(EventData):
    worker: str | None
    reason: str
    detail: str | None
    compensation: Compensation = UNSET


class ReleasedRetryData(EventData):
    available_at: Time | UnsetType = UNSET
    actor: str
    compensation: Compensation = UNSET
    reason: str | None


class RescheduledData(EventData):
    available_at: Time
    actor: str
    compensation: Compensation = UNSET
    was: Annotated[str, Meta(description="the state in which the item had ended")] | UnsetType = UNSET
    ledger: Annotated[Ledger, Meta(description="its new ledger, if that changed")] | UnsetType = UNSET
    reset: (
        Annotated[
            bool,
            Meta(description="true if the counts were reset, and the time of `give_up_after` starts anew"),
        ]
        | UnsetType
    ) = UNSET
    policy: (
        Annotated[dict[str, Any], Meta(description="the retry policy of the item from now on, if it changed")]
        | UnsetType
    ) = UNSET


class LateResultData(EventData):
    status: OutcomeStatus
    via: Via = UNSET
    result: Result = UNSET
    failure: AnyFailure | UnsetType = UNSET
    after: float | UnsetType = UNSET
    digest: Annotated[str, Meta(description="the SHA-256 of the whole content")] | UnsetType = UNSET
    size: Annotated[int, Meta(description="its number of characters, if not all are kept")] | UnsetType = (
        UNSET
    )
    head: Annotated[str, Meta(description="its beginning as JSON, if not all is kept")] | UnsetType = UNSET
    unchecked: (
        Annotated[
            bool,
            Meta(description="true if the log is too long to check whether the same report was sent before"),
        ]
        | UnsetType
    ) = UNSET
    compensation: Compensation = UNSET


# -- workers
