"""Builds the scope of templates: the inputs, the ended steps, and the item."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tenax.model.changes import StepRow
from tenax.model.json_text import decode
from tenax.policy.expressions.values import LeftOut
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow
from tenax.store.tables.live_items import load_inputs
from tenax.store.tables.steps import StepKey, load_step_results
from tenax.store.time_slices import TimeSlice


async def scope_for(
    tx: Connection, journal: Journal, row: ExecutionRow, reads: Sequence[str]
) -> dict[str, Any]:
    """Builds the scope of the values that are computed once for a step: its `when`, its list, its value."""
    keys = [(row.id, name) for name in reads]
    results = (await load_results(tx, journal, keys)).get(row.id, {}) if keys else {}
    await load_missing_inputs(tx, [row])
    return scope_of(row, results.values())


async def load_missing_inputs(tx: Connection, rows: Iterable[ExecutionRow]) -> None:
    """Loads the inputs of the executions that lack them."""
    unknown = [row for row in rows if row.input is None]
    found = await load_inputs(tx, [row.id for row in unknown]) if unknown else {}
    time_slice = TimeSlice()
    for row in unknown:
        if time_slice.is_over:
            await time_slice.give_way()
        row.input = decode(found.get(row.id)) or {}


async def load_results(
    tx: Connection, journal: Journal, keys: Sequence[StepKey]
) -> dict[int, dict[str, StepRow]]:
    """Loads stored results, and adds those of this transaction."""
    found: dict[int, dict[str, StepRow]] = {}
    known = journal.read_results
    unread = [key for key in keys if key not in journal.steps and key not in known]
    if unread:
        known |= {
            key: row
            for key, row in (await load_step_results(tx, unread, journal.max_result_bytes)).items()
            if row.state != "pending"
        }
    for key in keys:
        row = journal.steps.get(key) or known.get(key)
        if row is not None:
            found.setdefault(key[0], {})[key[1]] = row
    return found


def scope_of(row: ExecutionRow, steps: Iterable[StepRow]) -> dict[str, Any]:
    return {
        "input": row.input or {},
        "execution_id": row.id,
        "steps": {s.step: step_scope(s) for s in steps},
    }


def step_scope(step: StepRow) -> dict[str, Any]:
    """Returns the fields of an ended step that templates see."""
    seen = {
        "status": step.state,
        "result": step.result,
        "failure": step.failure,
        "failures": step.failures or [],
        "attempts": step.attempts,
    }
    if step.left_out is not None:
        seen |= {name: LeftOut(name, result_too_large(step, name)) for name in step.left_out}
    return seen


def result_too_large(step: StepRow, name: str = "result") -> str:
    """Returns the message that a result or a list of failures is too large for a template."""
    size = (step.left_out or {})[name]
    return (
        f"`steps.{step.step}.{name}` has {size:,} bytes, which is more than a template may read (`max_rendered`); "
        "let the items of a fan-out return references to large data"
    )
