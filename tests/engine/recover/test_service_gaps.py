"""Tests times that run out while no server is alive: waits that began before the gap get one more lease."""

from __future__ import annotations

from support.child_workflows import awaiting, begun

TELLER = """
name: teller
workflow:
  - {step: asked, type: wait, signal: go, deadline: 1m}
"""

LEASE = 30


async def test_after_a_gap_only_what_began_before_it_is_spared(hand):
    old = await begun(hand, TELLER)
    await hand.clock.advance(3600)
    await hand.engine.beat()
    new = await begun(hand, TELLER.replace("1m", "5s"))
    await hand.clock.advance(5)
    await hand.settle_down()
    assert (await hand.get(new))["failure"]["reason"] == "wait_deadline", "that had its time"
    assert await hand.status(old) == "running"
    await hand.wait(LEASE - 6)
    assert await hand.status(old) == "running", "it is spared for one lease"
    await hand.wait(1)
    assert (await hand.get(old))["failure"]["reason"] == "wait_deadline"


async def test_a_gap_lengthens_no_wait_that_has_time_left_and_no_sleep(hand):
    nap = "name: nap\nworkflow: [{step: s, type: sleep, for: 1m}]\n"
    waits = await hand.submit(TELLER.replace("1m", "2h"))
    sleeps = await begun(hand, nap)
    before = await awaiting(hand, waits)
    await hand.clock.advance(3600)
    await hand.engine.beat()
    assert await awaiting(hand, waits) == before
    await hand.settle_down()
    assert await hand.status(sleeps) == "completed"
