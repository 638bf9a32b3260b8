"""Counts the log by minute. The leader does it beside the hot path, and no report waits for it.

The counts and the cursor are written in one transaction, so that each row is counted once, whatever is killed. While
the server has much to do, counting takes a small share of the time and falls behind; the share grows with the lag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import NamedTuple

import structlog

from tenax.engine.caches.weighted_cache import WeightedCache
from tenax.engine.context import EngineContext
from tenax.engine.metrics.labels import Labels
from tenax.engine.metrics.totals import totals_of
from tenax.engine.slices import TimeSlice
from tenax.model.metrics.counts import Counts, RetryUnderway
from tenax.model.metrics.fold import LogCounter, items_of_retries
from tenax.model.metrics.log_rows import LogRow, read_chunk
from tenax.store.connect import Connection
from tenax.store.metrics import log_cursor, roll_up

FIRST_STEP = 16
"""Transactions that the first part of a round reads. Those of a busy server have up to some hundred rows each."""
LARGEST_STEP = 1_000_000  # transactions of a part, where hardly any of them wrote to the log
WANTED_ROWS = 2_000
"""Rows of the log after which a part ends with the current transaction. To count so many takes about 10 ms."""
COUNTED_AT_ONCE = 5_000
"""Events that are counted between two statements, about. To prepare the statements for many more would hold the event loop."""
SPARSE_ROWS = 50
"""Rows of a part up to which it says that nearly all transactions were those of other databases of the cluster."""
MOST_SPARSE_PARTS = 10
"""Sparse parts that one round reads, however long they take. Each reads eight times as many transactions as the last."""
LEAST_PAUSE = 1.0  # seconds between two rounds
LEAST_SHARE, MOST_SHARE = 0.02, 0.5
"""The share of the time that counting may take. It grows with the lag, up to `WHOLE_LAG`."""
WHOLE_LAG = 120.0  # seconds of lag at which counting takes its largest share
IDLE_SAVE = 5.0  # seconds between two writes of the cursor while nothing is written to the log
KNOWN_EXECUTIONS = 50_000  # executions whose workflow is remembered
PRUNED_AT_ONCE = 5_000  # rows of each table that one sweep of old minutes deletes
SUMMARIZED_AT_ONCE = 16  # ranges of the log that one round summarizes in an index
_log = structlog.get_logger("tenax.metrics")


class Part(NamedTuple):
    """Describes what one transaction has counted."""

    rows: int
    done: bool
    """True if the log was counted up to now."""


class RollUp:
    def __init__(self, context: EngineContext, *, clock: Callable[[], float] = perf_counter) -> None:
        self._context = context
        self._clock = clock
        self._labels = Labels(context.settings.metrics_labels)
        self._workflows: WeightedCache[int, str] = WeightedCache(KNOWN_EXECUTIONS, lambda _: 1)
        self._step = FIRST_STEP
        self._summarized: dict[str, int] = {}
        """The ranges that are summarized, of each partition's index."""
        self.lag = 0.0
        """Seconds by which the counts were behind the log after the last round."""
        self._behind = 0.0
        """The same, but only for rows that were counted. Transactions without rows, as in a new database, are no reason to
        count faster."""
        self._taken = LEAST_SHARE
        """The share of the time that the last round had."""

    async def round(self) -> bool:
        """Counts new rows for its share of a second, so that a short burst of work is hardly delayed. Returns whether all
        rows are counted.

        Sparse parts go on beyond that time. Otherwise a slow server would never get past the transactions of a busy
        database beside its own.
        """
        self._taken = self._share
        end = self._clock() + self._taken * LEAST_PAUSE
        self._step = min(self._step, FIRST_STEP)
        await self._summarize()
        parts = 0
        while True:
            part = await self._count_part()
            parts += 1
            may_go_on = part.rows <= SPARSE_ROWS and parts < MOST_SPARSE_PARTS
            if part.done or (self._clock() > end and not may_go_on):
                return part.done

    async def catch_up(self) -> None:
        """Counts all rows that have committed."""
        while not await self.round():
            pass

    def pause_after(self, seconds: float, *, done: bool) -> float:
        """Returns the seconds to wait after a round of this length, so that counting keeps to its share of the time. A
        round that has counted everything needs no longer pause: its length says how busy the machine is, and not how
        much is left."""
        return LEAST_PAUSE if done else max(LEAST_PAUSE, seconds * (1 / self._taken - 1))

    @property
    def _share(self) -> float:
        return LEAST_SHARE + (MOST_SHARE - LEAST_SHARE) * min(self._behind / WHOLE_LAG, 1.0)

    async def prune(self) -> None:
        """Deletes minutes that are older than the setting says. The totals keep their counts."""
        async with self._context.transaction() as tx:
            await roll_up.prune_minutes(tx, self._context.settings.metrics_keep, PRUNED_AT_ONCE)

    async def _count_part(self) -> Part:
        try:
            async with self._context.transaction() as tx:
                return await self._count_in(tx)
        except BaseException:
            self._step = max(self._step // 8, 1)  # perhaps it was too much for one statement
            self._labels.forget()
            raise

    async def _count_in(self, tx: Connection) -> Part:
        cursor = await log_cursor.lock_cursor(tx)
        part = await log_cursor.read_log_rows(tx, cursor, self._step, WANTED_ROWS)
        now = part.now.timestamp()
        if part.newest < cursor.counted:
            await self._begin_anew(tx, part, now)
            return Part(0, done=True)
        rows = await _rows_of(part)
        done = part.counted >= part.newest
        if not rows and done and cursor.at is not None and 0 <= now - cursor.at < IDLE_SAVE:
            self.lag = 0.0
            return Part(0, done)  # the next round looks through the same few transactions again
        counts = Counts()
        for batch in _batches(rows):
            await self._fold(tx, batch, counts)
        await roll_up.add_counts(tx, counts)
        await roll_up.add_totals(tx, totals_of(counts, await self._labels.of(tx, counts)))
        at = _counted_until(rows, cursor, now, done=done)
        await log_cursor.save_cursor(tx, log_cursor.Cursor(part.counted, part.open, cursor.floor, at))
        self._behind = 0.0 if at is None else max(now - at, 0.0)
        self.lag = WHOLE_LAG if at is None else self._behind
        self._adapt(len(rows), part.counted - cursor.counted)
        return Part(len(rows), done)

    async def _fold(self, tx: Connection, rows: list[LogRow], counts: Counts) -> None:
        """Adds rows to the counts, and writes the retries that are under way after them."""
        underway = await roll_up.load_retries_underway(tx, set(items_of_retries(rows)))
        before = {key: _copy(retry) for key, retry in underway.items()}
        fold = LogCounter(underway, await self._name_workflows(tx, rows), counts)
        time_slice = TimeSlice()
        for row in rows:
            if time_slice.is_over:
                await time_slice.give_way()
            fold.add(row)
        await roll_up.write_retries_underway(tx, before, underway)

    async def _name_workflows(self, tx: Connection, rows: list[LogRow]) -> dict[int, str]:
        """Returns the workflow of each execution. Most executions began among these rows, or not long before."""
        named: dict[int, str] = {}
        for row in rows:
            data = row.events[0].data if row.events and row.events[0].type == "execution_started" else None
            if data is not None and data.workflow is not None:
                named[row.execution_id] = data.workflow
                self._workflows.keep(row.execution_id, data.workflow)
        missing = []
        for execution_id in {row.execution_id for row in rows} - named.keys():
            known = self._workflows.use(execution_id)
            if known is None:
                missing.append(execution_id)
            else:
                named[execution_id] = known
        if missing:
            found = await roll_up.name_workflows(tx, missing)
            named.update(found)
            for execution_id, name in found.items():
                self._workflows.keep(execution_id, name)
        return named

    async def _begin_anew(self, tx: Connection, part: log_cursor.LogPart, now: float) -> None:
        """Continues in a restored cluster, whose transaction numbers are smaller than those of the cursor.

        The restored rows count as counted. Some of the last second before the backup may be missed.
        """
        newest_id = await log_cursor.find_newest_id(tx)
        _log.warning(
            "the database was restored into another cluster: metrics go on from here",
            counted_rows_up_to=newest_id,
        )
        await log_cursor.save_cursor(tx, log_cursor.Cursor(part.newest, part.open, newest_id, now))

    def _adapt(self, rows: int, transactions: int) -> None:
        """Chooses how many transactions the next part looks at."""
        if transactions < self._step and rows >= WANTED_ROWS:
            self._step = 2 * transactions  # it has looked at others in vain
        elif rows < WANTED_ROWS // 8:
            self._step = min(self._step * 8, LARGEST_STEP)
        elif rows < WANTED_ROWS // 2:
            self._step = min(self._step * 2, LARGEST_STEP)

    async def _summarize(self) -> None:
        """Summarizes full ranges of the log in its index, so that the next rounds do not read them."""
        async with self._context.transaction() as tx:
            for index, full in (await log_cursor.list_log_indexes(tx)).items():
                first = self._summarized.get(index, 0)
                end = min(full, first + SUMMARIZED_AT_ONCE)
                if end > first and await log_cursor.summarize_ranges(tx, index, first, end):
                    self._summarized[index] = end


def _counted_until(rows: list[LogRow], cursor: log_cursor.Cursor, now: float, *, done: bool) -> float | None:
    """Returns the approximate time up to which the log is counted. Returns None if nothing is counted."""
    if done:
        return now
    return min(max(row.at for row in rows), now) if rows else cursor.at


async def _rows_of(part: log_cursor.LogPart) -> list[LogRow]:
    """Reads the rows, in the order in which they were written."""
    rows: list[LogRow] = []
    unreadable = 0
    time_slice = TimeSlice()
    for chunk in part.chunks:
        if time_slice.is_over:
            await time_slice.give_way()
        found, odd = read_chunk(chunk)
        rows += found
        unreadable += odd
    if unreadable:
        _log.warning("rows of the log cannot be read and are not counted", rows=unreadable)
    rows.sort(key=_id_of)
    return rows


def _batches(rows: list[LogRow]) -> Iterator[list[LogRow]]:
    """Divides rows into batches with few events each."""
    batch: list[LogRow] = []
    events = 0
    for row in rows:
        batch.append(row)
        events += len(row.events)
        if events >= COUNTED_AT_ONCE:
            yield batch
            batch, events = [], 0
    if batch:
        yield batch


def _id_of(row: LogRow) -> int:
    return row.id


def _copy(retry: RetryUnderway) -> RetryUnderway:
    return RetryUnderway(retry.attempt, retry.class_, retry.reason, retry.delay, retry.due, retry.worker)
