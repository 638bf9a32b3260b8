"""Writes what was counted of the log, by minute and in all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tenax.model.json_text import encode
from tenax.model.metrics.counts import Counts, ItemKey, RetryUnderway
from tenax.store.array_params import columns
from tenax.store.connect import Connection
from tenax.store.statements import sql

Totals = Mapping[tuple[str, tuple[str, ...]], float]
"""Numbers to add to the totals, by metric and labels."""


async def name_workflows(tx: Connection, executions: Iterable[int]) -> dict[int, str]:
    return {row["id"]: row["name"] for row in await tx.fetch(sql("name_workflows"), list(executions))}


async def load_retries_underway(tx: Connection, items: Iterable[ItemKey]) -> dict[ItemKey, RetryUnderway]:
    keys = list(items)
    if not keys:
        return {}
    rows = await tx.fetch(sql("load_retries_underway"), *columns(*_item_columns(keys)))
    return {
        ItemKey(row["execution_id"], row["step"], row["item_no"], row["compensates"]): RetryUnderway(
            row["attempt"], row["class"], row["reason"], row["delay"], None if row["due"] is None else float(row["due"]), row["worker"]
        )
        for row in rows
    }  # fmt: skip


async def write_retries_underway(
    tx: Connection, before: Mapping[ItemKey, RetryUnderway], after: Mapping[ItemKey, RetryUnderway]
) -> None:
    """Writes the changes of the retries under way."""
    gone = [key for key in before if key not in after]
    changed = [(key, retry) for key, retry in after.items() if before.get(key) != retry]
    if gone:
        await tx.execute(sql("drop_retries_underway"), *columns(*_item_columns(gone)))
    if changed:
        retries = [retry for _, retry in changed]
        await tx.execute(
            sql("save_retries_underway"),
            *columns(
                *_item_columns([key for key, _ in changed]),
                [one.attempt for one in retries],
                [one.class_ for one in retries],
                [one.reason for one in retries],
                [one.delay for one in retries],
                [one.due for one in retries],
                [one.worker for one in retries],
            ),
        )


def _item_columns(keys: Sequence[ItemKey]) -> list[list[object]]:
    return [list(column) for column in zip(*keys, strict=True)]


async def add_counts(tx: Connection, counts: Counts) -> None:
    """Adds counts to those of their minutes."""
    if counts.attempts:
        sums = counts.attempts.values()
        keys = zip(*counts.attempts, strict=True)
        rows = [*map(list, keys), [s.n for s in sums], [s.seconds for s in sums], [s.waited for s in sums],
                [s.retried for s in sums], [s.given_up for s in sums]]  # fmt: skip
        await tx.execute(sql("add_attempts"), *columns(*rows))
    if counts.workers:
        workers = counts.workers.values()
        await tx.execute(
            sql("add_workers"),
            *columns(
                *map(list, zip(*counts.workers, strict=True)),
                [one.started for one in workers],
                [one.retries for one in workers],
                [one.failed for one in workers],
                [one.recovered for one in workers],
                [one.seconds for one in workers],
                [one.waited for one in workers],
            ),
        )
    if counts.events:
        keys = zip(*counts.events, strict=True)
        await tx.execute(sql("add_events"), *columns(*map(list, keys), list(counts.events.values())))
    if counts.lateness:
        late = counts.lateness.values()
        keys = zip(*counts.lateness, strict=True)
        rows = [*map(list, keys), [one.n for one in late], [one.seconds for one in late]]
        await tx.execute(sql("add_lateness"), *columns(*rows))


async def add_totals(tx: Connection, totals: Totals) -> None:
    if totals:
        metrics, labels = zip(*totals, strict=True)
        texts = [encode(list(one)) for one in labels]
        await tx.execute(sql("add_totals"), *columns(list(metrics), texts, list(totals.values())))


async def list_labels(tx: Connection) -> set[tuple[str, str]]:
    return {(row["label"], row["value"]) for row in await tx.fetch(sql("list_labels"))}


async def add_labels(tx: Connection, labels: Sequence[tuple[str, str]]) -> None:
    names, values = zip(*labels, strict=True)
    await tx.execute(sql("add_labels"), list(names), list(values))


async def prune_minutes(tx: Connection, seconds: float, most: int) -> int:
    """Deletes minutes that are older. Returns how many rows were deleted, at most `most` of each table."""
    deleted: int = await tx.fetchval(sql("prune_minutes"), seconds, most)
    return deleted
