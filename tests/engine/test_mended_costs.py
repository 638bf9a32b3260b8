"""What a review broke, and was mended: many reports at once, what is read again and again, who waits for whom, and for how long."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest
from fans import CALL, fan
from hand import Hand
from sent import counting

from tenax.engine.recover import timers
from tenax.engine.recover.timers import LONGEST, SHORTEST
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import Assignment, Report
from tenax.store.tables.queue import next_wake
from tenax.store.transaction import transaction

LARGE = ["x" * 100] * 2000


def reported(leased: list[Assignment], outcome: Outcome) -> list[Report]:
    return [Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step, a.item) for a in leased]


async def lease_ends(hand: Hand, a: Assignment) -> datetime:
    [row] = await hand.sql("select expires_at from tenax.item where id = $1", a.item_id)
    return row["expires_at"]


# -- reports


async def test_the_same_reports_again_get_the_same_answers_however_many_they_are(hand):
    """An outcome and what was decided on it may not come apart, where the log has many events at once."""
    retry = {"max_attempts": 2, "initial_delay": 0, "jitter": 0}
    no = Outcome("failed", facts=Facts(status_code=503, message="x"))
    id_ = await hand.submit(fan(list(range(40)), parallelism=40, retry=retry, tolerate=40))
    for verdict in ("retry", "fail"):
        await hand.settle_down()
        reports = reported(await hand.lease(slots=40), no)
        first = await hand.engine.report(reports)
        assert {(answer.status, answer.verdict) for answer in first} == {("applied", verdict)}
        assert await hand.engine.report(reports) == first
    assert await hand.status(id_) == "completed"


async def test_a_late_result_says_of_which_item_it_is_though_that_is_gone(hand):
    id_ = await hand.submit(fan([0, 1], {"step": "z"}, parallelism=2, tolerate=2))
    leased = {(a.step, a.item): a for a in await hand.lease()}
    await hand.pass_time(31)
    await hand.engine.reap()
    answers = await hand.engine.report(reported(list(leased.values()), Outcome("succeeded", 1)))
    assert {answer.status for answer in answers} == {"late"}
    late = await hand.events_of(id_, "late_result")
    assert {(e["step"], e["item"]) for e in late} == {("each", 0), ("each", 1), ("z", None)}


async def test_late_and_repeated_reports_are_looked_up_at_once(hand):
    await hand.submit(fan(list(range(30)), parallelism=30, tolerate=30))
    leased = await hand.lease(slots=30)
    await hand.engine.report(reported(leased[:10], Outcome("succeeded", 1)))
    await hand.pass_time(31)
    await hand.engine.reap()
    looked = await counting(hand, "find_outcomes")
    answers = await hand.engine.report(reported(leased, Outcome("succeeded", 1)))
    assert [answer.status for answer in answers] == ["applied"] * 10 + ["late"] * 20
    assert len(looked) == 1


# -- what is read


async def test_a_large_result_that_every_item_reads_is_read_once(hand):
    steps = {"step": "first"}
    args = {"x": "{{ steps.first.result[index] }}"}
    await hand.submit(fan(list(range(8)), steps, needs=["first"], parallelism=8, args=args))
    await hand.succeed(await hand.lease_one(), [f"{n} {LARGE}" for n in range(8)])
    read = await counting(hand, "load_step_results")
    leased = [a for _ in range(4) for a in await hand.lease(slots=2)]
    assert [a.spec["args"]["x"][:3] for a in leased] == [f"{n} [" for n in range(8)]
    assert len(read) == 1


async def test_a_large_result_that_a_fallback_may_still_replace_is_not_remembered(hand):
    first = {"step": "first", "on_failure": {"step": "second"}}
    reads = {"got": "{{ steps.first.result }}", "how": "{{ steps.first.status }}"}
    steps = [first, {"step": "second", "args": reads}, {"step": "last", "needs": ["first"], "args": reads}]
    await hand.submit(fan([], *steps))
    await hand.fail(await hand.lease_one(), fatal=True, message="x" * 200_000)
    second = await hand.lease_one()
    assert second.spec["args"] == {"got": None, "how": "failed"}
    await hand.succeed(second, LARGE)
    assert (await hand.lease_one()).spec["args"] == {"got": LARGE, "how": "failed"}


async def test_conditions_of_many_steps_read_a_stored_result_once(hand):
    wide = [
        {"step": f"s{n}", "needs": ["a", "b"], "when": "steps.a.result.go and steps.b.result"}
        for n in range(30)
    ]
    await hand.submit(fan([], {"step": "a"}, {"step": "b", "needs": ["a"]}, *wide))
    await hand.succeed(await hand.lease_one(), {"go": True})
    b = await hand.lease_one()
    read = await counting(hand, "load_step_results")
    await hand.succeed(b, 1)
    assert len(read) == 1
    assert len(await hand.lease(slots=50)) == 30


@pytest.mark.parametrize("reads", ["{{ item }}", "{{ input.rows[index] }}"])
async def test_a_large_input_is_read_only_by_those_who_need_it(hand, reads):
    rows = [f"{n} {n * 7919 % 10007}" for n in range(5000)]
    top = {"input": {"rows": {}}}
    source = fan("{{ input.rows }}", top=top, parallelism=9, args={"x": reads})
    await hand.submit(source, input={"rows": rows})
    read = await counting(hand, "load_inputs")
    leased = await hand.lease(slots=5)
    assert [a.spec["args"]["x"] for a in sorted(leased, key=lambda a: a.item or 0)] == rows[:5]
    assert len(read) == ("input" in reads)


async def test_news_number_what_is_new_as_the_whole_history_does(hand):
    id_ = await hand.submit(fan(list(range(50)), parallelism=50))
    seen, cursor = [], None
    for slots in (40, 7, 3):
        leased = await hand.lease(slots=slots)
        news = await hand.news(id_, cursor=cursor)
        await hand.engine.report(reported(leased, Outcome("succeeded", 1)))
        seen += news["events"]
        cursor = news["cursor"]
    last = await hand.news(id_, cursor=cursor)
    assert [*seen, *last["events"]] == list(await hand.events(id_))
    assert (await hand.news(id_, cursor=last["cursor"]))["events"] == []


# -- heartbeats


async def test_a_heartbeat_waits_for_nobody_and_gives_up_nothing_that_is_being_decided_on(hand):
    await hand.submit(fan([0, 1, 2], parallelism=3))
    leased = await hand.lease()
    locked, free, gone = leased
    before = await lease_ends(hand, locked)
    await hand.clock.advance(10)
    await hand.succeed(gone)
    async with transaction(hand.engine.core.database) as rival:
        await rival.execute("select from tenax.item where id = $1 for update", locked.item_id)
        async with asyncio.timeout(10):
            answer = await hand.beat(*leased)
    assert [held.item_id for held in answer.revoked] == [gone.item_id]
    assert await lease_ends(hand, locked) == before
    assert await lease_ends(hand, free) > before
    assert (await hand.beat(locked, free)).revoked == ()
    assert await lease_ends(hand, locked) > before


# -- due times

SOON = {"deadline": 'name: p\ndeadline: 1s\nworkflow: [{step: s, type: python, task: "t:t"}]\n',
        "queue_ttl": 'name: p\nworkflow: [{step: s, type: python, task: "t:t", queue_ttl: 1s}]\n',
        "wait": "name: p\nworkflow: [{step: s, type: wait, deadline: 1s}]\n",
        "sleep": "name: p\nworkflow: [{step: s, type: sleep, for: 1s}]\n"}  # fmt: skip


@pytest.mark.parametrize("source", SOON.values(), ids=SOON)
async def test_what_runs_out_soon_is_told_to_the_timers_and_seen_on_time(hand, source):
    told: list[float] = []
    hub = hand.engine.core.hub
    hub.tell(replace(hub.listeners, due=told.append))
    id_ = await hand.submit(source)
    await hand.settle_down()
    assert min(told) == 1.0
    assert await hand.engine.timers.tick() == 1.0
    await hand.clock.advance(1)
    await hand.engine.timers.tick()
    assert await hand.status(id_) != "running"


async def test_so_is_the_time_in_the_queue_of_a_step_that_comes_later(hand):
    steps = [{**CALL, "step": "first"}, {"step": "second", "needs": ["first"], "queue_ttl": "3s"}]
    _, first = await hand.start(fan([], *steps))
    told: list[float] = []
    hub = hand.engine.core.hub
    hub.tell(replace(hub.listeners, due=told.append))
    await hand.succeed(first)
    assert told == [3.0]


async def test_what_runs_out_later_than_the_next_look_is_not_looked_for(hand):
    """Else each look goes over all leases that have ended since the last vacuum: they would have run out sooner."""
    await hand.submit()
    await hand.lease_one()
    async with hand.engine.core.statements() as tx:
        soon, at_some_time = [await next_wake(tx, [], within) for within in (29.0, 31.0)]
    assert soon.expiry is None
    assert (at_some_time.expiry - at_some_time.now).total_seconds() == 30
    assert await hand.engine.timers.tick() == LONGEST
    await hand.pass_time(26)
    assert await hand.engine.timers.tick() == 4.0


@pytest.mark.parametrize(("price", "pause"), [(0.0, 0.001), (1e9, SHORTEST)])
async def test_where_much_falls_due_the_next_look_comes_after_a_rest(hand, monkeypatch, price, pause):
    monkeypatch.setattr(timers, "REST", price)
    await hand.submit()
    await hand.fail(await hand.lease_one())
    wait = await hand.engine.timers.tick()
    await hand.clock.advance(wait - 0.001)
    assert await hand.engine.timers.tick() == pytest.approx(pause)
