"""Takes the results that tasks have committed together with their own writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tenax.model.json_text import decode
from tenax.policy.laws.facts import LeftResult
from tenax.store.connect import Connection
from tenax.store.statements import sql


class StrayResult(NamedTuple):
    """Is the result of an attempt that has no lease any more."""

    token: str
    item_id: int
    execution_id: int
    step: str
    item_no: int | None
    attempt: int


async def take_results(tx: Connection, tokens: Sequence[str]) -> dict[str, Any]:
    """Takes the recorded results of attempts, by the tokens of their leases. They are gone once the transaction commits."""
    rows = await tx.fetch(sql("take_attempt_results"), tokens)
    return {token: decode(result) for token, result in rows}


async def find_recorded_items(tx: Connection, executions: Sequence[int]) -> list[tuple[int, int]]:
    """Finds the leased items of executions whose attempts have recorded a result, and their executions."""
    return [(row[0], row[1]) for row in await tx.fetch(sql("find_recorded_items"), executions)]


async def find_stray_results(tx: Connection, limit: int) -> list[StrayResult]:
    return [StrayResult(*row) for row in await tx.fetch(sql("find_stray_results"), limit)]


async def find_left_results(tx: Connection, after: int, last: int, grace: float) -> list[LeftResult]:
    """Finds results of executions in this range that should be gone, those without a lease after `grace` seconds."""
    return [LeftResult(*row) for row in await tx.fetch(sql("find_left_results"), after, last, grace)]
