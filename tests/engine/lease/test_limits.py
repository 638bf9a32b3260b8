"""Tests `concurrency` of steps, actions and keys: never exceeded, and with no room left unused."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from support.hand import Hand
from support.strategies.scheduling import (
    ask,
    claim_all,
    lease_all,
    left_out,
    one_step,
    running,
    servers,
    submit_many,
)

from tenax.engine.recover.unserved_work import UnservedWork
from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Assignment

BY_KEY = "{{ input.key }}"
CALLED_BACK = {"type": "http", "url": "http://callee", "async": {"deadline": "1h"}}


async def submit_keys(hand: Hand, keys: str, source: str) -> list[int]:
    """One execution for each letter, one second after the other."""
    ids = []
    for key in keys:
        ids += await submit_many(hand, 1, source, key=key)
        await hand.clock.advance(1)
    return ids


async def executions(leased: Awaitable[list[Assignment]]) -> list[int]:
    return sorted(a.execution_id for a in await leased)


# -- by step, action and key


async def test_so_many_of_a_step_over_all_executions(hand):
    await submit_many(hand, 6, one_step(concurrency=2))
    others = await submit_many(hand, 3, one_step("other", concurrency=2))
    first = await lease_all(hand)
    assert len(first) == 4
    assert sum(a.execution_id in others for a in first) == 2, "steps of other workflows are counted apart"
    [mine, _] = [a for a in first if a.execution_id not in others]
    await hand.succeed(mine)
    assert len(await lease_all(hand)) == 1
    assert await left_out(hand) == []


async def test_an_action_is_shared_by_the_steps_that_name_it(hand):
    limit = {"limit": 3, "action": "mail"}
    both = json.dumps(
        {
            "name": "both",
            "workflow": [
                {"step": name, "type": "python", "task": "t:t", "needs": [], "concurrency": limit}
                for name in ("a", "b")
            ],
        }
    )
    await submit_many(hand, 2, both)
    await submit_many(hand, 4, one_step("third", concurrency=limit))
    leased = await lease_all(hand)
    assert len(leased) == 3
    for n in range(5):
        await hand.succeed(leased.pop())
        leased += await lease_all(hand)
        assert len(leased) == 3, n
    for left in (2, 1, 0):
        await hand.succeed(leased.pop())
        assert len(leased) == left
        assert await lease_all(hand) == []


async def test_so_many_of_each_key_over_all_executions(hand):
    ids = await submit_keys(hand, "aaabbc", one_step(concurrency={"limit": 1, "key": BY_KEY}))
    first = await lease_all(hand)
    assert sorted(a.execution_id for a in first) == [ids[0], ids[3], ids[5]]
    await hand.succeed(next(a for a in first if a.execution_id == ids[0]))
    assert await executions(lease_all(hand)) == [ids[1]]
    await hand.succeed(next(a for a in first if a.execution_id == ids[5]))
    assert await lease_all(hand) == [], "nobody else has that key"


async def test_so_many_of_each_key_of_a_fan_out(hand):
    keyed = {"limit": 2, "key": "{{ item.who }}"}
    people = [{"who": who} for who in "aaaaabbbc"]
    await hand.submit(one_step(for_each=people, parallelism=9, concurrency=keyed))
    first = await lease_all(hand)
    assert Counter(people[a.item]["who"] for a in first) == {"a": 2, "b": 2, "c": 1}
    for assignment in first:
        await hand.succeed(assignment)
    assert Counter(people[a.item]["who"] for a in await lease_all(hand)) == {"a": 2, "b": 1}


async def test_an_action_and_its_keys_are_both_limited(hand):
    source = one_step(concurrency={"limit": 3, "key": BY_KEY, "key_limit": 1})
    ids = await submit_keys(hand, "aaabbcdd", source)
    first = await lease_all(hand)
    assert sorted(a.execution_id for a in first) == [ids[0], ids[3], ids[5]]
    await hand.succeed(next(a for a in first if a.execution_id == ids[3]))
    assert await executions(lease_all(hand)) == [ids[4]], "b again: it waited longer than d"
    await hand.succeed(next(a for a in first if a.execution_id == ids[5]))
    assert await executions(lease_all(hand)) == [ids[6]]
    assert max((await running(hand)).values()) == 3


async def test_a_place_is_not_kept_for_items_whose_key_is_at_its_limit(hand):
    """Fifty of one key wait in front; the place that is free goes to the one behind them, at once."""
    source = one_step(concurrency={"limit": 2, "key": BY_KEY, "key_limit": 1})
    await submit_many(hand, 1, source, key="a")
    await submit_many(hand, 1, source, key="b")
    leased = await lease_all(hand)
    assert len(leased) == 2
    await submit_many(hand, 50, source, key="a")
    await hand.clock.advance(1)
    [behind] = await submit_many(hand, 1, source, key="c")
    assert await lease_all(hand) == []
    await hand.succeed(max(leased, key=lambda a: a.execution_id))
    assert await executions(lease_all(hand)) == [behind]


async def test_two_places_do_not_go_to_one_key_that_has_room_for_one(hand):
    source = one_step(concurrency={"limit": 4, "key": BY_KEY, "key_limit": 1})
    await submit_keys(hand, "abcd", source)
    leased = await lease_all(hand)
    await submit_keys(hand, "eeefff", source)
    assert await lease_all(hand) == []
    reports = [hand.succeed(assignment) for assignment in leased[:2]]
    await asyncio.gather(*reports)
    assert await left_out(hand) != []
    assert len(await lease_all(hand)) == 2
    assert await left_out(hand) == []


async def test_a_limit_that_was_changed_holds_for_those_that_have_it(hand):
    """Two versions of a workflow, with other limits for the same step: each waits for its own."""
    await submit_many(hand, 3, one_step(concurrency=3))
    leased = await lease_all(hand)
    await hand.clock.advance(1)
    strict = await submit_many(hand, 2, one_step(concurrency=1))
    await hand.clock.advance(1)
    await submit_many(hand, 2, one_step(concurrency=3))
    assert await lease_all(hand) == []
    await hand.succeed(leased[0])
    assert [a.execution_id in strict for a in await lease_all(hand)] == [False]
    for assignment in leased[1:]:
        await hand.succeed(assignment)
    [another] = await lease_all(hand)
    assert another.execution_id not in strict


async def test_items_at_their_limit_do_not_stop_those_behind_them(hand):
    await submit_many(hand, 200, one_step(concurrency=1))
    await hand.clock.advance(1)
    behind = await submit_many(hand, 1, one_step("other", concurrency=1))
    behind += await submit_many(hand, 1)
    assert set(await executions(lease_all(hand, 3))) >= set(behind)
    assert await lease_all(hand, 1) == []


async def test_a_long_row_at_its_limit_is_passed_in_a_few_claims(hand):
    each = one_step("fan_out", for_each=list(range(3000)), parallelism=3000, concurrency=2)
    await hand.submit(each)
    assert [len(await hand.lease(slots=3)) for _ in range(6)] == [2, 0, 0, 0, 0, 0]
    [row] = await hand.sql("select count(*) filter (where standing = 'blocked') as n from tenax.item")
    assert row["n"] == 2998


# -- a place that is free is used at once

Way = Callable[[Hand, Assignment], Awaitable[Any]]


async def expires(hand: Hand, _: Assignment) -> None:
    await hand.pass_time(30)
    assert await hand.engine.reap() == 1


async def is_called_back(hand: Hand, held: Assignment) -> None:
    await hand.report(held, Outcome("accepted"))
    assert await lease_all(hand) == [], "what the callee has counts"
    done = Outcome("succeeded", 1)
    answer = await hand.engine.callback(held.execution_id, held.item_id, 1, held.receipt, done)
    assert answer.status == "applied"


WAYS: dict[str, Way] = {
    "succeeds": lambda hand, held: hand.succeed(held),
    "fails": lambda hand, held: hand.fail(held, fatal=True, message="no"),
    "is retried": lambda hand, held: hand.fail(held),
    "is snoozed": lambda hand, held: hand.report(held, Outcome("snoozed", after=60.0)),
    "is cancelled": lambda hand, held: hand.engine.cancel(held.execution_id, actor="me"),
    "expires": expires,
    "is called back": is_called_back,
}
LIMITS = {
    "step": 1,
    "action": {"limit": 1, "action": "x"},
    "key": {"limit": 1, "key": BY_KEY},
    "both": {"limit": 1, "key": BY_KEY, "key_limit": 1},
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.settings(callback_url="http://tenax.test")
async def test_the_next_goes_on_as_soon_as_one(hand, way, limit):
    first, second, _ = await submit_many(hand, 3, one_step(concurrency=LIMITS[limit], **CALLED_BACK))
    [held] = await lease_all(hand)
    assert held.execution_id == first
    assert await lease_all(hand) == []
    await WAYS[way](hand, held)
    assert await executions(lease_all(hand)) == [second]


async def test_a_lease_that_is_handed_back_is_the_next(hand):
    await submit_many(hand, 3, one_step(concurrency=1))
    for n in range(4):
        [held] = await lease_all(hand)
        assert await lease_all(hand) == [], n
        await hand.hand_back(held)
    assert max((await running(hand)).values(), default=0) == 0


async def test_who_waits_hears_of_it_without_a_look_at_the_fleet(hand):
    await submit_many(hand, 2, one_step(concurrency=1))
    [held] = await lease_all(hand)
    loop = asyncio.create_task(hand.engine.dispatcher.run())
    parked = asyncio.create_task(hand.engine.lease(ask("w2", 1, wait=60)))
    await asyncio.wait([parked], timeout=0.2)
    assert not parked.done()
    async with asyncio.timeout(10):
        await hand.succeed(held)
        assert len(await parked) == 1
    loop.cancel()


async def test_one_that_is_turned_away_while_a_place_becomes_free_is_not_forgotten(hand):
    """A claim has counted, and not committed yet, when what it counted ends."""
    await submit_many(hand, 1, one_step(concurrency=1))
    [held] = await lease_all(hand)
    await submit_many(hand, 1, one_step(concurrency=1))
    engine = hand.engine
    async with engine.context.transaction() as tx:
        claimed = await engine.dispatcher._claims.take_in_full(tx, [ask("w2")])
        assert (claimed.items, claimed.blocked) == ([], 1)
        report = asyncio.create_task(hand.succeed(held))
        await asyncio.wait([report], timeout=0.3)
    await report
    assert len(await lease_all(hand)) == 1


async def test_room_that_nobody_was_told_of_is_found_by_the_look_at_the_fleet(hand):
    source = one_step(concurrency={"limit": 2, "key": BY_KEY, "key_limit": 1})
    await submit_many(hand, 1, source, key="a")
    await lease_all(hand)
    await submit_many(hand, 30, source, key="a")
    await hand.clock.advance(1)
    [behind] = await submit_many(hand, 1, source, key="b")
    await submit_many(hand, 1, one_step("plain", concurrency=1))
    await hand.sql("update tenax.item set stopped_by = 'limit' where state = 'queued'")
    assert await lease_all(hand) == []
    assert await UnservedWork(hand.engine.context).unblock_forgotten() == 2
    assert behind in await executions(lease_all(hand))
    assert await UnservedWork(hand.engine.context).unblock_forgotten() == 0
    assert await left_out(hand) == []


async def test_an_execution_that_is_paused_at_a_limit_is_in_nobodys_way(hand):
    _, paused, third = await submit_many(hand, 3, one_step(concurrency=1))
    [held] = await lease_all(hand)
    await hand.engine.pause(paused, actor="me")
    await hand.succeed(held)
    [held] = await lease_all(hand)
    assert held.execution_id == third
    await hand.engine.resume(paused, actor="me")
    assert await lease_all(hand) == []
    await hand.succeed(held)
    assert await executions(lease_all(hand)) == [paused]


async def test_one_that_is_resumed_where_there_is_room_again_goes_on_at_once(hand):
    _, paused = await submit_many(hand, 2, one_step(concurrency=1))
    [held] = await lease_all(hand)
    assert await lease_all(hand) == []
    await hand.engine.pause(paused, actor="me")
    await hand.succeed(held)
    assert await lease_all(hand) == []
    await hand.engine.resume(paused, actor="me")
    assert await executions(lease_all(hand)) == [paused]


async def test_the_worker_of_one_execution_obeys_limits_too(hand):
    each = one_step(for_each=list(range(20)), parallelism=20, concurrency=3)
    others, mine = await submit_many(hand, 2, each)
    theirs = await hand.lease(slots=2, execution_id=others)
    assert len(theirs) == 2
    [own] = await lease_all(hand, execution_id=mine)
    assert await lease_all(hand, execution_id=others) == []
    await hand.succeed(theirs[0])
    assert len(await lease_all(hand, execution_id=mine) + await lease_all(hand, execution_id=others)) == 1
    await hand.succeed(own)
    assert max((await running(hand)).values()) == 2


@pytest.mark.parametrize("count", [2, 3])
async def test_limits_are_exact_with_several_servers(hand, count):
    source = one_step(concurrency={"limit": 7, "key": BY_KEY, "key_limit": 2})
    fleet = await servers(hand, count)
    for key in "abcdef":
        await submit_many(hand, 8, source, key=key)
    done, leased = 0, []
    while done < 48:
        asking = [claim_all(one.engine, ask(f"w{n}", 5)) for n, one in enumerate(fleet)]
        leased += [a for [given] in await asyncio.gather(*asking) for a in given]
        now = await running(hand)
        assert now.pop("step:one/only") <= 7
        assert max(now.values()) <= 2
        assert leased, "someone goes on"
        ending, leased = leased[:3], leased[3:]
        await asyncio.gather(*(fleet[n % count].succeed(a) for n, a in enumerate(ending)))
        done += len(ending)


def random_source(roll: random.Random) -> str:
    name = roll.choice(["x", "y", "z"])
    limit = roll.choice(
        [
            2,
            {"limit": 3, "action": "shared"},
            {"limit": 1, "key": BY_KEY},
            {"limit": 3, "action": "shared", "key": BY_KEY, "key_limit": 1},
            {"limit": 4, "key": BY_KEY, "key_limit": 2},
        ]
    )
    keys: dict[str, Any] = {"concurrency": limit, **CALLED_BACK}
    if roll.random() < 0.3:
        keys |= {"for_each": list(range(roll.choice([3, 14]))), "parallelism": roll.choice([2, 14])}
    return one_step(name, **keys)


async def random_turn(hand: Hand, roll: random.Random, held: list[Assignment]) -> None:
    """Something happens to one of those that run, or to an execution, or something new comes."""
    if not held or roll.random() < 0.3:
        await submit_many(hand, roll.randrange(1, 4), random_source(roll), key=roll.choice("abc"))
        return
    one = held.pop(roll.randrange(len(held)))
    match roll.randrange(7):
        case 0 | 1:
            await hand.succeed(one)
        case 2:
            await hand.fail(one)
        case 3:
            await hand.hand_back(one)
        case 4:
            await hand.report(one, Outcome("accepted"))
        case 5 if await hand.status(one.execution_id) in ("running", "paused"):
            await hand.engine.cancel(one.execution_id, actor="me")
        case _:
            await hand.clock.advance(6)
            await hand.settle_down()


async def limits_of(hand: Hand) -> dict[str, int]:
    rows = await hand.sql(
        """
        select g.gate, max(g.most) as most
          from tenax.item i
         cross join lateral (values ((i.limits).action, (i.limits).action_most),
                                    ((i.limits).key, (i.limits).key_most)) as g (gate, most)
         where g.gate is not null and i.standing = 'running'
         group by g.gate
        """
    )
    return {row["gate"]: row["most"] for row in rows}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.settings(callback_url="http://tenax.test")
async def test_whatever_happens_limits_hold_and_no_place_is_left_unused(hand, seed):
    roll = random.Random(seed)
    held: list[Assignment] = []
    for turn in range(60):
        await random_turn(hand, roll, held)
        [given] = await claim_all(hand.engine, ask(slots=200))
        held += given
        now, most = await running(hand), await limits_of(hand)
        assert {gate: n for gate, n in now.items() if n > most[gate]} == {}, f"turn {turn}"
        assert await left_out(hand) == [], f"turn {turn}"
