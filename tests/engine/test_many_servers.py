"""Tests several engines on one database, with their loops and workers: work flows, and each attempt is decided on once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tenax import Retry, context, task
from tenax.embed import local_worker
from tenax.engine.engine import Engine
from tenax.model.execution_views import Event
from tenax.model.wire import Submission
from tenax.settings import Settings
from tenax.store.connect import Database

SOURCE = """
name: flaky
workflow:
  - {step: a, type: python, task: many_servers_flaky, retry: {max_attempts: 3, initial_delay: 10ms, jitter: 0.5}}
  - {step: b, type: python, task: many_servers_flaky, needs: [a]}
"""


@task(name="many_servers_flaky")
async def flaky() -> int:
    seen = context()
    if seen.step == "a" and seen.attempt < 1 + seen.execution_id % 3:
        raise Retry("not yet")
    return seen.attempt


async def opened(stack: AsyncExitStack, url: str, home: Path) -> Engine:
    settings = Settings(home=home, database_url=url)
    database = await stack.enter_async_context(Database.open(settings))
    return await stack.enter_async_context(Engine(database, settings).running())


async def finished(engine: Engine, execution_id: int) -> Sequence[Event]:
    cursor = None
    while True:
        news = await engine.news(execution_id, cursor=cursor, wait=20)
        if any(e.type in ("execution_completed", "execution_failed") for e in news.events):
            return await engine.events(execution_id)
        cursor = news.cursor


async def test_work_submitted_to_one_server_is_run_by_the_workers_of_another(any_database_url, tmp_path):
    async with AsyncExitStack() as stack:
        asked, works = [await opened(stack, any_database_url, tmp_path) for _ in range(2)]
        await stack.enter_async_context(local_worker(works, name="far"))
        [submitted] = await asked.submit([Submission(source=SOURCE)])
        async with asyncio.timeout(30):
            events = await finished(asked, submitted.id)
        assert {e.data["worker"] for e in events if e.type == "action_started"} == {"far"}


async def test_three_engines_share_the_work_and_decide_once(any_database_url, tmp_path):
    async with AsyncExitStack() as stack:
        engines = [await opened(stack, any_database_url, tmp_path) for _ in range(3)]
        for n, engine in enumerate(engines):
            await stack.enter_async_context(local_worker(engine, name=f"w{n}", slots=5))
        ids = [s.id for e in engines for s in await e.submit([Submission(source=SOURCE)] * 50)]
        async with asyncio.timeout(60):
            histories = await asyncio.gather(*(finished(engines[0], id_) for id_ in ids))
    workers: Counter[str] = Counter()
    for id_, events in zip(ids, histories, strict=True):
        kinds = Counter((e.type, e.step, e.attempt) for e in events)
        assert max(kinds.values()) == 1, "nothing is decided twice"
        started = [e for e in events if e.type == "action_started"]
        assert len([e for e in started if e.step == "a"]) == 1 + id_ % 3
        assert events[-1].type == "execution_completed"
        workers.update(e.data["worker"] for e in started)
    assert len(workers) == 3


async def test_the_first_submissions_of_a_definition_may_come_all_at_once(any_database_url, tmp_path):
    async with AsyncExitStack() as stack:
        engines = [await opened(stack, any_database_url, tmp_path) for _ in range(3)]
        sources = [SOURCE.replace("name: flaky", f"name: flaky{n}") for n in range(10)]
        calls = [
            e.submit([Submission(source=source)]) for source in sources for e in engines for _ in range(3)
        ]
        assert len({s.id for [s] in await asyncio.gather(*calls)}) == len(calls)
