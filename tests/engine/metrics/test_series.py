"""Series over time: throughput, retries, lateness, workers, steps, and trends of dead letters."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.hand import Hand, one_postgres

from tenax.engine.metrics.roll_up import RollUp
from tenax.errors import UsageError
from tenax.model.filters.letters import LetterFilter
from tenax.model.metrics.series import MOST_POINTS, width_of

pytestmark = one_postgres


async def counted(hand: Hand) -> None:
    """Counts a failure and its retry."""
    _, attempt = await hand.start()
    await hand.fail(attempt)
    await hand.wait(1)
    await hand.succeed(await hand.lease_one())
    await RollUp(hand.engine.context).catch_up()


async def now(hand: Hand):
    [row] = await hand.sql("select tenax.now() as now")
    return row["now"]


async def test_a_series_has_no_gaps_and_sums_up(hand):
    await counted(hand)
    reader = hand.engine.metrics.over_time
    series = await reader.series(since=await now(hand) - timedelta(hours=1))
    assert series.span_seconds == 60
    assert len(series.points) in (60, 61)
    assert sum(one.succeeded for one in series.points) == 1
    assert sum(one.failed for one in series.points) == 1
    assert sum(one.retries for one in series.points) == 1
    assert [one.retry_success_rate for one in series.points if one.retry_success_rate is not None] == [1.0]
    assert [one.late_p50 for one in series.points if one.late_p50 is not None] != []
    of_other = await reader.series(since=await now(hand) - timedelta(hours=1), workflow="other")
    assert sum(one.failed for one in of_other.points) == 0
    with pytest.raises(UsageError, match="earlier than until"):
        await reader.series(since=await now(hand) + timedelta(hours=1))


async def test_settled_spans_are_read_once_and_new_ones_are_seen(hand):
    await counted(hand)
    reader = hand.engine.metrics.over_time
    await hand.pass_time(3600)
    await counted(hand)
    since = await now(hand) - timedelta(hours=3)
    first = await reader.series(since=since)
    assert sum(one.failed for one in first.points) == 2
    await hand.sql(
        "update tenax.attempt_minute set n = n * 10 where minute < tenax.now() - interval '30 minutes'"
    )
    await counted(hand)
    again = await reader.series(since=since)
    assert sum(one.failed for one in again.points) == 3  # the changed ones were kept, the new one was read
    fresh = await (await hand.restarted()).engine.metrics.over_time.series(since=since)
    assert sum(one.failed for one in fresh.points) == 12


async def test_workers_and_steps(hand):
    await counted(hand)
    reader, since = hand.engine.metrics.over_time, await now(hand) - timedelta(hours=1)
    worker, idle = await reader.workers(["w1", "idle"], since=since)
    assert (sum(p.started for p in worker.points), sum(p.failed for p in worker.points)) == (2, 1)
    assert len(idle.points) == len(worker.points)
    assert {point.failure_rate for point in idle.points} == {None}
    [step] = await reader.steps("one", since=since)
    assert (step.step, step.succeeded, step.failed, step.success_rate) == ("only", 1, 1, 0.5)
    assert (step.retries_succeeded, step.retry_success_rate) == (1, 1.0)


async def test_letters_have_a_trend(hand):
    for seconds in (0, 1800, 0):
        await hand.pass_time(seconds)
        _, attempt = await hand.start()
        await hand.fail(attempt, fatal=True, message="no")
    [group] = await hand.engine.letters.groups(LetterFilter())
    since = await now(hand) - timedelta(hours=1)
    [trend] = await hand.engine.letters.trends([group.fingerprint], since=since, spans=4)
    assert trend.counts == [0, 0, 1, 2] or trend.counts == [0, 1, 0, 2]
    [empty] = await hand.engine.letters.trends(["none"], since=since, spans=2)
    assert empty.counts == [0, 0]


@pytest.mark.parametrize("seconds", [900, 3600, 86_400, 7 * 86_400, 31 * 86_400])
def test_a_series_has_few_points(seconds):
    assert seconds / width_of(seconds) <= MOST_POINTS
    assert seconds / width_of(seconds) >= 15
