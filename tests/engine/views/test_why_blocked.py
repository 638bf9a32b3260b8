"""Tests the reasons for which ready work does not run: reached limits, and workers that get no work."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import to_builtins
from support.hand import Hand
from support.strategies.scheduling import know_the_fleet, lease_all, one_step, submit_many


async def told(hand: Hand, id_: int, what: str = "limited") -> str | None:
    """The same in the execution and in the list."""
    [listed] = [one for one in await hand.engine.list() if one.id == id_]
    standing = (await hand.get(id_))["steps"]["only"][what]
    assert to_builtins(getattr(listed.waiting, what)) == standing
    return None if standing is None else standing["reason"]


@pytest.mark.parametrize(
    ("concurrency", "words"),
    [
        (2, "2 of 2 of `only` run (concurrency)"),
        ({"limit": 2, "action": "mail"}, "2 of 2 of `mail` run (concurrency)"),
        ({"limit": 2, "key": "{{ input.key }}"}, "2 of 2 of `only` with the key 'a:b/c' run (concurrency)"),
        (
            {"limit": 5, "action": "mail", "key": "{{ input.key }}", "key_limit": 2},
            "2 of 2 of `mail` with the key 'a:b/c' run (concurrency)",
        ),
    ],
)
async def test_a_step_says_at_which_limit_it_waits(hand, concurrency, words):
    await hand.register("w1")
    ids = await submit_many(hand, 3, one_step(concurrency=concurrency), key="a:b/c")
    assert await told(hand, ids[2]) is None, "nothing runs yet"
    first, _ = await lease_all(hand)
    assert await told(hand, ids[2]) == words
    assert await told(hand, ids[2], "unserved") is None
    limited = (await hand.get(ids[2]))["steps"]["only"]["limited"]
    assert (limited["queue"], limited["held_by"]) == (None, ids[:2]), "the executions to look at"
    assert await told(hand, ids[0]) is None, "it runs"
    await hand.succeed(first)
    assert await told(hand, ids[2]) is None, "there is room"


async def limit(hand: Hand, **limits: Any) -> None:
    await hand.engine.limit_queue(
        "default", **{"concurrency": None, "rate": None, "burst": None, **limits}, actor="me"
    )
    await know_the_fleet(hand)


async def test_the_limits_of_a_queue(hand):
    await hand.register("w1")
    await limit(hand, concurrency=1)
    ids = await submit_many(hand, 4)
    [first] = await lease_all(hand)
    assert await told(hand, ids[3]) == "1 of 1 of the queue default run"
    limited = (await hand.get(ids[3]))["steps"]["only"]["limited"]
    assert (limited["queue"], limited["held_by"]) == ("default", [])
    await limit(hand, rate=0.5, burst=1)
    await hand.succeed(first)
    await lease_all(hand)
    assert await told(hand, ids[3]) == "the rate of the queue default, 30/m, is used up"
    await hand.clock.advance(2)
    assert await told(hand, ids[3]) is None
    await limit(hand)
    assert await told(hand, ids[3]) is None


async def test_a_fan_out_that_runs_says_what_the_rest_of_it_waits_at(hand):
    id_ = await hand.submit(one_step(for_each=list(range(6)), parallelism=6, concurrency=2))
    assert len(await lease_all(hand)) == 2
    step = (await hand.get(id_))["steps"]["only"]
    assert step["limited"]["reason"] == "2 of 2 of `only` run (concurrency)"


async def test_who_is_able_and_kept_from_it_is_named(hand):
    await hand.register("a")
    await hand.register("b", runtimes=("http",))
    await hand.engine.pause_worker("a", actor="me")
    id_ = await hand.submit()
    assert "a is paused" in (await told(hand, id_, "unserved") or "")
    idle = (await hand.get(id_))["steps"]["only"]["unserved"]["idle"]
    assert idle == [{"name": "a", "state": "paused", "state_actor": "me", "health": "healthy"}]


async def test_a_paused_execution_waits_at_nothing(hand):
    id_ = await hand.submit()
    assert await told(hand, id_, "unserved") == "no worker is live"
    await hand.engine.pause(id_, actor="me")
    assert await told(hand, id_, "unserved") is None


async def test_a_held_item_is_named_with_the_workers_it_has_cost(hand):
    retry = {"max_attempts": 9, "backoff": "none"}
    id_ = await hand.submit(one_step(for_each=["a", "b"], parallelism=1, retry=retry))
    for name in ("a", "b", "c"):
        await hand.register(name)
        await hand.lease_one(name)
        await hand.pass_time(40)
        await hand.engine.reap()
    held = (await hand.get(id_))["steps"]["only"]["held"]
    assert (held["item"], held["lost_by"]) == (0, ["a", "b", "c"])
    [item] = await hand.engine.items(id_, "only", states=["held"])
    assert item.lost_by == ["a", "b", "c"]
    [listed] = await hand.engine.list()
    assert (listed.waiting.item, listed.waiting.lost_by) == (0, ["a", "b", "c"])
