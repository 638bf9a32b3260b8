"""Tests that the sweep repairs fan-outs that have lost rows, from their other rows and from the log, and grants no attempts by it."""

from __future__ import annotations

from support.fan_out_workflows import RETRY, by_item, counts, each_of, fan, give_up, numbers, placed
from support.hand import Hand


async def finish(hand: Hand, id_: int, held: list) -> dict:
    """Succeeds with everything, over all the time it takes."""
    for _ in range(50):
        for a in held:
            await hand.succeed(a, a.item)
        held = await hand.lease()
        if not held and await hand.status(id_) != "running":
            break
        if not held:
            await hand.clock.advance(1)
            await hand.settle_down()
    return await hand.get(id_)


async def test_the_sweep_leaves_a_sound_fan_out_alone(hand):
    id_ = await hand.submit(fan(list(range(6)), parallelism=3, retry=RETRY))
    leased = by_item(await hand.lease())
    await hand.fail(leased[0])
    await hand.succeed(leased[1])
    before = await hand.types(id_)
    await hand.engine.sweep()
    assert await hand.types(id_) == before


async def test_lost_items_come_back_with_the_attempts_they_had_used(hand):
    id_ = await hand.submit(fan(list("abcdef"), parallelism=3, retry={**RETRY, "max_attempts": 2}))
    leased = by_item(await hand.lease())
    await hand.succeed(leased[0], 0)
    await hand.fail(leased[1])
    await hand.sql("delete from tenax.item where item_no in (1, 2, 3, 5)")
    await hand.engine.sweep()
    repaired = await hand.events_of(id_, "execution_activated")
    assert [e["data"]["restored"] for e in repaired] == [4]
    rows = await hand.sql("select item_no, state, attempt, element from tenax.item order by item_no")
    assert [(r["item_no"], r["attempt"], r["element"]) for r in rows] == [
        (1, 1, '"b"'),
        (2, 1, '"c"'),
        (3, 0, '"d"'),
        (4, 0, '"e"'),
        (5, 0, '"f"'),
    ]
    there, counted = await placed(hand)
    assert there == counted <= 3
    assert (await hand.succeed(leased[2])).status == "late", "what was running counts as lost"
    await hand.settle_down()
    assert [e["item"] for e in await hand.events(id_) if e["type"] == "lease_expired"] == [2]
    await hand.clock.advance(1)
    await hand.settle_down()
    execution = await finish(hand, id_, await hand.lease())
    assert (execution["status"], execution["result"]) == ("completed", {"each": [0, 1, 2, 3, 4, 5]})
    started = [
        (e["item"], e["attempt"])
        for e in await hand.events(id_)
        if e["type"] == "action_started" and e["item"] in (1, 2)
    ]
    assert sorted(started) == [(1, 1), (1, 2), (2, 1), (2, 2)], "no more than they were allowed"


async def test_a_lost_retry_has_no_more_attempts_and_no_more_time_than_before(hand):
    policy = {"max_attempts": 9, "initial_delay": 4, "backoff": "fixed", "jitter": 0, "give_up_after": "10s"}
    id_ = await hand.submit(fan([0, 1], parallelism=2, retry=policy, tolerate=2))
    leased = by_item(await hand.lease())
    await hand.fail(leased[0])
    await hand.clock.advance(3)
    await hand.sql("delete from tenax.item where item_no = 0")
    await hand.engine.sweep()
    assert await hand.lease() == [], "it is due when it was"
    await hand.clock.advance(1)
    await hand.settle_down()
    again = await hand.lease_one()
    assert (again.item, again.attempt) == (0, 2)
    await hand.clock.advance(3)
    assert (await hand.fail(again)).verdict == "fail", "4 s more would be 11 s since its first enqueue"
    assert (await counts(hand, id_))["failed"] == 1


async def test_where_every_item_has_a_place_a_lost_one_gets_it_back(hand):
    id_ = await hand.submit(fan([0, 1, 2], parallelism=3, retry=RETRY))
    leased = by_item(await hand.lease(slots=2))
    await hand.fail(leased[0])
    await hand.succeed(leased[1], 1)
    await hand.sql("delete from tenax.item")
    await hand.engine.sweep()
    execution = await finish(hand, id_, [])
    assert (execution["status"], execution["result"]) == ("completed", {"each": [0, 1, 2]})


async def test_wrong_counters_are_counted_anew(hand):
    id_ = await hand.submit(fan(list(range(5)), parallelism=2, tolerate=2))
    leased = by_item(await hand.lease())
    await give_up(hand, leased[0])
    await hand.sql("update tenax.fan set ended = 3, failed = 2, attempts = 9, placed = 7")
    await hand.engine.sweep()
    [row] = await hand.sql("select ended, failed, attempts, placed from tenax.fan")
    assert tuple(row) == (1, 1, 1, 2)
    assert numbers(await hand.lease()) == [2]
    assert await placed(hand) == (2, 2)
    await hand.engine.cancel(id_, actor="ann")


async def test_places_that_were_counted_too_high_are_given_out_again(hand):
    await hand.submit(fan(list(range(5)), parallelism=2))
    [first] = await hand.lease(slots=1)
    await hand.sql("update tenax.fan set placed = 3")
    await hand.succeed(first)
    assert numbers(await hand.lease()) == [1]
    await hand.engine.sweep()
    assert numbers(await hand.lease()) == [2]


async def test_a_fan_out_that_should_have_ended_is_ended(hand):
    after = {"step": "after", "needs": ["each"], "args": {"all": "{{ steps.each.result }}"}}
    id_ = await hand.submit(fan([0, 1], after, parallelism=2))
    leased = by_item(await hand.lease())
    await hand.succeed(leased[0], "zero")
    await hand.sql("update tenax.fan set ended = 0")
    await hand.succeed(leased[1], "one")
    assert await hand.lease() == [], "it thinks that one is missing"
    await hand.engine.sweep()
    assert (await hand.lease_one()).spec["args"] == {"all": ["zero", "one"]}
    assert (await each_of(hand, id_))["status"] == "completed"


async def test_a_fan_out_that_should_have_failed_fails(hand):
    id_ = await hand.submit(fan([0, 1, 2, 3], parallelism=2, tolerate=1))
    leased = by_item(await hand.lease())
    await give_up(hand, leased[0])
    await hand.sql("update tenax.fan set ended = 0, failed = 0")
    await give_up(hand, leased[1], "the second")
    assert await hand.status(id_) == "running"
    await hand.engine.sweep()
    execution = await hand.get(id_)
    assert (execution["status"], execution["steps"]["each"]["status"]) == ("failed", "failed")
    assert "2 of 4 items failed, 1 tolerated" in execution["failure"]["message"]
    assert await hand.sql("select from tenax.item") == []


async def test_one_that_cannot_be_repaired_does_not_stop_the_others(hand):
    first = {"step": "first"}
    source = fan("{{ steps.first.result }}", first, needs=["first"], parallelism=2)
    broken = await hand.submit(source)
    sound = await hand.submit(source)
    for a in await hand.lease():
        await hand.succeed(a, [1, 2])
    await hand.sql("delete from tenax.item")
    await hand.sql("update tenax.step set result = '5' where execution_id = $1", broken)
    await hand.engine.sweep()
    assert {a.execution_id for a in await hand.lease()} == {sound}


async def test_a_lost_poll_goes_on_from_where_it_was(hand):
    polling = {
        "until": {"condition": "{{ result.done }}", "delay": "5s", "max_polls": 1},
        "args": {"last": "{{ previous }}"},
        "on_failure": "continue",
    }
    await hand.submit(fan([0], {"step": "alone", **polling}, **polling))
    for a in await hand.lease():
        await hand.succeed(a, {"done": False})
    await hand.sql("delete from tenax.item")
    await hand.engine.sweep()
    await hand.clock.advance(5)
    await hand.settle_down()
    again = await hand.lease()
    assert {a.step for a in again} == {"each", "alone"}
    for a in again:
        assert a.spec["args"] == {"last": {"done": False}}
        assert (await hand.succeed(a, {"done": False})).verdict == "fail", "one poll was allowed"


async def test_a_lost_item_has_the_inputs_of_its_next_attempt(hand):
    retry = {**RETRY, "vary": [{}, {"args": {"model": "other"}}]}
    source = fan(
        [0],
        {"step": "alone", "retry": retry, "args": {"model": "first"}},
        retry=retry,
        args={"model": "first"},
    )
    await hand.submit(source)
    for a in await hand.lease():
        await hand.fail(a)
    await hand.sql("delete from tenax.item")
    await hand.engine.sweep()
    await hand.clock.advance(1)
    await hand.settle_down()
    assert [a.spec["args"] for a in await hand.lease()] == [{"model": "other"}, {"model": "other"}]
