"""Several servers look at the same schedules: each tick starts once, and one that fails in between loses none."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from support.hand import Hand, one_postgres

from tenax.engine.schedules import runner
from tenax.store.schedules.schedule_runs import NewRun

pytestmark = one_postgres

WORK = 'name: n{n}\nworkflow: [{{step: a, type: python, task: "t:t"}}]\nschedule: {{every: 1m, overlap: allow}}\n'
SCHEDULES, TICKS = 8, 5


async def begin(hand: Hand) -> datetime:
    hour = datetime((await hand.clock.now()).year + 1, 6, 1, 10, tzinfo=UTC)
    await hand.clock.pass_to(hour - timedelta(seconds=30))
    for n in range(SCHEDULES):
        await hand.engine.store_workflow(WORK.format(n=n), actor="ann")
    return hour


async def keys(hand: Hand) -> list[str]:
    return [row["submit_key"] for row in await hand.sql("select submit_key from tenax.execution")]


async def test_three_servers_start_each_tick_once(hand):
    hour = await begin(hand)
    servers = [hand, await hand.restarted(), await hand.restarted()]
    for n in range(TICKS):
        await hand.clock.pass_to(hour + timedelta(minutes=n))
        await asyncio.gather(*(one.engine.schedule_runner.start_due() for one in servers * 2))
        await hand.engine.schedule_runner.start_due()  # for what was locked when each of them looked
        assert len(await keys(hand)) == SCHEDULES * (n + 1)
    assert len(set(await keys(hand))) == SCHEDULES * TICKS
    recorded = await hand.sql("select schedule, tick, count(*) from tenax.schedule_run group by 1, 2")
    assert [row["count"] for row in recorded] == [1] * (SCHEDULES * TICKS)
    for server in servers[1:]:
        server.engine.server_steps.close()
        server.engine.context.reading.reader_processes.close()


async def test_a_server_that_dies_before_its_commit_leaves_the_tick_to_the_next_one(hand, monkeypatch):
    hour = await begin(hand)
    await hand.clock.pass_to(hour)
    record = runner.schedule_runs.record

    async def die(*_: object) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(runner.schedule_runs, "record", die)
    with pytest.raises(asyncio.CancelledError):
        await hand.engine.schedule_runner.start_due()
    assert await keys(hand) == [], "the execution and the next tick are one transaction"
    monkeypatch.setattr(runner.schedule_runs, "record", record)
    await hand.engine.schedule_runner.start_due()
    assert len(await keys(hand)) == SCHEDULES


async def test_a_schedule_that_cannot_be_written_stops_no_other_one(hand, monkeypatch):
    hour = await begin(hand)
    await hand.clock.pass_to(hour)
    start = runner.start_in

    async def fail(tx: object, context: object, now: object, one: object) -> int:
        if one.plan.workflow.name == "n0":
            raise RuntimeError("no luck")
        return await start(tx, context, now, one)

    monkeypatch.setattr(runner, "start_in", fail)
    await hand.engine.schedule_runner.start_due()
    assert len(await keys(hand)) == SCHEDULES - 1
    [run] = (await hand.engine.schedules.get("n0")).runs
    assert (run.kind, run.note) == ("failed", "RuntimeError: no luck")


async def test_only_the_newest_runs_are_kept(hand, monkeypatch):
    await begin(hand)
    monkeypatch.setattr(runner.schedule_runs, "KEPT", 3)
    for n in range(5):
        async with hand.engine.context.transaction() as tx:
            await runner.schedule_runs.record(tx, "n0", [NewRun("skipped", reason="overlap", note=str(n))])
    assert [run.note for run in (await hand.engine.schedules.get("n0")).runs] == ["4", "3", "2", "1"]
