"""Measures procrastinate, with the concurrency, the batches and the polling that its guides name."""

from __future__ import annotations

import asyncio
from typing import Any

import procrastinate  # type: ignore[import-not-found]
import psycopg

from benchmarks.gate import wait_at_gate
from benchmarks.peers.kit import DELAY, FAILURES, URL, Look, Record, run

CONCURRENCY = 30
"""Jobs that a worker runs at a time, from the guide "Execute multiple jobs at the same time". 10 and 100 make no difference, because jobs are fetched one by one.
"""
POLLING_SECONDS = 0.1
"""Seconds until a worker sees that a retry is due. Its default of 5 s is meant for an idle queue."""
FILL_BATCH = 1_000
OPEN = "select exists (select from procrastinate_jobs where status in ('todo', 'doing'))"
SUCCEEDED = "select count(*) from procrastinate_jobs where status = 'succeeded'"


def application(record: Record) -> Any:
    """Makes the application. The pool has psycopg's default of 4 connections. Larger pools were not faster."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=URL))

    async def noop(context: Any) -> None:
        record.started(context.job.id)

    async def fails(context: Any) -> None:
        job = context.job
        record.attempted(job.id, job.attempts, job.scheduled_at and job.scheduled_at.timestamp())

    app.task(name="noop", pass_context=True)(noop)
    retry = procrastinate.RetryStrategy(max_attempts=FAILURES, wait=DELAY)
    app.task(name="fails", pass_context=True, retry=retry)(fails)
    return app


def fill(kind: str, jobs: int) -> None:
    asyncio.run(_fill(kind, jobs))


async def _fill(kind: str, jobs: int) -> None:
    app = application(Record())
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for start in range(0, jobs, FILL_BATCH):
            size = min(FILL_BATCH, jobs - start)
            await app.tasks[kind].batch_defer_async(*({} for _ in range(size)))


def work(_kind: str, record: Record) -> None:
    asyncio.run(_work(record))


async def _work(record: Record) -> None:
    app = application(record)
    async with app.open_async():
        await asyncio.to_thread(wait_at_gate)
        await app.run_worker_async(
            concurrency=CONCURRENCY,
            fetch_job_polling_interval=POLLING_SECONDS,
            install_signal_handlers=False,
        )


def watcher() -> Look:
    connection = psycopg.connect(URL, autocommit=True)

    def look() -> tuple[bool, int]:
        [[is_open]] = connection.execute(OPEN).fetchall()
        return is_open, 0 if is_open else connection.execute(SUCCEEDED).fetchall()[0][0]

    return look


if __name__ == "__main__":
    run(fill, work, watcher, ("noop", "fails"))
