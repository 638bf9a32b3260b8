"""Measures pgqueuer, set up as its guide "Performance Tuning" advises. Quoted text is from this guide."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import uvloop
from pgqueuer import PgQueuer  # type: ignore[import-not-found]
from pgqueuer.errors import RetryRequested  # type: ignore[import-not-found]
from pgqueuer.queries import Queries  # type: ignore[import-not-found]

from benchmarks.gate import wait_at_gate
from benchmarks.peers.kit import DELAY, URL, Look, NotYet, Record, run

BATCH = 250
"""The guide says: "increase `batch_size` when jobs are short-lived". From 100 to 1,000 it makes little difference."""
POOL = {"min_size": 5, "max_size": 20}
"""The sizes in the guide's example."""
FILL_BATCH = 10_000
LATER = timedelta(days=1)
"""The delay of scheduled jobs. The bench later sets all of them to one instant, by one statement."""
OPEN = "select exists (select from pgqueuer)"
SUCCEEDED = "select count(*) from pgqueuer_log where status = 'successful'"


def fill(kind: str, jobs: int) -> None:
    uvloop.run(_fill(kind, jobs))


async def _fill(kind: str, jobs: int) -> None:
    connection = await asyncpg.connect(URL)
    queries = Queries.from_asyncpg_connection(connection)
    await queries.install()  # tables are durable by default
    await queries.optimize_autovacuum()  # "Run `pgq autovac` after installation"
    name = "fails" if kind == "fails" else "noop"
    after = LATER if kind == "scheduled" else None
    for start in range(0, jobs, FILL_BATCH):
        size = min(FILL_BATCH, jobs - start)
        await queries.enqueue([name] * size, [None] * size, [0] * size, [after] * size)


def work(kind: str, record: Record) -> None:
    uvloop.run(_work(kind, record))  # as pgqueuer's own command does


async def _work(kind: str, record: Record) -> None:
    pgq = await (_pooled() if kind == "fails" else _connected())

    async def noop(job: Any) -> None:
        record.started(job.id)

    async def fails(job: Any) -> None:
        try:
            record.attempted(job.id, job.attempts, job.execute_after.timestamp())
        except NotYet as cause:
            raise RetryRequested(delay=timedelta(seconds=DELAY)) from cause

    pgq.entrypoint("noop")(noop)
    pgq.entrypoint("fails")(fails)
    await asyncio.to_thread(wait_at_gate)
    await pgq.run(batch_size=BATCH)


async def _connected() -> PgQueuer:
    """Connects as the guide says: "a single connection for `QueueManager`". Its examples use asyncpg."""
    return PgQueuer.from_asyncpg_connection(await asyncpg.connect(URL))


async def _pooled() -> PgQueuer:
    """Connects by a pool, as the guide says: "for high-throughput deployments, use a connection pool driver".

    Every retry is a statement of its own. With a pool they were half as fast again. Without retries the single connection was faster.
    """
    return PgQueuer.from_asyncpg_pool(await asyncpg.create_pool(URL, **POOL))


def watcher() -> Look:
    runner = asyncio.Runner()
    connection = runner.run(asyncpg.connect(URL))

    def look() -> tuple[bool, int]:
        is_open = runner.run(connection.fetchval(OPEN))
        return is_open, 0 if is_open else runner.run(connection.fetchval(SUCCEEDED))

    return look


if __name__ == "__main__":
    run(fill, work, watcher, ("noop", "fails", "scheduled"))
