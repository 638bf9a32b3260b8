"""Declares the types of events. Each class says the name of an event, when it is written, to what it belongs, and its data.

The check of the log, `docs/events.md` and the sets in this module are made from these classes.
"""

from __future__ import annotations

from typing import ClassVar, get_args, get_type_hints

from msgspec import UNSET, UnsetType

from tenax.model.events import budget_data as of_budgets
from tenax.model.events import data as of
from tenax.model.events import fleet_data as of_fleet
from tenax.model.values import Value

Number = int | None | UnsetType
"""The number of an item in its fan-out. Version 0.1 wrote null if there is no fan-out."""


class Event(Value, omit_defaults=True, forbid_unknown_fields=True, tag_field="type"):
    """Is an event as the log stores it. A type without data has no field `data`."""

    when: ClassVar[str] = ""
    """The description in the docs."""
    ends_attempt: ClassVar[bool] = False


class StepEvent(Event):
    step: str


class ItemEvent(StepEvent):
    item: Number = UNSET


class AttemptEvent(ItemEvent):
    attempt: int


class OutcomeEvent(AttemptEvent):
    token: str | UnsetType = UNSET
    """The token of the lease to which the report belongs."""


# -- executions


class ExecutionStarted(Event, tag="execution_started"):
    when = "an execution begins"
    data: of.ExecutionStartedData


class ExecutionActivated(Event, tag="execution_activated"):
    when = "recovery found the execution without a work item and repaired it"
    step: str | UnsetType = UNSET
    item: Number = UNSET
    data: of.ActivatedData


class ExecutionCompleted(Event, tag="execution_completed"):
    when = "every step has ended and no goal is lost"
    data: of.ExecutionCompletedData | UnsetType = UNSET


class ExecutionFailed(Event, tag="execution_failed"):
    when = "a goal is lost, or the deadline passed"
    data: of.ExecutionFailedData


class ExecutionCancelled(Event, tag="execution_cancelled"):
    when = "a person cancelled it"
    data: of.CancelledData


class ExecutionPaused(Event, tag="execution_paused"):
    when = "a person paused it or its parent: no more attempts start"


class ExecutionResumed(Event, tag="execution_resumed"):
    when = "a person resumed it or its parent"


class ExecutionReopened(Event, tag="execution_reopened"):
    when = (
        "an operator started ended steps again: a failed execution runs again, an open one goes on with them"
    )
    data: of.ReopenedData


class ExecutionCompensating(Event, tag="execution_compensating"):
    when = "it has failed, and its compensations begin. It stays `running` until they have ended"
    data: of.ExecutionFailedData


class ExecutionCompensated(Event, tag="execution_compensated"):
    when = "all compensations have ended"
    data: of.CompensatedData


# -- steps


class StepEnqueued(StepEvent, tag="step_enqueued"):
    when = "all steps that it needs have ended. A work item waits for a worker, or one for each element of `for_each`"
    data: of.EnqueuedData | UnsetType = UNSET


class StepRetry(AttemptEvent, tag="step_retry"):
    when = "the step or item will be tried again"
    data: of.RetryData


class StepRetryExhausted(AttemptEvent, tag="step_retry_exhausted"):
    when = "the attempts are used up"
    data: of.ExhaustedData


class StepFailedTerminal(StepEvent, tag="step_failed_terminal"):
    when = "the step has failed for good"
    attempt: int | UnsetType = UNSET
    data: of.StepFailedData


class StepCompleted(StepEvent, tag="step_completed"):
    when = "the step is done"
    data: of.StepCompletedData


class StepSkipped(StepEvent, tag="step_skipped"):
    when = "its `when` is false, or it is the fallback of a step that did not fail"
    data: of.SkippedData


class StepUnreachable(StepEvent, tag="step_unreachable"):
    when = "a step that it needs has failed"
    data: of.UnreachableData


# -- attempts


class ActionStarted(AttemptEvent, tag="action_started"):
    when = "a worker has leased an attempt, or the server carries it out itself"
    data: of.StartedData


class ActionCompleted(OutcomeEvent, tag="action_completed"):
    when = "the attempt succeeded"
    ends_attempt = True
    data: of.CompletedData


class ActionError(OutcomeEvent, tag="action_error"):
    when = "the attempt failed or reached its timeout"
    ends_attempt = True
    data: of.ErrorData


class ActionNotCompleted(OutcomeEvent, tag="action_not_completed"):
    when = "the handler asked for another attempt. This one counts"
    ends_attempt = True
    data: of.ErrorData


class ActionSnoozed(OutcomeEvent, tag="action_snoozed"):
    when = (
        "the handler asked to be run later. The attempt does not count. "
        "Beyond `max_snoozes` the event is an `action_error` with the reason `snooze_limit`"
    )
    ends_attempt = True
    data: of.SnoozedData | UnsetType = UNSET


class ActionPolled(OutcomeEvent, tag="action_polled"):
    when = "the attempt succeeded, but `until` does not hold yet. The attempt does not count"
    ends_attempt = True
    data: of.PolledData


class ActionAccepted(OutcomeEvent, tag="action_accepted"):
    when = "the callee of an async step accepted the work and will call back"
    data: of.AcceptedData


class LeaseExpired(OutcomeEvent, tag="lease_expired"):
    when = "the lease was lost: the worker sent no heartbeat, or its process has died"
    ends_attempt = True
    data: of.ErrorData


class LeaseReleased(AttemptEvent, tag="lease_released"):
    when = "a worker handed the attempt back. It does not count"
    data: of.ReleasedLeaseData


class QueueExpired(AttemptEvent, tag="queue_expired"):
    when = "no worker leased the item within `queue_ttl`. This uses an attempt number"
    ends_attempt = True
    data: of.ErrorData


class RetryHeld(AttemptEvent, tag="retry_held"):
    when = "the retry is held, because the item is [poison](fleet.md#poison), or until a [budget](agents.md#budgets) can pay it"
    data: of.RetryData


class RetryReleased(ItemEvent, tag="retry_released"):
    attempt: int | UnsetType = UNSET
    """Unset if the item waits for its first attempt."""
    when = (
        "an operator ended the hold, or the server did (`tenax:server`). "
        "After the server's release the retry is decided again, and `step_retry` follows"
    )
    data: of.ReleasedRetryData


class RetryRescheduled(AttemptEvent, tag="retry_rescheduled"):
    when = "an operator asked for the retry at once, started an ended item again, reset it, or gave it another policy"
    data: of.RescheduledData


class ItemCompleted(StepEvent, tag="item_completed"):
    when = "an item of a fan-out is done"
    item: int
    data: of.ItemCompletedData


class ItemFailed(StepEvent, tag="item_failed"):
    when = "an item of a fan-out has failed for good"
    item: int
    attempt: int
    data: of.ItemFailedData


class ItemCancelled(ItemEvent, tag="item_cancelled"):
    when = (
        "the work item ended with its execution or its step. "
        "One event covers all items of a fan-out that never began"
    )
    data: of.ItemCancelledData | UnsetType = UNSET


class ItemHeld(ItemEvent, tag="item_held"):
    when = (
        "the first attempt of an item waits until a [budget](agents.md#budgets) can pay it, or recovery found a held "
        "work item missing and put it back, still held"
    )
    attempt: int | UnsetType = UNSET
    data: of.HeldData | UnsetType = UNSET


class LateResult(Event, tag="late_result"):
    when = (
        "a report or callback came too late, and was recorded but not applied: its lease token is no longer valid, "
        "its token had another report before (at most 10 are recorded for each token), or the callback no longer counts"
    )
    step: str | UnsetType = UNSET
    item: Number = UNSET
    attempt: int
    token: str | UnsetType = UNSET
    data: of.LateResultData


class SignalReceived(Event, tag="signal_received"):
    when = "a signal came, for a step that waits for it now or will later"
    data: of.SignalData


# -- compensations


class CompensationEnqueued(ItemEvent, tag="compensation_enqueued"):
    when = "the compensation of an item waits for a worker"


class CompensationStarted(AttemptEvent, tag="compensation_started"):
    when = "a worker has leased an attempt of the compensation"
    data: of.StartedData


class CompensationError(OutcomeEvent, tag="compensation_error"):
    when = "the attempt of the compensation failed"
    data: of.CompensationErrorData


class CompensationRetry(AttemptEvent, tag="compensation_retry"):
    when = "the compensation will be tried again"
    data: of.CompensationRetryData


class CompensationCompleted(OutcomeEvent, tag="compensation_completed"):
    when = "the item is undone"
    data: of.CompensationCompletedData


class CompensationFailed(AttemptEvent, tag="compensation_failed"):
    when = "the item could not be undone"
    data: of.TerminalData


class CompensationCancelled(ItemEvent, tag="compensation_cancelled"):
    when = "the execution was cancelled before the compensation ended"
    data: of.ItemCancelledData | UnsetType = UNSET


class BudgetExceeded(Event, tag="budget_exceeded"):
    when = (
        "attempts have used more than the [budget](agents.md#budgets) of their item, or of their tree. The attempt may "
        "have succeeded. A tree that has not ended is failed then"
    )
    step: str | UnsetType = UNSET
    item: Number = UNSET
    attempt: int | UnsetType = UNSET
    data: of_budgets.BudgetExceededData


class AttemptCharged(AttemptEvent, tag="attempt_charged"):
    when = (
        "an attempt ended without a report, because it was cancelled, handed back, or its item was ended by an "
        "operator. This is what a budget is charged for it"
    )
    data: of_budgets.ChargedData


# -- operators and workers


class OperatorAction(Event, tag="operator_action"):
    when = (
        "a person acted on an execution: cancel, retry_now, retry, reset, resolve, complete, fail, reschedule, pause, "
        "resume, approve, reject, discard (a dead letter). Or on the fleet or a bulk job, in an event without an "
        "execution: worker_pause, worker_drain, worker_resume, worker_release, queue_limit, queue_pause, queue_resume, "
        "workflow_pause, workflow_resume, bulk_start, bulk_stop, bulk_resume. If the actor of a worker_resume is `tenax:server`, the server ended its own drain"
    )
    step: str | UnsetType = UNSET
    item: Number = UNSET
    data: of.OperatorData


class WorkerRegistered(Event, tag="worker_registered"):
    when = "a worker registered. The event belongs to no execution"
    data: of_fleet.WorkerRegisteredData


class WorkerHealthChanged(Event, tag="worker_health_changed"):
    when = "the server's verdict on a [worker's health](fleet.md#health) changed. The event belongs to no execution"
    data: of_fleet.HealthChangedData


class WorkerDrained(Event, tag="worker_drained"):
    when = "the server drained a worker that was lost several times. The event belongs to no execution"
    data: of_fleet.WorkerDrainedData


class WorkerLost(Event, tag="worker_lost"):
    when = "a worker was silent for three leases. The event belongs to no execution"
    data: of_fleet.WorkerLostData


class SubmissionRejected(Event, tag="submission_rejected"):
    when = "a [submission in an application's transaction](transactions.md) could not be started. The event belongs to no execution"
    data: of_fleet.SubmissionRejectedData


TYPES: dict[str, type[Event]] = {
    str(kind.__struct_config__.tag): kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, Event) and not kind.__subclasses__()
}
"""All types by their name, in the order of the docs."""
ATTEMPT_ENDS = frozenset(name for name, kind in TYPES.items() if kind.ends_attempt)


def _data_fields(kind: type[Event]) -> frozenset[str]:
    data = get_type_hints(kind).get("data", UnsetType)
    shapes = [shape for shape in (data, *get_args(data)) if hasattr(shape, "__struct_encode_fields__")]
    return frozenset(name for shape in shapes for name in shape.__struct_encode_fields__)


DATA_FIELDS = {name: _data_fields(kind) for name, kind in TYPES.items()}
"""The names of the fields in the data of each type."""
