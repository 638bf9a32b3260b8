"""How the worker finds itself: what it reports with its heartbeats, and how much work it may ask for."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

from tenax.model.attempt.blame import speaks_of_worker
from tenax.model.attempt.classify import classify
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.health import Health, HealthReport, HealthTerms
from tenax.model.wire import Assignment

Appetite = Literal["full", "probe", "overloaded", "stuck", "deep", "failing"]
"""What the worker asks for: as much as it has slots for, one item to see whether it works again, or nothing."""
REFUSALS: frozenset[Appetite] = frozenset({"overloaded", "stuck", "deep", "failing"})


class SelfCheck:
    """Counts how attempts end, over the whole life of the worker, and draws the conclusions.

    Failures alone never make it call itself unhealthy: only the server knows whether others could do the work.
    Where the server says so too, it stops asking.
    """

    def __init__(
        self, slots: int, overload_lag: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.terms = HealthTerms()
        self.lag = 0.0
        """How late the event loop last woke, in seconds."""
        self.overdue = 0
        """Threads that outlived their attempt, and still take up its slot."""
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
        """An attempt ended by itself. One that was handed back or revoked says nothing of the worker."""
        self._total += 1
        self._seconds += seconds
        self._failed += outcome.status == "failed"
        if counts_against_worker(outcome, assignment):
            self.failures_in_a_row += 1
            self._last_failure = self._clock()
        else:
            self.failures_in_a_row = 0

    def hear(self, verdict: Health) -> None:
        """The server's verdict. Where it was worse before, the failures are forgiven: someone resumed the worker."""
        if verdict == "healthy" and self._verdict != "healthy":
            self.failures_in_a_row = 0
        self._verdict = verdict

    def appetite(self, depth: int) -> Appetite:
        if self.lag >= self._overload_lag:
            return "overloaded"
        if self._is_stuck:
            return "stuck"
        if depth >= self._unhealthy_depth:
            return "deep"
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

    def in_words(self, depth: int) -> str:
        """What it asks for now, and why, for the log."""
        match self.appetite(depth):
            case "overloaded":
                late = (
                    f"the event loop wakes {self.lag:.1f} s late (overload_lag is {self._overload_lag:g} s)"
                )
                return f"asking for no more work: {late}"
            case "stuck":
                slots = "the slot is" if self._slots == 1 else f"all {self._slots} slots are"
                return (
                    f"asking for no more work: {slots} taken by threads that go on after their attempts have timed "
                    "out or were ended; what may hang belongs in a process of its own: @task(process=True)"
                )
            case "deep":
                most = f"from {self._unhealthy_depth} on it asks for no more"
                return f"asking for no more work: {depth} work items are not reported yet, and {most}"
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
    """Tells whether the worker counts the failure as its own. The server counts by the same rule."""
    if outcome.status != "failed":
        return False
    failure = classify(outcome.facts or Facts())
    return speaks_of_worker(failure, runtime=assignment.runtime, dependency=assignment.dependency)
