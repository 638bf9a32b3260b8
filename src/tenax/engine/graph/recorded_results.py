"""Turns the results that attempts have recorded in transactions of their own into successes."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.engine.isolate_failures import Found
from tenax.errors import Busy
from tenax.model.attempt.outcome import Outcome
from tenax.policy.outcome_events import EndedAttempt
from tenax.store.applications.attempt_results import find_recorded_items, take_results
from tenax.store.connect import Connection


class ResultsRecorded(Busy):
    """Attempts that are to be ended have committed their results. They must be settled first (`settle_recorded`)."""

    def __init__(self, found: Sequence[Found]) -> None:
        super().__init__("attempts have committed their results meanwhile")
        self.found = found


async def refuse_recorded(tx: Connection, executions: Sequence[int]) -> None:
    """Raises ResultsRecorded if an attempt of these executions has committed its result. Their items must be locked."""
    found = await find_recorded_items(tx, executions)
    if found:
        raise ResultsRecorded(found)


async def with_recorded_results(tx: Connection, ended: Sequence[EndedAttempt]) -> list[EndedAttempt]:
    """Replaces the ends of leased attempts that the server gives up by the successes that they have committed. The items must
    be locked, so that no such transaction is still open."""
    tokens = [one.item.lease_token for one in ended if one.item.lease_token is not None]
    recorded = await take_results(tx, tokens) if tokens else {}
    if not recorded:
        return list(ended)
    return [
        EndedAttempt(one.item, Outcome("succeeded", recorded[token], usage=one.outcome.usage))
        if (token := one.item.lease_token) is not None and token in recorded
        else one
        for one in ended
    ]
