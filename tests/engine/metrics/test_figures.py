"""The figures of the window."""

from __future__ import annotations

import pytest
from support.hand import Hand, one_postgres

from tenax.engine.metrics.figures import read_figures, read_overview
from tenax.engine.metrics.roll_up import RollUp

GPU = """
name: train
workflow:
  - {step: prepare, type: python, task: t}
  - {step: fit, type: python, task: t, queue: gpu}
"""


async def counted(hand: Hand) -> None:
    """Counts a failure and its retry."""
    _, attempt = await hand.start()
    await hand.fail(attempt)
    await hand.wait(1)
    await hand.succeed(await hand.lease_one())
    await RollUp(hand.engine.context).catch_up()


@one_postgres
async def test_minutes_ahead_of_the_clock_are_left_out(hand):
    """A clock that was a day ahead for a while has made them."""
    await counted(hand)
    before = await read_overview(hand.engine.context)
    assert (before.figures.retries, before.figures.attempts) == (1, 2)
    assert sum(one.attempts for one in before.minutes) == 2
    for table in ("attempt_minute", "event_minute", "lateness_minute"):
        await hand.sql(f"update tenax.{table} set minute = minute + interval '1 day'")
    after = await read_overview(hand.engine.context)
    assert (after.figures.retries, after.figures.attempts, after.figures.executions) == (0, 0, 0)
    assert (after.minutes, after.groups, after.lateness) == ([], [], {"p50": None, "p99": None})


@one_postgres
@pytest.mark.settings(health_min_runs=1)
async def test_the_failure_rate_of_workers_is_an_average(hand):
    for name in ("w1", "w2", "idle"):
        await hand.register(name, slots=10)
    _, attempt = await hand.start()
    await hand.fail(attempt, exception="builtins.RuntimeError", message="no")
    await hand.wait(1)
    await hand.succeed(await hand.lease_one("w2"))
    for name in ("w1", "w2", "idle"):
        await hand.beat(worker=name)
    await hand.look()
    figures = await read_figures(hand.engine.context)
    assert figures.average_failure_rate == 0.5


@one_postgres
async def test_the_rate_of_a_queue_counts_the_attempts_that_ended_lately(hand):
    def rates(found):
        return {one.queue: one.ended_per_minute for one in found}

    await hand.submit(GPU)
    assert set(rates(await hand.engine.queues()).values()) == {None}
    await hand.register("w", queues=("default", "gpu"))
    for attempt in await hand.lease("w", queues=("default", "gpu")):
        await hand.succeed(attempt)
    await RollUp(hand.engine.context).catch_up()
    found = rates(await hand.engine.queues())
    assert found["default"] == found["gpu"]
    assert 1 / 6 <= found["gpu"] <= 1 / 5 + 0.01  # one attempt in five minutes and a part of one
    assert rates((await read_overview(hand.engine.context)).queues) == found
    assert (await hand.engine.queue("gpu")).queue.ended_per_minute == found["gpu"]
    await hand.sql("update tenax.attempt_minute set minute = minute - interval '10 minutes'")
    assert rates(await hand.engine.queues()) == {"default": 0.0, "gpu": 0.0}


@one_postgres
async def test_attempts_count_for_the_queue_of_the_newest_definition(hand):
    await hand.register("w", queues=("default", "gpu"))
    await hand.submit(GPU)
    for attempt in await hand.lease("w", queues=("default", "gpu")):
        await hand.succeed(attempt)
    await RollUp(hand.engine.context).catch_up()
    await hand.submit(GPU.replace("queue: gpu", "queue: cpu"))
    found = {one.queue: one.ended_per_minute for one in await hand.engine.queues()}
    assert found["gpu"] == 0.0
    assert found["cpu"] > 0
