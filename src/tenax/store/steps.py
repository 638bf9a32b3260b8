"""How the steps of a graph stand."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from tenax.model.changes import StepRow
from tenax.model.json_text import decode
from tenax.store.connect import Connection
from tenax.store.statements import sql

StepKey = tuple[int, str]


async def load_steps(tx: Connection, keys: Sequence[StepKey]) -> dict[StepKey, StepRow]:
    """States and counters, without results."""
    rows = await tx.fetch(sql("load_steps"), [key[0] for key in keys], [key[1] for key in keys])
    return {(row["execution_id"], row["step"]): StepRow(*row) for row in rows}


async def load_step_results(tx: Connection, keys: Sequence[StepKey]) -> dict[StepKey, StepRow]:
    return {key: row for key, (row, _) in (await _load(tx, keys)).items()}


async def _load(tx: Connection, keys: Sequence[StepKey]) -> dict[StepKey, tuple[StepRow, int]]:
    """With the length of each result's text."""
    rows = await tx.fetch(sql("load_step_results"), [key[0] for key in keys], [key[1] for key in keys])
    return {
        (row["execution_id"], row["step"]): (_ended(row["execution_id"], *row[1:]), len(row["result"] or ""))
        for row in rows
    }


class ResultCache:
    """The few large results that were read last: a fan-out may read the same one with each of its items."""

    LARGE = 100_000
    MOST = 4

    def __init__(self) -> None:
        self._kept: OrderedDict[StepKey, StepRow] = OrderedDict()

    async def load(self, tx: Connection, keys: Mapping[StepKey, bool]) -> dict[StepKey, StepRow]:
        """True with a key: its step has ended for good, and what is read now will be the same later."""
        found = {key: self._kept[key] for key in keys if key in self._kept}
        missing = sorted(key for key in keys if key not in found)
        for key, (row, size) in (await _load(tx, missing) if missing else {}).items():
            found[key] = row
            if keys[key] and size >= self.LARGE and row.state in ("completed", "failed"):
                self._kept[key] = row
                if len(self._kept) > self.MOST:
                    self._kept.popitem(last=False)
        return found


async def count_attempts(tx: Connection, execution_id: int, step: str, item: int | None) -> int | None:
    """Returns the number of the last attempt of a step, or of an item of its fan-out, that has ended. Returns None if no row says so."""
    number: int | None = await tx.fetchval(sql("count_attempts"), execution_id, step, item)
    return number


async def ended_steps(tx: Connection, execution_id: int) -> list[StepRow]:
    return [_ended(execution_id, *row) for row in await tx.fetch(sql("get_step_results"), execution_id)]


def _ended(
    execution_id: int,
    step: str,
    state: str,
    attempts: int,
    result: str | None,
    failure: str | None,
    failures: str | None,
) -> StepRow:
    return StepRow(execution_id, step, state, 0, attempts, decode(result), decode(failure), decode(failures))
