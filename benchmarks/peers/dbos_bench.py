"""Measures DBOS, with limits of its queue that do not bind, and with coroutines so that many workflows run at once.

A no-op job is a workflow without a step, for which DBOS writes the least. A job that fails is a workflow of one step, since retries belong
to steps. DBOS keeps the retries and their delays in the memory of the worker.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import psycopg
import sqlalchemy
from dbos import DBOS, DBOSClient  # type: ignore[import-not-found]

from benchmarks.gate import wait_at_gate
from benchmarks.peers.kit import DELAY, FAILURES, URL, Look, Record, run

QUEUE = "bench"
WORKER_CONCURRENCY = 500
"""Jobs that one process runs at a time. Without a limit one process takes all jobs, and 100 was slower.

The queue has no global limit, which would serialise dequeuing.
"""
POLLING_SECONDS = 0.05
"""Seconds between two polls of a worker. Its default of 1 s leaves the worker idle in between."""
VERSION = "bench"
FILL_BATCH = 500
OPEN = "select exists (select from dbos.workflow_status where status in ('ENQUEUED', 'PENDING', 'DELAYED'))"
SUCCEEDED = "select count(*) from dbos.workflow_status where status = 'SUCCESS'"


def declare(record: Record) -> None:
    DBOS(
        config={
            "name": "bench",
            "system_database_url": URL,
            "application_version": VERSION,
            "executor_id": f"bench-{os.getpid()}",  # "it must be set to a unique value for each process"
            "log_level": "ERROR",
        }
    )
    failed: dict[str, list[float]] = {}

    async def noop() -> None:
        record.started(DBOS.workflow_id)

    async def attempt(job: str) -> None:
        failures = failed.setdefault(job, [])
        try:
            record.attempted(job, len(failures), failures[-1] + DELAY if failures else None)
        finally:
            failures.append(time.time())

    retried = {"retries_allowed": True, "interval_seconds": DELAY, "backoff_rate": 1.0}
    step = DBOS.step(max_attempts=FAILURES + 1, **retried)(attempt)

    async def fails() -> None:
        await step(DBOS.workflow_id)

    DBOS.workflow(name="noop")(noop)
    DBOS.workflow(name="fails")(fails)


def fill(kind: str, jobs: int) -> None:
    """Enqueues many jobs in one transaction, since DBOS has no call for a batch."""
    declare(Record())
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=WORKER_CONCURRENCY, polling_interval_sec=POLLING_SECONDS)
    DBOS.destroy()
    client = DBOSClient(system_database_url=URL)
    engine = sqlalchemy.create_engine(URL.replace("postgresql://", "postgresql+psycopg://", 1))
    options: Any = {"workflow_name": kind, "queue_name": QUEUE, "app_version": VERSION}
    for start in range(0, jobs, FILL_BATCH):
        with engine.begin() as connection:
            for _ in range(min(FILL_BATCH, jobs - start)):
                client.enqueue_in_transaction(connection, options)


def work(_kind: str, record: Record) -> None:
    declare(record)
    wait_at_gate()
    DBOS.launch()
    while True:
        signal.pause()


def watcher() -> Look:
    connection = psycopg.connect(URL, autocommit=True)

    def look() -> tuple[bool, int]:
        [[is_open]] = connection.execute(OPEN).fetchall()
        return is_open, 0 if is_open else connection.execute(SUCCEEDED).fetchall()[0][0]

    return look


if __name__ == "__main__":
    run(fill, work, watcher, ("noop", "fails"))
