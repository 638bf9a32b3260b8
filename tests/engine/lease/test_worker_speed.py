"""Tests that a worker with very short work gets its whole request filled.

This applies while there is more work than slots, and more slots than one claim can fill.
"""

from __future__ import annotations

import pytest
from support.hand import Hand
from support.strategies.scheduling import ask, claim_once, submit_many

from tenax.engine.lease import worker_speed as pacing
from tenax.engine.lease.worker_speed import FAST_SECONDS, WorkerSpeed


@pytest.mark.parametrize(
    ("asked", "again", "after", "brisk"),
    [
        (10, 10, 0.0, True),
        (10, 12, 0.99 * FAST_SECONDS, True),
        (10, 9, 0.0, False),
        (10, 10, FAST_SECONDS, False),
    ],
)
def test_brisk_is_who_is_as_free_as_before_in_a_moment(asked, again, after, brisk):
    now = 0.0
    worker_speed = WorkerSpeed(lambda: now)
    worker_speed.note_asked(ask("w", asked))
    assert not worker_speed.is_fast("w"), "nothing is known of it yet"
    worker_speed.note_served(ask("w", asked))
    now += after
    worker_speed.note_asked(ask("w", again))
    assert worker_speed.is_fast("w") == brisk


def test_who_asks_twice_for_one_answer_is_not_brisk():
    worker_speed = WorkerSpeed(lambda: 0.0)
    worker_speed.note_served(ask("w"))
    worker_speed.note_asked(ask("w"))
    worker_speed.note_asked(ask("w"))
    assert not worker_speed.is_fast("w")


def test_workers_that_are_gone_are_forgotten(monkeypatch):
    monkeypatch.setattr(pacing, "MOST_WORKERS", 10)
    worker_speed = WorkerSpeed(lambda: 0.0)
    for n in range(100):
        worker_speed.note_served(ask(f"w{n}"))
        worker_speed.note_asked(ask(f"w{n}"))
    assert 0 < sum(worker_speed.is_fast(f"w{n}") for n in range(100)) <= 10


async def shares(hand: Hand, *slots: int) -> list[int]:
    """Returns the items that each worker gets from one claim, with this number of slots."""
    requests = [ask(f"w{n}", count) for n, count in enumerate(slots)]
    return [len(given) for given in await claim_once(hand.engine, *requests)]


async def test_while_there_is_more_work_than_slots_whole_requests_are_filled(hand):
    hand.engine.dispatcher.worker_speed.clock = lambda: 0.0
    await submit_many(hand, 30)
    assert await shares(hand, 3, 3, 3) == [3, 3, 3], "nobody is known yet"
    await submit_many(hand, 600)
    assert await shares(hand, 400, 400, 400) == [400, 100, 0]
    assert await shares(hand, 400, 400, 400) == [121, 0, 0], "nobody knows that it is the last of it"
    await submit_many(hand, 60)
    assert await shares(hand, 400, 400, 400) == [20, 20, 20], "it was not enough the last time"


async def test_where_one_claim_can_fill_all_slots_everyone_has_its_share(hand):
    hand.engine.dispatcher.worker_speed.clock = lambda: 0.0
    await submit_many(hand, 600)
    assert await shares(hand, 250, 250) == [250, 250]
    assert await shares(hand, 250, 250) == [50, 50]


async def test_who_takes_its_time_gets_its_share_only(hand):
    now = 0.0
    hand.engine.dispatcher.worker_speed.clock = lambda: now
    await submit_many(hand, 2000)
    assert await shares(hand, 400, 400, 400) == [167, 167, 166]
    now += FAST_SECONDS
    assert await shares(hand, 400, 400, 400) == [167, 167, 166]
    assert await shares(hand, 300, 400, 400) == [1, 400, 99]
