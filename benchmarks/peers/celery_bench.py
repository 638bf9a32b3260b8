"""Measures Celery on Redis, as a reference that is not durable. Quoted text is from its guide "Optimizing"."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from celery import Celery  # type: ignore[import-not-found]
from redis import Redis  # type: ignore[import-not-found]

from benchmarks.gate import VARIABLE, wait_at_gate
from benchmarks.peers.kit import Look, Record, run

SOCKET = Path(os.environ.get(VARIABLE, "gate")).parent / "redis.sock"
QUEUE = "celery"
PREFETCH = 128
"""The guide says that with "many short-running tasks ... this number should be large", "say 64, or 128"."""
QUIET = {"without_gossip": True, "without_mingle": True, "without_heartbeat": True}


def application(record: Record) -> Any:
    app = Celery(broker=f"redis+socket://{SOCKET}")
    app.conf.update(worker_prefetch_multiplier=PREFETCH, task_ignore_result=True)

    def noop(task: Any) -> None:
        record.started(task.request.id)

    app.task(name="noop", bind=True)(noop)
    return app


def fill(kind: str, jobs: int) -> None:
    app = application(Record())
    with app.producer_pool.acquire(block=True) as producer:
        for _ in range(jobs):
            app.tasks[kind].apply_async(producer=producer)


def work(_kind: str, record: Record) -> None:
    """Runs the tasks of a worker in its own process (`solo`). The two cores are in use, and a pool would add messages.

    Tasks are acknowledged before they run, which is the default and the faster way. A task is lost if its worker is lost.
    """
    app = application(record)
    logging.disable(logging.WARNING)
    wait_at_gate()
    app.WorkController(pool_cls="solo", concurrency=1, **QUIET).start()


def watcher() -> Look:
    """Makes a watcher. Nothing keeps the number of succeeded tasks, so every enqueued task counts once the queue is empty."""
    redis = Redis(unix_socket_path=str(SOCKET))
    jobs = redis.llen(QUEUE)

    def look() -> tuple[bool, int]:
        return bool(redis.llen(QUEUE) or redis.hlen("unacked")), jobs

    return look


if __name__ == "__main__":
    run(fill, work, watcher, ("noop",))
