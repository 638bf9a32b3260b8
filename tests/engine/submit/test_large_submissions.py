"""Tests submissions that take long: no other submission waits for them."""

from __future__ import annotations

import asyncio

from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Report, Submission

SMALL = "name: small\nworkflow: [{step: a, type: python, task: 'm:f'}]\n"
LARGE = "name: large\nworkflow: [{step: a, type: python, task: 'm:f', for_each: [1, 2, 3]}]\n"

WAITS = """
select exists (select from pg_locks l join pg_database d on d.oid = l.database where not l.granted and d.datname = current_database())
"""
WAITS_FOR_ROW = """
select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')
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


async def test_a_large_late_report_holds_up_no_other_report(hand):
    """It is compared with the log under the lock of its execution, which someone else has here."""
    late_id, other_id = await hand.submit(SMALL), await hand.submit(SMALL)
    late, other = await hand.lease_one(execution_id=late_id), await hand.lease_one(execution_id=other_id)
    await hand.report(late, Outcome("succeeded"))
    said = Report(late.execution_id, late.item_id, late.attempt, late.token, Outcome("succeeded", "x" * 10))
    sound = Report(other.execution_id, other.item_id, other.attempt, other.token, Outcome("succeeded"))
    async with hand.engine.context.transaction() as tx:
        await tx.execute("select from tenax.execution where id = $1 for update", late_id)
        large = asyncio.create_task(hand.engine.report([said], size=2_000_000))
        async with asyncio.timeout(30):
            while not await tx.fetchval(WAITS_FOR_ROW):
                pass
            [answer] = await hand.engine.report([sound])
        assert answer.status == "applied"
        assert not large.done()
    [answer] = await large
    assert answer.status == "late"
