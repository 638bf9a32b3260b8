"""Judges the worker's own health: what it reports with its heartbeats, and how much work it may ask for."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

from tenax.model.attempt.blame import is_fault_of_worker
from tenax.model.attempt.classify import classify
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.fleet.health import Health, HealthReport, HealthTerms
from tenax.model.wire import Assignment

Demand = Literal["full", "probe", "overloaded", "stuck", "backlogged", "failing"]
"""What the worker asks for: `full` fills all free slots, `probe` is one item that shows whether attempts succeed again. The other
values are reasons to ask for nothing."""
NO_DEMAND: frozenset[Demand] = frozenset({"overloaded", "stuck", "backlogged", "failing"})


class SelfCheck:
    """Counts how attempts end over the whole life of the worker, and derives its health and its demand for work.

    Failures alone never make the worker call itself unhealthy: only the server knows whether other workers could do the work.
    If the server calls it unhealthy too, the worker stops asking for work.
    """

    def __init__(
        self, slots: int, overload_lag: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.terms = HealthTerms()
        self.lag = 0.0
        """Seconds by which the event loop last woke too late."""
        self.overdue = 0
        """The number of threads that outlived their attempt and still take up its slot."""
        self.failures_in_a_row = 0
        self._slots = slots
        self._overload_lag = overload_lag
        self._clock = clock
        self._last_failure = 0.0
        self._verdict: Health = "healthy"
        self._total = 0
        self._failed = 0
        self._seconds = 0.0

    def count(self, outcome: Outcome, assignment: Assignment, seconds: float) -> None:
        """Counts an attempt that ended by itself. Attempts that were handed back or revoked are not counted."""
        self._total += 1
        self._seconds += seconds
        self._failed += outcome.status == "failed"
        if counts_against_worker(outcome, assignment):
            self.failures_in_a_row += 1
            self._last_failure = self._clock()
        else:
            self.failures_in_a_row = 0

    def note_verdict(self, verdict: Health) -> None:
        """Takes the server's verdict. A verdict that became healthy clears the failures: an operator resumed the worker."""
        if verdict == "healthy" and self._verdict != "healthy":
            self.failures_in_a_row = 0
        self._verdict = verdict

    def demand(self, depth: int) -> Demand:
        if self.lag >= self._overload_lag:
            return "overloaded"
        if self._is_stuck:
            return "stuck"
        if depth >= self._unhealthy_depth:
            return "backlogged"
        if self._verdict != "unhealthy" or self.failures_in_a_row < self.terms.unhealthy_failures:
            return "full"
        rested = self._clock() - self._last_failure >= self.terms.probe_after
        return "probe" if self.terms.probing and rested else "failing"

    def report(self, depth: int, lasting_depth: int) -> HealthReport:
        average = 1000 * self._seconds / self._total if self._total else 0.0
        return HealthReport(
            status=self._status(lasting_depth),
            last_check=datetime.now(UTC).isoformat(timespec="milliseconds"),
            consecutive_failures=self.failures_in_a_row,
            total_executions=self._total,
            failed_executions=self._failed,
            average_execution_time_ms=round(average, 3),
            queue_depth=depth,
            overdue=self.overdue,
        )

    def describe(self, depth: int) -> str:
        """Returns a text for the log: what the worker asks for now, and why."""
        match self.demand(depth):
            case "overloaded":
                late = (
                    f"the event loop wakes {self.lag:.1f} s late (overload_lag is {self._overload_lag:g} s)"
                )
                return f"asking for no more work: {late}"
            case "stuck":
                slots = "the slot is" if self._slots == 1 else f"all {self._slots} slots are"
                return (
                    f"asking for no more work: {slots} taken by threads that go on after their attempts timed out or "
                    "were ended; run functions that may hang in a process of their own: @task(process=True)"
                )
            case "backlogged":
                limit = f"the limit is {self._unhealthy_depth}"
                return f"asking for no more work: {depth} work items are not reported yet, and {limit}"
            case "failing":
                return f"asking for no more work: {self.failures_in_a_row} attempts in a row failed here"
            case "probe":
                return "asking for one work item, to see whether it fails again"
            case "full":
                return "asking for work again"

    def _status(self, depth: int) -> Health:
        if self.lag >= self._overload_lag or self._is_stuck or depth >= self._unhealthy_depth:
            return "unhealthy"
        if depth >= max(self.terms.degraded_depth, self._slots + 1):
            return "degraded"
        return "degraded" if self.failures_in_a_row >= self.terms.degraded_failures else "healthy"

    @property
    def _is_stuck(self) -> bool:
        return self.overdue >= self._slots

    @property
    def _unhealthy_depth(self) -> int:
        return max(self.terms.unhealthy_depth, 2 * self._slots)


def counts_against_worker(outcome: Outcome, assignment: Assignment) -> bool:
    """Returns whether the worker counts the failure as its own. The server counts by the same rule."""
    if outcome.status != "failed":
        return False
    failure = classify(outcome.facts or Facts())
    return is_fault_of_worker(failure, runtime=assignment.runtime, dependency=assignment.dependency)
