"""Reads and discards dead letters. The journal writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tenax.model.events import timestamp
from tenax.model.filters.letters import LetterFilter
from tenax.model.json_text import decode
from tenax.model.letters.letter import LetterPlace
from tenax.model.letters.views import DeadLetter
from tenax.store.connect import Connection
from tenax.store.selection.conditions import anchor, letter_conditions, limited_in_time, with_conditions
from tenax.store.statements import sql

_TIMES = ("first_at", "last_at", "changed_at")


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """The dead letters of one fingerprint, summed."""

    fingerprint: str
    failure_class: str
    reason: str
    count: int
    failed_times: int
    first_at: datetime
    last_at: datetime
    first_execution: int
    last_execution: int
    workflows: list[str]
    steps: list[str]
    newest: int
    example: str


@dataclass(frozen=True, slots=True)
class StoredLetter:
    """A dead letter, with what its item and its execution are now."""

    letter: DeadLetter
    execution_status: str
    item_state: str | None
    """The state of the live item. None if the item has ended."""
    element: Any

    @property
    def place(self) -> LetterPlace:
        one = self.letter
        return LetterPlace(one.execution_id, one.step, one.item, one.compensation)


async def list_letters(
    tx: Connection, wanted: LetterFilter, *, before: int | None, limit: int
) -> list[DeadLetter]:
    """Lists dead letters, the newest failure first. `before` is the last letter of the previous page."""
    rows = await _select(tx, sql("list_letters"), wanted, before, limit)
    return [_letter(row) for row in rows]


async def group_letters(tx: Connection, wanted: LetterFilter, limit: int) -> list[StoredGroup]:
    """Sums dead letters by their fingerprint, the largest group first."""
    rows = await _select(tx, sql("group_letters"), wanted, limit)
    names = {"class": "failure_class"}
    return [StoredGroup(**{names.get(name, name): value for name, value in row.items()}) for row in rows]


async def count_ended_attempts(
    tx: Connection, groups: Sequence[StoredGroup], most: int, ends: Sequence[str]
) -> list[tuple[datetime, int]] | None:
    """Counts the attempts that ended in the time of these groups, by minute. Returns None if that may be more than
    `most` rows of the log."""
    first, last = min(groups, key=lambda one: one.first_at), max(groups, key=lambda one: one.last_at)
    since = first.first_at.replace(second=0, microsecond=0)
    rows = await tx.fetch(
        sql("count_ended_attempts"), since, _minute_after(last.last_at), min(one.first_execution for one in groups),
        max(one.last_execution for one in groups), most, ends,
    )  # fmt: skip
    if any(row["minute"] is None for row in rows):
        return None
    return [(row["minute"], row["count"]) for row in rows]


async def count_by_time(
    tx: Connection, statuses: Sequence[str], fingerprints: Sequence[str], since: datetime, width: float
) -> list[tuple[str, int, int]]:
    """Counts the letters of fingerprints by the time of their last failure: returns the fingerprint, the number of the
    span since a time, and the number of letters."""
    rows = await tx.fetch(sql("count_letters_by_time"), list(statuses), list(fingerprints), since, width)
    return [(row["fingerprint"], row["span"], row["n"]) for row in rows]


async def get_letters(tx: Connection, ids: Sequence[int]) -> dict[int, StoredLetter]:
    found = {}
    for row in await tx.fetch(sql("get_letters"), ids):
        element = row["element"] if row["element"] is not None else row["kept_element"]
        found[row["id"]] = StoredLetter(
            _letter(row), row["execution_status"], row["item_state"], decode(element)
        )
    return found


async def find_open_letters(tx: Connection, wanted: LetterFilter, limit: int) -> list[tuple[int, int]]:
    """Finds dead letters, the oldest first, with their executions."""
    rows = await _select(tx, sql("find_open_letters"), wanted, limit)
    return [(row["item_id"], row["execution_id"]) for row in rows]


async def discard_letters(
    tx: Connection, ids: Sequence[int], note: str, actor: str, now: datetime
) -> list[tuple[int, LetterPlace]]:
    """Discards the letters that are still open. Their executions must be locked."""
    rows = await tx.fetch(sql("discard_letters"), ids, note, actor, now)
    return [
        (row["item_id"], LetterPlace(row["execution_id"], row["step"], row["item_no"], row["compensates"]))
        for row in rows
    ]


async def _select(tx: Connection, text: str, wanted: LetterFilter, *more: Any) -> list[Any]:
    """Runs a statement over the letters that a filter selects. The statuses are its first argument."""
    chosen = await anchor(tx, wanted.conditions)
    statement, arguments = with_conditions(
        text, chosen, list(wanted.all_statuses), *more, conditions=letter_conditions()
    )
    async with limited_in_time(tx):
        rows: list[Any] = await tx.fetch(statement, *arguments)
    return rows


def _letter(row: Any) -> DeadLetter:
    return DeadLetter(
        **{
            name: timestamp(row[name]) if name in _TIMES else row[name]
            for name in DeadLetter.__struct_fields__
        }
    )


def _minute_after(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0) + timedelta(minutes=1)
