"""Measures Oban for Python, with the limit of its queue raised as its guide "Defining Queues" says, and with jobs inserted in bulk."""

from __future__ import annotations

import asyncio
from datetime import UTC
from typing import Any

import psycopg
import uvloop
from oban import Oban, worker  # type: ignore[import-not-found]
from oban.schema import install  # type: ignore[import-not-found]

from benchmarks.gate import wait_at_gate
from benchmarks.peers.kit import DELAY, FAILURES, URL, Look, Record, run

LIMIT = 200
"""Jobs that a process runs at a time. From 100 to 1,000 it makes little difference."""
STAGER = {"fails": {"interval": 0.1}}
"""Seconds between two searches for due retries. Its default of 1 s is better without retries."""
FILL_BATCH = 1_000
OPEN = "select exists (select from oban_jobs where state in ('available', 'scheduled', 'executing', 'retryable'))"
SUCCEEDED = "select count(*) from oban_jobs where state = 'completed'"


def kinds(record: Record) -> dict[str, Any]:
    @worker(max_attempts=1)
    class Noop:
        async def process(self, job: Any) -> None:
            record.started(job.id)

    @worker(max_attempts=FAILURES + 1)
    class Fails:
        async def process(self, job: Any) -> None:
            record.attempted(job.id, job.attempt - 1, job.scheduled_at.replace(tzinfo=UTC).timestamp())

        def backoff(self, _job: Any) -> int:
            return DELAY

    return {"noop": Noop, "fails": Fails}


def fill(kind: str, jobs: int) -> None:
    uvloop.run(_fill(kind, jobs))


async def _fill(kind: str, jobs: int) -> None:
    pool = await Oban.create_pool(URL)
    await install(pool)
    oban, job = Oban(pool=pool), kinds(Record())[kind]
    for start in range(0, jobs, FILL_BATCH):
        await oban.enqueue_many(job.new() for _ in range(min(FILL_BATCH, jobs - start)))


def work(kind: str, record: Record) -> None:
    uvloop.run(_work(kind, record))  # as Oban's own command does


async def _work(kind: str, record: Record) -> None:
    """Runs a worker. The pool has the size that Oban recommends: "the default of 10 is comfortable"."""
    kinds(record)
    oban = Oban(pool=await Oban.create_pool(URL), queues={"default": LIMIT}, stager=STAGER.get(kind))
    await asyncio.to_thread(wait_at_gate)
    async with oban:
        await asyncio.Event().wait()


def watcher() -> Look:
    connection = psycopg.connect(URL, autocommit=True)

    def look() -> tuple[bool, int]:
        [[is_open]] = connection.execute(OPEN).fetchall()
        return is_open, 0 if is_open else connection.execute(SUCCEEDED).fetchall()[0][0]

    return look


if __name__ == "__main__":
    run(fill, work, watcher, ("noop", "fails"))
