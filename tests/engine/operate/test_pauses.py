"""Queues and workflows are paused and resumed: nothing of them starts meanwhile, and everything goes on afterwards."""

from __future__ import annotations

import pytest
from support.child_workflows import LEAF, begun, calling, child_of
from support.hand import ONE_STEP, Hand, one_postgres
from support.laws import verify

from tenax.errors import NotFound, UsageError

pytestmark = one_postgres

SLOW = 'name: slow\nworkflow: [{step: a, type: python, task: "t:t", queue: slow}]\n'
NAMED = 'name: nightly\nworkflow: [{step: a, type: python, task: "t:t"}, {step: b, type: python, task: "t:t", needs: [a]}]\n'
OTHER = NAMED.replace("nightly", "other")


async def learn(hand: Hand) -> None:
    await hand.engine.dispatcher.fleet.catch_up()


async def settle(hand: Hand) -> None:
    while await hand.engine.workflow_pauses.work():
        pass


# -- queues


async def test_no_item_of_a_paused_queue_starts(hand):
    first, other = await hand.submit(SLOW), await hand.submit(ONE_STEP)
    assert await hand.engine.pause_queue("slow", actor="ann", reason="the API is down")
    assert not await hand.engine.pause_queue("slow", actor="eve"), "it was so already"
    await learn(hand)
    second = await hand.submit(SLOW)
    leased = await hand.lease(slots=9, queues=("slow", "default"))
    assert [one.execution_id for one in leased] == [other]
    [queue] = [one for one in await hand.engine.queues() if one.queue == "slow"]
    assert (queue.paused_by, queue.paused_why, queue.concurrency, queue.ready) == (
        "ann",
        "the API is down",
        None,
        2,
    )
    told = await hand.engine.diagnose_queue("slow")
    assert told.sentence == "Queue slow does not move: it is paused by ann: the API is down."
    assert told.remedies[0].command == ["queues", "resume", "slow"]
    waits = await hand.engine.diagnose(first)
    assert waits.sentence == "Step a does not run now: the queue slow is paused by ann: the API is down."
    assert waits.remedies[0].command == ["queues", "resume", "slow"]
    assert await hand.engine.resume_queue("slow", actor="bob")
    assert not await hand.engine.resume_queue("slow", actor="bob")
    await learn(hand)
    leased = await hand.lease(slots=9, queues=("slow",))
    assert sorted(one.execution_id for one in leased) == [first, second]
    rows = await hand.sql("select data from tenax.event where type = 'operator_action' order by id")
    assert [row["data"] for row in rows] == [
        '{"actor": "ann", "queue": "slow", "action": "queue_pause", "reason": "the API is down"}',
        '{"actor": "bob", "queue": "slow", "action": "queue_resume", "reason": null}',
    ]


async def test_a_pause_keeps_the_limits_and_the_limits_keep_the_pause(hand):
    limit = hand.engine.limit_queue
    await limit("slow", concurrency=2, rate=None, burst=None, actor="ann")
    await hand.engine.pause_queue("slow", actor="ann")
    await limit("slow", concurrency=None, rate=None, burst=None, actor="ann")
    await learn(hand)
    await hand.submit(SLOW)
    assert await hand.lease(queues=("slow",)) == []
    await limit("slow", concurrency=1, rate=None, burst=None, actor="ann")
    assert await hand.lease(queues=("slow",)) == []
    await hand.engine.resume_queue("slow", actor="ann")
    [queue] = [one for one in await hand.engine.queues() if one.queue == "slow"]
    assert (queue.paused_by, queue.concurrency) == (None, 1)
    await hand.submit(SLOW)
    assert len(await hand.lease(slots=9, queues=("slow",))) == 1


async def test_a_queue_with_a_wrong_name_is_refused(hand):
    with pytest.raises(UsageError):
        await hand.engine.pause_queue("two\nlines", actor="ann")


# -- workflows


async def test_nothing_of_a_paused_workflow_starts(hand):
    old, other = await hand.submit(NAMED), await hand.submit(OTHER)
    assert await hand.engine.pause_workflow("nightly", actor="ann", reason="wrong prices")
    assert not await hand.engine.pause_workflow("nightly", actor="ann")
    new = await hand.submit(NAMED)
    assert await hand.status(new) == "paused", "it begins paused"
    assert await hand.types(new) == [
        "execution_started",
        "step_enqueued",
        "operator_action",
        "execution_paused",
    ]
    await settle(hand)
    assert [await hand.status(id_) for id_ in (old, new, other)] == ["paused", "paused", "running"]
    assert [one.execution_id for one in await hand.lease(slots=9)] == [other]
    told = await hand.engine.diagnose(new)
    assert "paused (by ann: wrong prices)" in told.sentence
    assert [one.command for one in told.remedies] == [
        ["workflows", "resume", "nightly"],
        ["resume", str(new)],
    ]
    [info] = await hand.engine.workflows()
    assert (info.name, info.paused_by, info.created_at) == ("nightly", "ann", None), "it was never stored"
    assert await hand.engine.resume_workflow("nightly", actor="bob", reason="mended")
    assert list(await hand.engine.workflows()) == []
    assert not await hand.engine.resume_workflow("nightly", actor="bob")
    later = await hand.submit(NAMED)
    await settle(hand)
    assert [await hand.status(id_) for id_ in (old, new, later)] == ["running"] * 3
    assert sorted(one.execution_id for one in await hand.lease(slots=9)) == [old, new, later]
    acted = [(one["action"], one["actor"]) for one in await hand.data_of(old, "operator_action")]
    assert acted == [("pause", "ann"), ("resume", "bob")]
    assert await hand.sql("select from tenax.workflow_pause") == []
    assert await hand.sql("select from tenax.workflow_paused") == []
    assert (await verify(hand))["violations"] == []


async def test_a_batch_with_keys_and_other_workflows_begins_as_it_should(hand):
    await hand.submit(NAMED, key="k")
    await hand.engine.pause_workflow("nightly", actor="ann")
    again, paused, other = (
        await hand.submit(NAMED, key="k"),
        await hand.submit(NAMED, key="l"),
        await hand.submit(OTHER),
    )
    assert [await hand.status(id_) for id_ in (again, paused, other)] == ["running", "paused", "running"]
    assert (await verify(hand))["violations"] == []


async def test_a_running_attempt_may_finish_and_what_follows_waits(hand):
    id_ = await hand.submit(NAMED)
    leased = await hand.lease_one()
    await hand.engine.pause_workflow("nightly", actor="ann")
    await settle(hand)
    await hand.succeed(leased)
    assert await hand.lease() == []
    await hand.engine.resume_workflow("nightly", actor="ann")
    await settle(hand)
    await hand.succeed(await hand.lease_one())
    assert await hand.status(id_) == "completed"
    assert (await verify(hand))["violations"] == []


async def test_what_a_person_paused_or_resumed_stays_so(hand):
    mine, let_go = await hand.submit(NAMED), await hand.submit(NAMED)
    await hand.engine.pause(mine, actor="eve")
    await hand.engine.pause_workflow("nightly", actor="ann")
    await settle(hand)
    await hand.engine.resume(let_go, actor="eve")
    await settle(hand)
    assert [await hand.status(id_) for id_ in (mine, let_go)] == ["paused", "running"]
    await hand.engine.resume_workflow("nightly", actor="ann")
    await settle(hand)
    assert [await hand.status(id_) for id_ in (mine, let_go)] == ["paused", "running"]


async def test_a_workflow_that_is_paused_again_while_it_is_resumed_stays_paused(hand):
    id_ = await hand.submit(NAMED)
    await hand.engine.pause_workflow("nightly", actor="ann")
    await settle(hand)
    await hand.engine.resume_workflow("nightly", actor="bob")
    assert await hand.engine.pause_workflow("nightly", actor="eve", reason="no")
    await settle(hand)
    assert await hand.status(id_) == "paused"
    assert await hand.status(await hand.submit(NAMED)) == "paused"


async def test_a_child_of_a_paused_workflow_begins_paused(hand):
    await hand.engine.store_workflow(LEAF)
    await hand.engine.pause_workflow("leaf", actor="ann")
    [info] = await hand.engine.workflows()
    assert (info.name, info.paused_by) == ("leaf", "ann")
    id_ = await begun(hand, calling())
    child = await child_of(hand, id_)
    assert [await hand.status(one) for one in (id_, child)] == ["running", "paused"]
    assert await hand.lease() == []
    await hand.engine.resume_workflow("leaf", actor="ann")
    await settle(hand)
    await hand.succeed(await hand.lease_one(), "well")
    await hand.settle_down()
    assert await hand.status(id_) == "completed"
    assert (await verify(hand))["violations"] == []


async def test_an_execution_that_ends_while_its_workflow_is_paused_is_forgotten(hand):
    id_ = await hand.submit(NAMED)
    await hand.engine.pause_workflow("nightly", actor="ann")
    await settle(hand)
    await hand.engine.cancel(id_, actor="ann")
    await hand.engine.resume_workflow("nightly", actor="ann")
    await settle(hand)
    assert await hand.status(id_) == "cancelled"
    assert await hand.sql("select from tenax.workflow_paused") == []


async def test_another_server_that_has_not_heard_of_it_is_caught_up_with(hand):
    other = await hand.restarted()
    await hand.submit(NAMED)
    await hand.engine.pause_workflow("nightly", actor="ann")
    late = await other.submit(NAMED)
    assert await hand.status(late) == "running"
    await settle(hand)
    assert await hand.status(late) == "paused"
    await learn(other)
    assert await hand.status(await other.submit(NAMED)) == "paused"


async def test_a_workflow_that_is_not_known_is_not_found(hand):
    await hand.submit(NAMED)
    with pytest.raises(NotFound, match="did you mean `nightly`"):
        await hand.engine.pause_workflow("nihgtly", actor="ann")
