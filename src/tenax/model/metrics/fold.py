"""Counts the events of the log.

The rows of an item come in the order in which they were written. Rows of different items may come in any order, and
in parts. Between two parts only the failures that are being retried must be kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from tenax.model.metrics.counts import (
    MANUAL_RETRY,
    MOST_ATTEMPT,
    MOST_TEXT,
    AttemptKey,
    Counts,
    ItemKey,
    RetryUnderway,
    lateness_bucket,
)
from tenax.model.metrics.log_rows import CountedEvent, LogRow

OUTCOMES = {
    "action_completed": "succeeded",
    "action_error": "failed",
    "action_not_completed": "not_completed",
    "action_snoozed": "snoozed",
    "action_polled": "polled",
    "lease_expired": "lost",
    "queue_expired": "expired",
    "lease_released": "released",
    "compensation_completed": "succeeded",
    "compensation_error": "failed",
}
"""The outcome of an attempt by the event that ends it."""
OUTCOME_WORDS = tuple(dict.fromkeys(OUTCOMES.values()))
FAILED_OUTCOMES = ("failed", "not_completed", "lost", "expired")
_STARTS = frozenset({"action_started", "compensation_started"})
_RETRIES = frozenset({"step_retry", "compensation_retry", "retry_held"})
_MOVES = frozenset({"retry_rescheduled", "retry_released"})
_OVER = frozenset(
    {"item_cancelled", "compensation_cancelled", "step_failed_terminal", "item_failed", "compensation_failed"}
)
"""Events after which an item is not tried again, whatever ended it."""
_GIVEN_UP = frozenset({"step_failed_terminal", "item_failed", "compensation_failed"})
"""Events that say that the last failure of an item was not retried."""
_EXECUTIONS = frozenset(
    {"execution_started", "execution_completed", "execution_failed", "execution_cancelled"}
)
EVENT_KINDS = (*sorted(_EXECUTIONS), "first_attempt", "retry", "late_result")
_UNENDED = frozenset({"snoozed", "polled", "released"})
"""Outcomes that are neither a success nor a failure. A retry with such an outcome goes on."""


def items_of_retries(rows: Iterable[LogRow]) -> Iterator[ItemKey]:
    """Yields the items for which the counter must know whether a retry is under way."""
    for row in rows:
        for event in row.events:
            if event.step is None:
                continue
            later = event.attempt is not None and event.attempt > 1
            called_back = event.data is not None and event.data.via is not None
            if later or called_back or event.type in _MOVES or event.type in _OVER or _says_retry(event):
                yield _key(row.execution_id, event)


def _says_retry(event: CountedEvent) -> bool:
    data = event.data
    return data is not None and data.retry is not None and data.retry.is_retry


def _key(execution_id: int, event: CountedEvent) -> ItemKey:
    item = -1 if event.item is None else event.item
    compensates = event.type.startswith("compensation_") or bool(event.data and event.data.compensation)
    return ItemKey(execution_id, event.step or "", item, compensates)


class LogCounter:
    """Adds rows to counts. `underway` has the retries that earlier rows began. The counter changes it, too."""

    def __init__(
        self, underway: dict[ItemKey, RetryUnderway], workflows: Mapping[int, str], counts: Counts
    ) -> None:
        self.counts = counts
        self.underway = underway
        self._workflows = workflows

    def add(self, row: LogRow) -> None:
        minute = int(row.at) // 60 * 60
        workflow = self._workflows.get(row.execution_id, "")
        failed: dict[ItemKey, AttemptKey] = {}
        for event in row.events:
            kind = event.type
            if kind in OUTCOMES:
                self._ended(event, minute, workflow, _key(row.execution_id, event), failed)
            elif kind in _STARTS:
                self._started(event, row.at, minute, workflow, _key(row.execution_id, event))
            elif kind in _EXECUTIONS:
                named = (event.data and event.data.workflow) or workflow
                self.counts.events[minute, named, kind] += 1
            elif kind in _RETRIES:
                self._will_retry(event, _key(row.execution_id, event), failed)
            elif kind in _MOVES:
                self._moved(event, _key(row.execution_id, event))
            elif kind in _OVER:
                self._is_over(event, _key(row.execution_id, event), failed)
            elif kind == "late_result":
                self.counts.events[minute, workflow, kind] += 1

    def _started(self, event: CountedEvent, at: float, minute: int, workflow: str, item: ItemKey) -> None:
        data = event.data
        worker = (data.worker if data is not None else None) or ""
        counts = self.counts.workers[minute, worker] if worker else None
        if counts is not None:
            counts.started += 1
        if event.attempt == 1:
            self.counts.events[minute, workflow, "first_attempt"] += 1
        retry = self.underway.get(item)
        if retry is None:
            if not _says_retry(event):
                return
            # It had failed, and was cancelled before its retry. An operator has started it again.
            retry = self.underway[item] = RetryUnderway((event.attempt or 1) - 1, "", MANUAL_RETRY, due=at)
        if retry.due is not None:  # otherwise it starts again, after its lease was handed back
            late = max(at - retry.due, 0.0)
            lateness = self.counts.lateness[minute, lateness_bucket(late)]
            lateness.n += 1
            lateness.seconds += late
            self.counts.events[minute, workflow, "retry"] += 1
            self.counts.retries[retry.reason] += 1
            if counts is not None:
                counts.retries += 1
        retry.due, retry.worker = None, worker

    def _ended(
        self,
        event: CountedEvent,
        minute: int,
        workflow: str,
        item: ItemKey,
        failed: dict[ItemKey, AttemptKey],
    ) -> None:
        data = event.data
        outcome = _outcome(event)
        failure = data.failure if data is not None else None
        class_ = (failure.class_ if failure is not None else None) or ""
        reason = ((failure.reason if failure is not None else None) or "")[:MOST_TEXT]
        retry = self.underway.get(item)
        if retry is not None and (event.attempt or 1) <= retry.attempt:
            del self.underway[item]  # the callee of an attempt that had failed has called back after all
            retry = None
        after = (retry.class_ or "unknown", retry.reason or "unknown") if retry is not None else ("", "")
        attempt = min(event.attempt or 1, MOST_ATTEMPT)
        key = AttemptKey(minute, workflow, item.step, outcome, class_, reason, attempt, *after)
        count = self.counts.attempts[key]
        count.n += 1
        seconds = (data.seconds if data is not None else None) or 0.0
        count.seconds += seconds
        if outcome in _UNENDED:
            return
        if retry is not None:
            count.waited += retry.delay
            del self.underway[item]
        if outcome != "succeeded":
            failed[item] = key
            if data is not None and data.worker:
                self.counts.workers[minute, data.worker].failed += 1
        if retry is not None and retry.worker:
            ran = self.counts.workers[minute, retry.worker]
            ran.recovered += outcome == "succeeded"
            ran.seconds += seconds
            ran.waited += retry.delay

    def _will_retry(self, event: CountedEvent, item: ItemKey, failed: Mapping[ItemKey, AttemptKey]) -> None:
        before, ended = self.underway.get(item), failed.get(item)
        if ended is not None:
            known = ended.class_, ended.reason
            self.counts.attempts[ended].retried += 1
        elif before is None:
            return  # it only snoozed or was polled
        elif before.due is None and before.worker is not None:
            return  # the retry has started, and snoozed: it goes on and is not another one
        else:
            known = before.class_, before.reason
        data = event.data
        held = event.type == "retry_held" or bool(data and data.held)
        due = None if held or data is None else _time(data.available_at)
        delay = (data.delay_seconds if data is not None else None) or 0.0
        self.underway[item] = RetryUnderway(event.attempt or 1, *known, delay=delay, due=due)

    def _moved(self, event: CountedEvent, item: ItemKey) -> None:
        data = event.data
        if data is None or data.available_at is None:
            return
        due, retry = _time(data.available_at), self.underway.get(item)
        if retry is not None:
            if (
                due is not None and retry.due is not None
            ):  # it waits for a shorter or longer time than was decided
                retry.delay = max(0.0, retry.delay + due - retry.due)
            retry.due = due
        elif data.was == "failed" and event.attempt:
            self.underway[item] = RetryUnderway(event.attempt, "", MANUAL_RETRY, due=due)

    def _is_over(self, event: CountedEvent, item: ItemKey, failed: Mapping[ItemKey, AttemptKey]) -> None:
        self.underway.pop(item, None)
        ended = failed.get(item)
        if ended is not None and event.type in _GIVEN_UP:
            self.counts.attempts[ended].given_up += 1


def _outcome(event: CountedEvent) -> str:
    """Returns the outcome. The attempt of a compensation says in its data how it ended, if it did not fail."""
    how = event.data.how if event.data is not None else None
    return OUTCOMES[how if how in OUTCOMES else event.type]


def _time(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp()
