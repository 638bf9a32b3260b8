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


def test_what_an_older_transaction_could_still_precede_is_left_for_later(play):
    async def scene(hand: Hand):
        database = hand.engine.core.database
        id_ = await hand.submit(TWO)

        async def settled() -> list[int]:
            async with transaction(database) as tx:
                return [e["seq"] for e in await get_settled_events(tx, id_, 0)]

        before = await settled()
        async with transaction(database) as slow:
            await slow.execute("select pg_current_xact_id()")
            await hand.lease()
            assert await settled() == before, "the slow one may still write an event with a smaller id"
            assert len(await hand.engine.events(id_)) == len(before) + 2
        assert await settled() == [*before, *range(len(before) + 1, len(before) + 3)]

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
