"""Tests that copies of an execution equal the original that Tenax has made, and that Tenax works beside them."""

from __future__ import annotations

import asyncio

from benchmarks import workflows
from benchmarks.driven import drive, leased
from benchmarks.filling import multiply
from benchmarks.waiting import FAILED

from tenax.embed import open_engine
from tenax.model.wire import Submission
from tenax.settings import load_settings
from tenax.store.connect import connect

COPIES = 3


def filled(url, source, outcomes, scene):
    """One execution, with these outcomes one after the other, three copies of it, and then the scene."""

    async def play():
        async with open_engine(load_settings({"database_url": url}, env={})) as engine:
            [model] = await engine.submit([Submission(source=source)])
            for outcome in outcomes:
                await engine.report(await leased(engine, 1, **outcome))
            connection = await connect(url)
            try:
                copies = await multiply(connection, model.id, COPIES, apart=60.0, say=lambda _: None)
                await scene(engine, connection, model.id, copies)
            finally:
                await connection.close()

    asyncio.run(play())


def without_ids_and_times(events):
    kept = ("type", "step", "attempt", "seq")
    return [{name: getattr(event, name) for name in kept} for event in events]


def test_copies_of_a_finished_execution_have_its_events_and_are_older_each(database_url):
    async def scene(engine, connection, model, copies):
        assert len(copies) == COPIES
        original = await engine.events(model)
        for copy in copies:
            assert without_ids_and_times(await engine.events(copy)) == without_ids_and_times(original)
            assert (await engine.explain(copy))[0].step == (await engine.explain(model))[0].step
        ages = await connection.fetch(
            "select extract(epoch from m.created_at - e.created_at)::integer as age from tenax.execution e,"
            " tenax.execution m where m.id = $1 and e.id <> $1 order by e.id",
            model,
        )
        assert [row["age"] for row in ages] == [60, 120, 180]
        ids = [row["id"] for row in await connection.fetch("select id from tenax.event")]
        assert len(ids) == len(set(ids)) == (1 + COPIES) * len(original)

    filled(database_url, workflows.RETRIED, [{"outcome": FAILED}, {}, {}], scene)


def test_copies_of_a_waiting_retry_wait_and_new_work_passes_them(database_url):
    async def scene(engine, connection, _, copies):
        waiting = "select count(*) from tenax.item where state = 'retrying'"
        assert await connection.fetchval(waiting) == 1 + COPIES
        rates = await drive(engine, 20)
        assert rates.worked > 0
        assert (
            await connection.fetchval("select count(*) from tenax.execution where state = 'completed'") == 20
        )
        assert (await engine.get(copies[0])).steps["only"].status == "retrying"
        assert await connection.fetchval(waiting) == 1 + COPIES

    filled(database_url, workflows.WAITING, [{"outcome": FAILED}], scene)
