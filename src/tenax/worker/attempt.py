"""Defines an attempt that runs in this worker, its report, and the release that hands its lease back."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sized
from typing import Literal

from msgspec.structs import replace

from tenax.model.attempt.outcome import Outcome, Usage
from tenax.model.wire import Assignment, HeldUsage, Release, Report
from tenax.sdk.context import AttemptServices, Channel, RecordedResult, TaskContext
from tenax.worker.handlers.error_outcomes import classified_failure, cut_to_limits
from tenax.worker.handlers.json_values import storable_text
from tenax.worker.handlers.secrets import Secrets
from tenax.worker.handlers.shown_request import shown_request

log = logging.getLogger("tenax.worker")


class RunningAttempt:
    """Holds one attempt from its lease to its report."""

    __slots__ = ("assignment", "began", "context", "override", "task", "told")

    def __init__(
        self, assignment: Assignment, channel: Channel | None = None, services: AttemptServices | None = None
    ) -> None:
        self.assignment = assignment
        self.context = TaskContext(assignment, started=time.time(), channel=channel, services=services)
        self.began = time.monotonic()
        self.task: asyncio.Task[None] | None = None
        """The asyncio task in which the attempt waits. None until it waits for something."""
        self.told: Usage | None = None
        """The usage that the server has heard of."""
        self.override: Outcome | Release | None = None
        """The outcome or release that replaces the attempt's own outcome if the worker ended the attempt."""

    def raise_if_ended(self) -> None:
        """Raises `CancelledError`, as a cancelled task does, if the worker has ended the attempt already."""
        if self.override is not None:
            raise asyncio.CancelledError

    def with_usage(self, told: Outcome | Release) -> Outcome | Release:
        """Adds to an outcome what the attempt stated of its usage while it ran. What the outcome states itself wins."""
        used = self.context.used
        if used is None or not isinstance(told, Outcome):
            return told
        last = told.usage or Usage()
        cost = used.cost_usd if last.cost_usd is None else last.cost_usd
        return replace(told, usage=Usage(cost, used.tokens if last.tokens is None else last.tokens))

    def close(self, told: Outcome | Release) -> Outcome | Release:
        """Ends the attempt. Returns what the worker reports of it: what it was told, unless a transaction of the attempt itself has
        recorded a result, or may have."""
        recorded = self.context.close()
        return told if recorded is None else _with_recorded(told, recorded, self.assignment)

    def handed_back(self, worker: str) -> Release:
        """Returns the release of an attempt that its worker does not finish, because it stops."""
        return make_release(self.assignment, "draining", f"worker {worker} is stopping")

    def end_early(self, override: Outcome | Release) -> bool:
        """Cancels the attempt and keeps `override` as its report. Returns False if the worker has ended it already."""
        if self.override is not None:
            return False
        self.override = override
        self.context.revoke()
        if self.task is not None:
            self.task.cancel()
        return True


def is_success(told: Outcome | Release) -> bool:
    return isinstance(told, Outcome) and told.status == "succeeded"


def with_request(outcome: Outcome, assignment: Assignment) -> Outcome:
    """Adds what the attempt was asked to do to the facts of its failure. The assignment has no secrets filled in."""
    if outcome.facts is None:
        return outcome
    return replace(outcome, facts=replace(outcome.facts, request=shown_request(assignment) or None))


def count_in_words(attempts: Sized) -> str:
    return "1 attempt is" if len(attempts) == 1 else f"{len(attempts)} attempts are"


def usage_to_tell(attempts: Iterable[RunningAttempt]) -> list[HeldUsage]:
    """Returns the usage of attempts that the server has not heard of."""
    return [
        HeldUsage(attempt.assignment.item_id, attempt.assignment.token, used.cost_usd, used.tokens)
        for attempt in attempts
        if (used := attempt.context.used) is not None and used != attempt.told
    ]


def note_told(attempts: Mapping[tuple[int, str], RunningAttempt], told: Iterable[HeldUsage]) -> None:
    """Notes what the server has heard."""
    for one in told:
        attempt = attempts.get((one.item_id, one.token))
        if attempt is not None:
            attempt.told = Usage(one.cost_usd, one.tokens)


def make_release(assignment: Assignment, reason: Literal["draining", "no_handler"], detail: str) -> Release:
    return Release(
        assignment.execution_id,
        assignment.item_id,
        assignment.attempt,
        assignment.token,
        reason,
        storable_text(detail),
    )


def make_report(assignment: Assignment, outcome: Outcome) -> Report:
    return Report(
        assignment.execution_id,
        assignment.item_id,
        assignment.attempt,
        assignment.token,
        outcome,
        assignment.step,
        assignment.item,
    )


def scrubbed_entry(secrets: Secrets, assignment: Assignment, told: Outcome | Release) -> Report | Release:
    """Returns what the worker sends of an attempt. It has no secrets in it, and is within the limits."""
    if isinstance(told, Release):
        return secrets.scrub_release(told, assignment)
    return make_report(assignment, cut_to_limits(secrets.scrub_outcome(told, assignment)))


def _with_recorded(told: Outcome | Release, recorded: RecordedResult, assignment: Assignment) -> Outcome:
    """Returns the report of an attempt whose own transaction has committed its result, or may have committed it.

    The server looks for the recorded result, which wins over anything else that the worker reports.
    """
    result = recorded.result
    if isinstance(told, Release):
        if not recorded.committed:
            message = (
                "the worker stopped, and it is not known whether the attempt's transaction was committed"
            )
            return replace(classified_failure("transient", "not_committed", message), recorded=True)
        told = Outcome("succeeded", result)
    elif told.status == "succeeded":
        if told.result is not None and told.result != result:
            log.warning(
                "item %d: the task returned another result than its transaction has recorded, which is the one that counts",
                assignment.item_id,
            )
        told = replace(told, result=result)
    return replace(told, recorded=True)
