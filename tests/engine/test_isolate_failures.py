"""Tests that a stored plan that cannot be read stops no other execution."""

from __future__ import annotations

import pytest
from support.hand import Hand

from tenax.errors import Conflict

CONDITIONAL = "name: {0}\ndeadline: {1}\nworkflow:\n  - {{step: {0}, type: python, task: 't:t', when: 'input == input'}}\n"


async def break_plan(hand: Hand, name: str) -> Hand:
    """Stores a plan that another version could have written, and starts a server that has not read it before."""
    await hand.sql(
        """update tenax.workflow set body = jsonb_set(body, '{steps,0,when}', '"))("') where name = $1""",
        name,
    )
    return await hand.restarted()


async def test_a_plan_that_cannot_be_read_keeps_no_server_from_its_other_work(hand):
    bad = await hand.submit(CONDITIONAL.format("bad", "1h"))
    good = await hand.submit(CONDITIONAL.format("good", "1h"))
    later = await break_plan(hand, "bad")
    leased = await later.lease()
    assert [a.step for a in leased] == ["good"]
    await later.succeed(leased[0])
    await later.engine.sweep()
    assert await later.status(good) == "completed"
    with pytest.raises(Conflict, match="stored by another version of Tenax"):
        await later.get(bad)
    assert await later.engine.cancel(bad, actor="ann") is True


async def test_a_plan_that_cannot_be_read_keeps_no_deadline_from_being_seen(hand):
    bad = await hand.submit(CONDITIONAL.format("bad", "5s"))
    good = await hand.submit(CONDITIONAL.format("good", "6s"))
    later = await break_plan(hand, "bad")
    await later.pass_time(20)
    await later.engine.reap()
    assert await later.status(good) == "failed"
    [row] = await later.sql("select state from tenax.execution where id = $1", bad)
    assert row["state"] == "failed", "its own needs no plan either"
