"""Reads what `tenax verify` checks: events and rows, execution by execution, a few at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from tenax.model.json_text import decode
from tenax.policy.laws.facts import (
    BudgetFacts,
    ExecutionFacts,
    FanOutFacts,
    ItemFacts,
    ItemResultFacts,
    LetterFacts,
    LoggedEvent,
    StepFacts,
)
from tenax.store.connect import Connection
from tenax.store.statements import sql

Key = Any
Row = Mapping[str, Any]
T = TypeVar("T")

ROWS_AT_ONCE = 200
"""Rows that a cursor fetches together, if they are small."""
LARGE = 8_000_000
"""Bytes of events that are in memory together. A single row may have as many as the largest request."""
ALL_IDS = 2**63 - 1  # larger than any id
_JSON = frozenset({"input", "result", "failure", "ledger", "previous", "vary"})


class Stream(Generic[T]):
    """A stream of rows in the order of a key, taken key by key."""

    def __init__(self, rows: AsyncIterator[Row], key: Callable[[Row], Key], read: Callable[[Row], T]) -> None:
        self._rows = rows
        self._key = key
        self._read = read
        self._head: Row | None = None
        self._begun = False

    async def next_key(self) -> Key | None:
        """Returns the key of the next row, or None if there is none."""
        if not self._begun:
            self._begun = True
            self._head = await anext(self._rows, None)
        return None if self._head is None else self._key(self._head)

    async def take(self, key: Key) -> AsyncIterator[T]:
        """Yields the rows of this key. Rows of smaller keys are skipped."""
        while (found := await self.next_key()) is not None and found <= key:
            head = self._head
            self._head = await anext(self._rows, None)
            if found == key and head is not None:
                yield self._read(head)

    async def take_all(self, key: Key) -> list[T]:
        return [row async for row in self.take(key)]


class HistoryPage(NamedTuple):
    """Names executions that are checked together: as many as fit into memory, but at least one."""

    ids: list[int]
    is_last: bool
    rows_at_once: int
    """Rows that a cursor fetches together."""


async def find_page(
    tx: Connection, after: int, since: datetime | None, only: int | None, limit: int
) -> HistoryPage:
    """Finds the next executions: all of them, those that were open at some time after `since`, or only one."""
    found = await tx.fetch(sql("find_verify_page"), after, since, only, limit)
    ids: list[int] = []
    size = largest = 0
    for row in found:
        size += row["size"]
        if ids and size > LARGE:
            break
        ids.append(row["id"])
        largest = max(largest, row["largest"])
    is_last = len(ids) == len(found) < limit
    return HistoryPage(ids, is_last, max(1, min(ROWS_AT_ONCE, LARGE // max(largest, 1))))


async def load_executions(tx: Connection, ids: list[int]) -> list[ExecutionFacts]:
    return [_read(ExecutionFacts, row) for row in await tx.fetch(sql("verify_executions"), ids)]


async def load_budgets(tx: Connection, executions: list[int]) -> dict[int, BudgetFacts]:
    rows = await tx.fetch(sql("verify_budgets"), executions)
    return {row["execution_id"]: _read(BudgetFacts, row) for row in rows}


def stream_log(tx: Connection, page: HistoryPage) -> Stream[Iterator[LoggedEvent]]:
    """Streams the events of these executions, in the order of the log."""
    return Stream(_cursor(tx, page, sql("verify_log"), page.ids), _execution, _events_of)


def stream_steps(tx: Connection, page: HistoryPage) -> Stream[StepFacts]:
    return Stream(
        _cursor(tx, page, sql("verify_steps"), page.ids), _execution, lambda row: _read(StepFacts, row)
    )


def stream_items(tx: Connection, page: HistoryPage) -> Stream[ItemFacts]:
    """Streams the work items of steps without `for_each`."""
    rows = _cursor(tx, page, sql("verify_items"), page.ids, False)
    return Stream(rows, _execution, lambda row: _read(ItemFacts, row))


def stream_fan_outs(tx: Connection, page: HistoryPage) -> Stream[FanOutFacts]:
    return Stream(
        _cursor(tx, page, sql("verify_fan_outs"), page.ids), _execution, lambda row: _read(FanOutFacts, row)
    )


def stream_fan_out_events(tx: Connection, page: HistoryPage, execution_id: int) -> Stream[LoggedEvent]:
    """Streams the events of single items of fan-outs, item by item."""
    rows = _cursor(tx, page, sql("verify_item_events"), execution_id)
    return Stream(rows, _item, lambda row: _event(row["id"], row, decode(row["event"])))


def stream_fan_out_items(tx: Connection, page: HistoryPage, execution_id: int) -> Stream[ItemFacts]:
    rows = _cursor(tx, page, sql("verify_items"), [execution_id], True)
    return Stream(rows, _item, lambda row: _read(ItemFacts, row))


def stream_item_results(tx: Connection, page: HistoryPage, execution_id: int) -> Stream[ItemResultFacts]:
    rows = _cursor(tx, page, sql("verify_item_results"), execution_id)
    return Stream(rows, _item, lambda row: _read(ItemResultFacts, row))


def stream_letters(tx: Connection, page: HistoryPage) -> Stream[LetterFacts]:
    """Streams the dead letters of steps without `for_each`."""
    rows = _cursor(tx, page, sql("verify_letters"), page.ids, False)
    return Stream(rows, _execution, lambda row: _read(LetterFacts, row))


def stream_fan_out_letters(tx: Connection, page: HistoryPage, execution_id: int) -> Stream[LetterFacts]:
    rows = _cursor(tx, page, sql("verify_letters"), [execution_id], True)
    return Stream(rows, _item, lambda row: _read(LetterFacts, row))


async def find_orphans(tx: Connection, after: int, last: int) -> list[tuple[str, int]]:
    """Returns the tables and ids of executions that do not exist but have events or rows."""
    return [(row["name"], row["execution_id"]) for row in await tx.fetch(sql("verify_orphans"), after, last)]


async def _cursor(tx: Connection, page: HistoryPage, statement: str, *arguments: Any) -> AsyncIterator[Row]:
    async for row in tx.cursor(statement, *arguments, prefetch=page.rows_at_once):
        yield row


def _execution(row: Row) -> Key:
    return row["execution_id"]


def _item(row: Row) -> Key:
    return (row["step"], row["item"])


def _events_of(row: Row) -> Iterator[LoggedEvent]:
    for place, body in enumerate(decode(row["events"])):
        yield _event(row["id"] + place, row, body)


def _event(event_id: int, row: Row, body: Mapping[str, Any]) -> LoggedEvent:
    return LoggedEvent(
        id=event_id,
        type=body["type"],
        at=row["at"],
        step=body.get("step"),
        item=body.get("item"),
        attempt=body.get("attempt"),
        token=body.get("token"),
        data=body.get("data") or {},
        transaction=row["xid"],
    )


def _read(facts: type[T], row: Row) -> T:
    names = [field.name for field in fields(facts)]  # type: ignore[arg-type]  # they are dataclasses
    return facts(**{name: decode(row[name]) if name in _JSON else row[name] for name in names})
