"""Retries that are alike: what they have in common as text, and one of them made of it (`policy.likeness`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from tenax.engine.patterns import Text, mark
from tenax.model.durations import format_duration
from tenax.model.events import timestamp
from tenax.policy.likeness import Delays
from tenax.store.finish import Retried
from tenax.store.json_text import encode
from tenax.store.rows import LeasedItem, Run, RunOutcome


class RetryPattern(NamedTuple):
    events: Text
    ledger: Text
    delays: Delays
    last_error: str
    outcome: RunOutcome

    @classmethod
    def of(
        cls,
        events: Sequence[dict[str, Any]],
        record: dict[str, Any],
        delays: Delays,
        last_error: str,
        outcome: RunOutcome,
    ) -> RetryPattern:
        """`events`: the end of an attempt and the wait for the next, as they were logged; `record`: the decision, with its marks."""
        ended, waits = events
        seen = {**ended["data"], "seconds": mark("seconds"), "worker": mark("worker")}
        then = {**waits["data"], "available_at": mark("available_at"), "decision": record}
        if delays.fixed is None:
            then["delay_seconds"] = mark("delay")
        common = [{**ended, "token": mark("token"), "data": seen}, {**waits, "data": then}]
        return cls(Text(common), Text(record["after"]), delays, last_error, outcome)

    def fill(
        self, item: LeasedItem, now: datetime, *, roll: float, previous: float | None
    ) -> tuple[Retried, Run]:
        """The retry of an item that failed in the same way, after this delay."""
        values = {
            "token": f'"{item.token}"',
            "seconds": repr(round((now - item.started_at).total_seconds(), 6)),
            "worker": encode(item.worker),
            "elapsed": repr(item.age(now)),
            "roll": repr(roll),
            "execution_id": str(item.execution_id),
            "previous_delay": repr(previous),
        }
        delay = self.delays.fixed
        if delay is None:
            parts = self.delays.plan(roll, previous)
            delay = parts.delay
            values |= {
                "delay": repr(delay),
                "next_delay": repr(parts.jittered),
                "in_words": format_duration(delay),
                "parts": encode(parts.as_dict()),
            }
        available_at, values["available_at"] = _due(now, delay)
        retried = Retried(
            item.id,
            item.token,
            item.execution_id,
            available_at,
            self.ledger.fill(values),
            self.last_error,
            self.events.fill(values),
        )
        return retried, Run(item.worker, item.id, item.started_at, self.outcome)


@lru_cache(maxsize=64)
def _due(now: datetime, delay: float) -> tuple[datetime, str]:
    """When it is due, and the same as JSON. All of a batch have one time, and where it is fixed one delay."""
    available_at = now + timedelta(seconds=delay)
    return available_at, f'"{timestamp(available_at)}"'
