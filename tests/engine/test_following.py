"""Following an execution: a reader that resumes skips nothing, whatever order transactions commit in."""

from __future__ import annotations

from hand import Hand

from tenax.store.events import get_settled_events
from tenax.store.session import transaction

TWO = """
name: two
workflow:
  - {step: a, type: python, task: "t:t"}
  - {step: b, type: python, task: "t:t"}
"""


async def followed(hand: Hand, execution_id: int, count: int) -> list[dict]:
    """So many events, as a follower gets them. Transactions of other tests on the same server may hold them up."""
    events: list[dict] = []
    while len(events) < count:
        events += await hand.engine.events(execution_id, after=len(events), wait=30)
    return events


def test_what_an_older_transaction_could_still_precede_is_left_for_later(play):
    async def scene(hand: Hand):
        database = hand.engine.core.database
        id_ = await hand.submit(TWO)

        known = await followed(hand, id_, 3)
        async with transaction(database) as slow:
            await slow.execute("select pg_current_xact_id()")
            await hand.lease()
            async with transaction(database) as tx:
                settled = await get_settled_events(tx, id_, len(known))
            assert settled == [], "the slow one may still write an event with a smaller id"
            assert len(await hand.engine.events(id_)) == 5
        assert [e["seq"] for e in await followed(hand, id_, 5)] == [1, 2, 3, 4, 5]

    play(scene)


def test_waiting_ends_with_the_first_news_or_with_the_time(play):
    async def scene(hand: Hand):
        id_ = await hand.submit()
        known = await hand.engine.events(id_)
        assert await hand.engine.events(id_, after=len(known), wait=0.01) == []
        await hand.lease()
        [news] = await hand.engine.events(id_, after=len(known), wait=30)
        assert news["type"] == "action_started"

    play(scene)


def test_a_month_that_began_without_its_partition_stays_in_the_default_one(play):
    async def scene(hand: Hand):
        [row] = await hand.sql("select to_char(statement_timestamp(), 'YYYYMM') as month")
        await hand.sql(f"drop table tenax.log_{row['month']}")
        id_ = await hand.submit()
        await hand.engine.prepare()
        await hand.succeed(await hand.lease_one())
        assert (await hand.types(id_))[-1] == "execution_completed"

    play(scene)
