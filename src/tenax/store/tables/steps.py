"""Reads the states and results of the steps of a graph."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from tenax.model.changes import StepRow
from tenax.model.json_text import decode
from tenax.store.connect import Connection
from tenax.store.large_values import decode_in_slices
from tenax.store.statements import sql
from tenax.store.time_slices import Sliced, TimeSlice

StepKey = tuple[int, str]
READ_TOGETHER = 16
"""Steps whose results are read together if their total size is limited."""


async def load_steps(tx: Connection, keys: Sequence[StepKey]) -> dict[StepKey, StepRow]:
    """Loads states and counters, without results."""
    rows = await tx.fetch(sql("load_steps"), [key[0] for key in keys], [key[1] for key in keys])
    return {(row["execution_id"], row["step"]): StepRow(*row) for row in rows}


async def load_step_results(tx: Connection, keys: Sequence[StepKey], most: int) -> dict[StepKey, StepRow]:
    """Returns the steps with their results. A result of more than `most` bytes is left out, and the row says so."""
    return {key: row for key, (row, _) in (await _load(tx, keys, most)).items()}


async def _load(tx: Connection, keys: Sequence[StepKey], most: int) -> dict[StepKey, tuple[StepRow, int]]:
    """Loads the steps, each with the length of the texts of its result and its failures."""
    arguments = [key[0] for key in keys], [key[1] for key in keys], most
    found: dict[StepKey, tuple[StepRow, int]] = {}
    rows = await tx.fetch(sql("load_step_results"), *arguments)
    time_slice = TimeSlice()
    for row in rows:
        if time_slice.is_over:
            await time_slice.give_way()
        size = sum(row[f"{name}_size"] or len(row[name] or "") for name in ("result", "failures"))
        found[row["execution_id"], row["step"]] = await _ended(*row), size
    return found


async def load_within(tx: Connection, keys: Sequence[StepKey], most: int) -> dict[StepKey, StepRow]:
    """Returns the steps with their results and failures, up to `most` bytes together. Others are left out, and their
    rows say so."""
    found: dict[StepKey, StepRow] = {}
    for start in range(0, len(keys), READ_TOGETHER):
        for key, (row, size) in (await _load(tx, keys[start : start + READ_TOGETHER], most)).items():
            if size > most:
                _leave_out(row, size)
            else:
                most -= size
            found[key] = row
    return found


def _leave_out(row: StepRow, size: int) -> None:
    known = row.left_out or {}
    values = [name for name in ("result", "failures") if getattr(row, name) is not None and name not in known]
    row.left_out = {**dict.fromkeys(values, size), **known}
    for name in values:
        setattr(row, name, None)


class ResultCache:
    """Keeps the few large results that were read last: a fan-out may read the same one for each of its items."""

    LARGE = 100_000
    MOST = 4

    def __init__(self) -> None:
        self._kept: OrderedDict[StepKey, StepRow] = OrderedDict()

    async def load(self, tx: Connection, keys: Mapping[StepKey, bool], most: int) -> dict[StepKey, StepRow]:
        """Loads results. True with a key means that its step has ended for good, so that its result can be cached.
        `most` is explained in `load_step_results`."""
        found = {key: self._kept[key] for key in keys if key in self._kept}
        missing = sorted(key for key in keys if key not in found)
        for key, (row, size) in (await _load(tx, missing, most) if missing else {}).items():
            found[key] = row
            is_whole = row.left_out is None  # another caller may read more of the row
            if keys[key] and size >= self.LARGE and is_whole and row.state in ("completed", "failed"):
                self._kept[key] = row
                if len(self._kept) > self.MOST:
                    self._kept.popitem(last=False)
        return found


async def count_attempts(tx: Connection, execution_id: int, step: str, item: int | None) -> int | None:
    """Returns the number of the last ended attempt of a step, or of an item of its fan-out. Returns None if no row has
    it."""
    number: int | None = await tx.fetchval(sql("count_attempts"), execution_id, step, item)
    return number


async def ended_steps(tx: Connection, execution_id: int, most: int) -> list[StepRow]:
    """Returns the ended steps of an execution. `most` is explained in `load_step_results`."""
    rows = await tx.fetch(sql("get_step_results"), execution_id, most)
    return [await _ended(execution_id, *row) async for row in Sliced(rows)]


async def _ended(
    execution_id: int,
    step: str,
    state: str,
    attempts: int,
    result: str | None,
    failure: str | None,
    failures: str | None,
    result_size: int | None,
    failures_size: int | None,
) -> StepRow:
    values = await decode_in_slices(result), decode(failure), await decode_in_slices(failures)
    row = StepRow(execution_id, step, state, 0, attempts, *values)
    if result_size is not None or failures_size is not None:
        sizes = {"result": result_size, "failures": failures_size}
        row.left_out = {name: size for name, size in sizes.items() if size is not None}
    return row
