"""Tests that the events of an execution never go back in time."""

from __future__ import annotations

import asyncio

import asyncpg
from support.hand import Hand

from tenax.store.tables import log

WAITING = "select count(*) > 0 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"


async def stored_times(hand: Hand, id_: int) -> list[float]:
    rows = await hand.sql(
        "select extract(epoch from at)::float8 as at from tenax.log where execution_id = $1 order by id", id_
    )
    return [row["at"] for row in rows]


async def test_a_report_that_waits_for_its_execution_has_the_time_at_which_it_got_it(hand, any_database_url):
    id_, a = await hand.start()
    other = await asyncpg.connect(any_database_url)
    async with other.transaction():
        await other.execute("select from tenax.execution where id = $1 for update", id_)
        reporting = asyncio.create_task(hand.succeed(a))
        async with asyncio.timeout(20):
            while not await other.fetchval(WAITING):
                pass
        await other.execute("update tenax.fake_clock set at = at + interval '5 s'")
        await other.execute(
            """insert into tenax.log (execution_id, at, events) values ($1, tenax.now(),
               '[{"type": "operator_action", "data": {"action": "look", "actor": "ann", "reason": null}}]')""",
            id_,
        )
    await other.close()
    assert (await reporting).status == "applied"
    times = await stored_times(hand, id_)
    assert len(times) == 4
    assert times == sorted(times)
    execution = await hand.get(id_)
    assert execution["status"] == "completed"


async def test_the_times_that_are_shown_never_go_back(hand, monkeypatch):
    id_ = await hand.submit()
    known = await hand.news(id_)
    await hand.lease_one()
    await hand.sql(
        "update tenax.log set at = at - interval '300 ms' where id = (select max(id) from tenax.log)"
    )
    times = await stored_times(hand, id_)
    assert times != sorted(times)
    shown = [event["at"] for event in await hand.events(id_)]
    assert shown == sorted(shown)
    [news] = (await hand.news(id_, cursor=known["cursor"]))["events"]
    assert news["at"] == shown[-1]
    monkeypatch.setattr(log, "PAGE_BYTES", 1)
    assert [event["at"] for event in await hand.events(id_)] == shown
    assert [event["at"] for event in await hand.events(id_, after=len(shown) - 1)] == shown[-1:]
