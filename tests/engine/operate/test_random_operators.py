"""Operators act on everything at random, while workers report, children end and servers start anew: whatever they do, no
law is broken, and every execution still reaches its end."""

from __future__ import annotations

import pytest
from support.hand import one_postgres
from support.laws import verify
from support.strategies.random_runs import CHILD, PARENT, Night, without_undo

from tenax.engine.operate.operator_action import ActionRequest


@one_postgres
@pytest.mark.parametrize("seed", [1, 2, 13, 15, 23])
@pytest.mark.settings(callback_url="http://tenax.test")
async def test_operators_break_no_law_in_a_random_night(hand, seed):
    await hand.engine.store_workflow(without_undo(CHILD))
    night = Night(hand, seed, operators=8)
    night.source = without_undo(PARENT)
    for _ in range(3):
        await hand.submit(night.source)
    for _ in range(12):
        await night.play(10)
        assert (await verify(night.hand))["violations"] == []
    for failed in await night.hand.engine.list(states=["failed"], top=True, limit=500):
        await night.hand.engine.act(failed.id, ActionRequest("retry"), actor="dawn")
    await night.dawn()
    assert (await verify(night.hand))["violations"] == []
    assert night.acted["refused"] < night.acted.total()
    for table in ("item", "inbox"):
        assert await hand.sql(f"select from tenax.{table}") == []
