"""`tenax verify`: true histories break no law, at any moment; whatever is changed by hand is found, under its law."""

from __future__ import annotations

import pytest
from hand import Hand
from nights import CHILD, PARENT, Night, begin_to_undo
from verifying import verify


@pytest.mark.parametrize("seed", range(3))
def test_a_random_night_breaks_no_law_at_any_moment(play, seed):
    async def scene(hand: Hand):
        await hand.engine.store_workflow(CHILD)
        await begin_to_undo(hand, 3)
        night = Night(hand, seed)
        for _ in range(3):
            await hand.submit(PARENT)
        for _ in range(10):
            await night.play(15)
            assert (await verify(night.hand))["violations"] == []
        await night.dawn()
        report = await verify(night.hand)
        assert report["violations"] == []
        assert report["decisions"] > 10
        assert report["events"] > 100

    play(scene, callback_url="http://tenax.test")
