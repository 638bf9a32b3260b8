"""Tests which lost workers are forgiven: with a policy, without one, and if the policy forgives none."""

from __future__ import annotations

import pytest
from support.hand import Hand
from support.worker_lives import arrive, live

BARE = """
name: bare
workflow:
  - step: only
    type: python
    task: some:task
"""
WITH_POLICY = BARE + "    retry: {max_attempts: 2, backoff: none}\n"
STRICT = BARE + "    retry: false\n"


async def lose(hand: Hand, worker: str, *others: str) -> None:
    """The worker takes the item, is silent for a lease, and comes back."""
    assert await hand.lease(worker, slots=1), f"there is nothing for {worker}"
    await live(hand, 30, "good", *(name for name in others if name != worker))
    await live(hand, 3, "good", worker, *others)


async def test_without_a_policy_a_lost_worker_is_forgiven(hand):
    await arrive(hand, "good", "a")
    id_ = await hand.submit(BARE)
    await lose(hand, "a")
    [retry] = await hand.data_of(id_, "step_retry")
    assert "attempt 1 of 1, not counted" in retry["decision"]["reason"]
    await hand.succeed(await hand.lease_one("good"), 5)
    assert (await hand.get(id_))["result"] == {"only": 5}


@pytest.mark.parametrize(("source", "losses"), [(BARE, 3), (WITH_POLICY, 4), (STRICT, 1)])
@pytest.mark.settings(poison_after=0)
async def test_so_many_losses_of_one_worker_fail_it(hand, source, losses):
    await arrive(hand, "good", "a")
    id_ = await hand.submit(source)
    for n in range(losses):
        assert await hand.status(id_) == "running", f"it failed after {n} losses"
        await lose(hand, "a")
    assert await hand.status(id_) == "failed"
    assert (await hand.get(id_))["failure"]["class"] == "worker_lost"


async def test_without_a_policy_an_item_that_kills_three_workers_fails_and_is_not_held(hand):
    await arrive(hand, "good", "a", "b", "c")
    id_ = await hand.submit(BARE)
    for worker in ("a", "b", "c"):
        await lose(hand, worker, "a", "b", "c")
    assert (await hand.types(id_))[-3:] == ["lease_expired", "step_failed_terminal", "execution_failed"]


async def test_a_failure_of_the_work_itself_is_not_forgiven(hand):
    id_ = await hand.submit(BARE)
    await hand.fail(await hand.lease_one())
    assert await hand.status(id_) == "failed"
