"""Tests a worker whose supervisor saw its process die: its leases are lost at once, and no others."""

from __future__ import annotations

from support.hand import Hand
from support.worker_lives import PATIENT, arrive, live, new_life, take

from tenax.engine.fleet import ended_lives as lives
from tenax.model.wire import EndedLife

BARE = 'name: bare\nworkflow:\n  - {step: only, type: python, task: "t:t"}\n'


async def end(hand: Hand, worker: str, life: str) -> int:
    return (await hand.engine.end_life(EndedLife(worker, life))).lost


async def losses(hand: Hand, worker: str) -> int:
    await hand.look()
    return (await hand.engine.worker(worker)).losses


async def test_the_leases_of_a_life_that_has_ended_are_lost_at_once(hand):
    life = new_life()
    await arrive(hand, "other")
    await hand.register("w1", life=life)
    ids = [await hand.submit(BARE) for _ in range(3)]
    first, second = await hand.lease("w1", slots=2)
    elsewhere = await take(hand, "other")
    assert await end(hand, "w1", life) == 2
    for running in (first, second):
        assert (await hand.types(running.execution_id))[-2:] == ["lease_expired", "step_retry"]
    [lost] = await hand.data_of(first.execution_id, "lease_expired")
    assert (lost["failure"]["class"], lost["failure"]["reason"]) == ("worker_lost", "worker_died")
    assert (await hand.succeed(elsewhere)).verdict == "complete", "the other worker lives"
    assert (await hand.succeed(first)).status == "late"
    await hand.clock.advance(2)
    for again in await hand.lease("other"):
        assert again.attempt == 2
        await hand.succeed(again)
    assert [await hand.status(id_) for id_ in ids] == ["completed"] * 3
    assert await end(hand, "w1", life) == 0, "and only once"


async def test_a_death_is_one_loss_of_its_worker_however_many_leases_it_had_and_whoever_sees_it(hand):
    await arrive(hand, "other")
    life = new_life()
    await hand.register("w1", life=life)
    for _ in range(3):
        await hand.submit(PATIENT)
    assert len(await hand.lease("w1", slots=3)) == 3
    await hand.clock.advance(1)
    assert await end(hand, "w1", life) == 3
    assert await losses(hand, "w1") == 1
    await hand.register("w1", life=new_life())
    assert await losses(hand, "w1") == 1, "the next life finds nothing that the last one had"
    await live(hand, 40, "w1", "other")
    assert await losses(hand, "w1") == 1


async def test_a_life_that_was_taken_over_is_not_ended_by_its_name(hand):
    old, new = new_life(), new_life()
    await hand.register("w1", life=old)
    first, second = await hand.submit(PATIENT), await hand.submit(PATIENT)
    of_old = await take(hand, "w1")
    await hand.clock.advance(1)
    await hand.register("w1", life=new)
    of_new = await take(hand, "w1")
    assert {of_old.execution_id, of_new.execution_id} == {first, second}
    assert await end(hand, "w1", old) == 0, "it may still be finishing its own"
    assert await end(hand, "w1", new_life()) == 0
    assert await end(hand, "nobody", new) == 0
    assert await end(hand, "w1", new) == 1
    assert (await hand.succeed(of_old)).verdict == "complete"
    assert (await hand.succeed(of_new)).status == "late"


async def test_many_leases_are_decided_on_in_batches(hand, monkeypatch):
    monkeypatch.setattr(lives, "BATCH", 2)
    life = new_life()
    await hand.register("w1", life=life)
    for _ in range(5):
        await hand.submit(PATIENT)
    assert len(await hand.lease("w1")) == 5
    assert await end(hand, "w1", life) == 5


async def test_a_death_counts_for_poison(hand):
    await arrive(hand, "good")
    id_ = await hand.submit(PATIENT)
    for worker in ("a", "b", "c"):
        life = new_life()
        await hand.register(worker, life=life)
        await take(hand, worker)
        assert await end(hand, worker, life) == 1
    step = (await hand.get(id_))["steps"]["only"]
    assert (step["status"], step["held"]["lost_by"]) == ("held", ["a", "b", "c"])
