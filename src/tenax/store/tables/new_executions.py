"""Inserts new executions with their first items, steps and events: one statement for a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tenax.model.json_text import encode
from tenax.store.array_params import column
from tenax.store.connect import Connection
from tenax.store.dispatch.claims import LeaseTerms
from tenax.store.journal import (
    NO_TIME,
    Journal,
    encoded,
    step_parameters,
)
from tenax.store.rows import LeasedItem, NewExecution, NewItem
from tenax.store.statements import named
from tenax.store.time_slices import TimeSlice


class InsertedExecution(NamedTuple):
    """A new execution that was inserted."""

    id: int
    input: str | None
    """The inputs as the database has them, if they are small."""
    leased: LeasedItem | None
    """Its first item, if that was leased at once."""


def _inserted(row: Any, item: NewItem | None) -> InsertedExecution:
    if item is None or item.lease is None:
        return InsertedExecution(row["id"], row["input"], None)
    leased = LeasedItem(
        slot=1,
        id=row["item_id"],
        execution_id=row["id"],
        plan_id=item.plan_id,
        step=item.step,
        attempt=1,
        max_attempts=item.max_attempts,
        timeout=row["timeout"],
        base_dir=item.base_dir,
        item_no=None,
        started_at=row["started_at"],
        compensates=False,
        fresh=True,
        is_retry=False,
        element=None,
        previous=None,
        vary=row["vary"],
        lane=0,
        ledger=None,
        policy=None,
        created=row["created"],
        worker=item.lease.worker,
        grant=item.lease.grant,
        lease_token=item.lease.token,
    )
    return InsertedExecution(row["id"], row["input"], leased)


async def insert_executions(
    tx: Connection,
    journal: Journal,
    executions: Sequence[NewExecution],
    inputs: Sequence[str | None],
    terms: LeaseTerms,
) -> dict[int, InsertedExecution]:
    """Writes new executions with everything that belongs to them. `inputs` has their inputs as JSON. Returns the
    inserted ones by number: the key of another one may be taken."""
    text, arguments = named("insert_executions").fill(await _values(journal, executions, inputs, terms))
    rows = await tx.fetch(text, *arguments)
    leases = {item.execution_id: item for item in journal.new_items if item.lease is not None}
    there = {row["number"]: _inserted(row, leases.get(row["number"])) for row in rows}
    journal.new_fan_outs = [e for e in journal.new_fan_outs if e.item.execution_id in there]
    ended = [e.number for e in executions if e.parent is not None and e.number in journal.executions]
    await journal.write_the_rest(tx, ended)
    return there


async def _values(
    journal: Journal, executions: Sequence[NewExecution], inputs: Sequence[str | None], terms: LeaseTerms
) -> dict[str, Any]:
    """Returns the parameters of `insert_executions`. For a large graph this takes several time slices."""
    time_slice = TimeSlice()
    log_execution, log_events = await journal.rows(time_slice)
    items = encode(journal.new_items) if journal.new_items else None
    if time_slice.is_over:
        await time_slice.give_way()
    steps = list(journal.steps.values())
    step_values = step_parameters(steps)
    if time_slice.is_over:
        await time_slice.give_way()
    ends = [journal.executions.get(e.number) or (None, None, None) for e in executions]
    return {
        "now": None if journal.now is NO_TIME else journal.now,
        "lease_seconds": terms.lease,
        "lease_grace": terms.grace,
        "executions": encode(executions),
        "keys": any(e.submit_key is not None for e in executions),
        "execution_input": column(inputs),
        "execution_result": column([encoded(result) for _, result, _ in ends]),
        "execution_failure": column([encoded(failure) for _, _, failure in ends]),
        "items": items,
        "leases": any(item.lease is not None for item in journal.new_items),
        **step_values,
        "step_failures": column([encoded(row.failures) for row in steps]),
        "log_execution": column(log_execution),
        "log_events": column(log_events),
    }
