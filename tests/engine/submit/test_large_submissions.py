"""Submissions that take long: nobody else waits for them."""

from __future__ import annotations

import asyncio

from tenax.model.wire import Submission

SMALL = "name: small\nworkflow: [{step: a, type: python, task: 'm:f'}]\n"
LARGE = "name: large\nworkflow: [{step: a, type: python, task: 'm:f', for_each: [1, 2, 3]}]\n"

WAITS = """
select exists (select from pg_locks l join pg_database d on d.oid = l.database where not l.granted and d.datname = current_database())
"""


async def test_a_fan_out_that_waits_for_a_lock_holds_up_no_other_submission(hand):
    """Its first item cannot be inserted while someone has the table of fan-outs for themselves."""
    async with hand.engine.context.transaction() as tx:
        await tx.execute("lock table tenax.fan in access exclusive mode")
        large = asyncio.create_task(hand.engine.submit([Submission(source=LARGE)]))
        async with asyncio.timeout(30):
            while not await tx.fetchval(WAITS):
                pass
            [small] = await hand.engine.submit([Submission(source=SMALL)])
        assert not large.done()
    [submitted] = await large
    assert submitted.created
    assert small.created
