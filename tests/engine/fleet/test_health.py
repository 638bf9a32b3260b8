"""Tests the health of workers as the server judges it: crashes, failures, probes, the floor, depth, reports."""

from __future__ import annotations

import asyncio

import pytest
from support.hand import RUNTIMES, Hand
from support.worker_lives import (
    BROKEN,
    PATIENT,
    arrive,
    changes,
    crash,
    crash_often,
    fail_often,
    fleet_events,
    health,
    live,
    new_life,
    pass_probe,
    take,
)

from tenax.model.fleet.health import HealthReport
from tenax.model.wire import LeaseRequest

RECOVERED = [
    ("healthy", "degraded", "consecutive_failures"),
    ("degraded", "unhealthy", "consecutive_failures"),
    ("unhealthy", "degraded", "recovering"),
    ("degraded", "healthy", None),
]


async def a_sick_worker(hand: Hand) -> None:
    """`bad` has failed ten times in a row, and `good` is there beside it."""
    await arrive(hand, "good", "bad")
    await hand.submit(PATIENT)
    await fail_often(hand, "bad", 9)
    assert await health(hand, "bad") == ("degraded", "consecutive_failures")
    await fail_often(hand, "bad", 1)
    assert await health(hand, "bad") == ("unhealthy", "consecutive_failures")


@pytest.mark.settings(drain_after=0)
async def test_a_worker_that_crashes_ten_times_in_a_row_gets_nothing_but_its_probe(hand):
    await arrive(hand, "good", "bad")
    for _ in range(12):
        await hand.submit(PATIENT)
    for _ in range(10):
        await crash(hand, "bad")
    assert await health(hand, "bad") == ("unhealthy", "consecutive_failures")
    assert (await hand.engine.worker("bad")).consecutive_failures == 10

    await live(hand, 59, "good", "bad")  # what the lost lives held runs out meanwhile
    assert (await hand.engine.worker("bad")).consecutive_failures == 10, "each crash counts once"
    assert await hand.lease("bad") == []
    await live(hand, 1, "good", "bad")
    assert len(await hand.lease("bad", slots=5)) == 1
    assert await hand.lease("bad") == []
    await hand.look()
    assert await hand.lease("bad") == []

    await hand.clock.advance(1)
    await arrive(hand, "bad")  # the probe has killed it too
    await live(hand, 30, "good", "bad")
    assert await hand.lease("bad") == []
    await live(hand, 60, "good", "bad")
    await pass_probe(hand, "bad")
    await hand.succeed(await take(hand, "bad"))
    await hand.clock.advance(1)
    await hand.look()
    assert await health(hand, "bad") == ("healthy", None)
    assert await changes(hand, "bad") == RECOVERED


@pytest.mark.settings(drain_after=0)
async def test_leases_that_run_out_count_as_crashes_do(hand):
    await arrive(hand, "good", "bad")
    await hand.submit(PATIENT)
    for _ in range(10):
        await take(hand, "bad")
        await live(hand, 30, "good")
        await live(hand, 1, "good", "bad")
    assert await health(hand, "bad") == ("unhealthy", "consecutive_failures")
    assert await hand.lease("bad") == []
    assert len(await hand.lease("good")) == 1


async def test_each_change_is_told_with_what_it_rests_on(hand):
    await a_sick_worker(hand)
    first, second = await fleet_events(hand, "worker_health_changed", "bad")
    assert first["value"] == 9
    assert first["threshold"] == 3
    assert "probe_at" not in first
    assert second["value"] == second["threshold"] == 10
    assert second["floored"] is False
    assert second["columns"]["consecutive_failures"] == 10
    assert set(second["columns"]) == {
        "heartbeat_age", "consecutive_failures", "queue_depth", "failure_rate", "reported_status", "recovering",
    }  # fmt: skip
    assert second["probe_at"] == (await hand.engine.worker("bad")).probe_at
    await hand.look()
    assert len(await changes(hand, "bad")) == 2, "nothing has changed"
    assert await changes(hand, "good") == []


async def test_a_failed_probe_is_followed_by_another_after_as_long(hand):
    await a_sick_worker(hand)
    await live(hand, 60, "good", "bad")
    await hand.fail(await hand.lease_one("bad"), **BROKEN)
    await hand.look()
    assert await hand.lease("bad") == []
    await live(hand, 59, "good", "bad")
    assert await hand.lease("bad") == []
    await live(hand, 1, "good", "bad")
    assert len(await hand.lease("bad")) == 1
    assert len(await changes(hand, "bad")) == 2


async def test_a_sick_worker_is_probed_while_something_long_runs_on_it(hand):
    await arrive(hand, "good", "bad")
    for _ in range(2):
        await hand.submit(PATIENT)
    long = await take(hand, "bad")
    await fail_often(hand, "bad", 10)
    for _ in range(2):
        await live(hand, 60, "good", "bad", holding=(long,))
        [probe] = await hand.lease("bad")
        await live(hand, 10, "good", "bad", holding=(long, probe))
        assert await hand.lease("bad") == []
        await hand.fail(probe, **BROKEN)
        await hand.look()
        assert await hand.lease("bad") == []


async def test_without_a_failure_a_recovering_worker_is_healthy_after_a_while(hand):
    await a_sick_worker(hand)
    await live(hand, 60, "good", "bad")
    await pass_probe(hand, "bad")
    await hand.submit(PATIENT)
    await live(hand, 50, "good", "bad")
    await fail_often(hand, "bad", 1)
    await live(hand, 20, "good", "bad")
    assert await health(hand, "bad") == ("degraded", "recovering"), "it has failed meanwhile"
    await live(hand, 40, "good", "bad")
    assert await health(hand, "bad") == ("healthy", None)
    assert await changes(hand, "bad") == RECOVERED


async def test_the_probe_goes_before_all_others(hand):
    await a_sick_worker(hand)
    await live(hand, 60, "good", "bad")
    asked = {
        name: asyncio.create_task(
            hand.engine.lease(LeaseRequest(name, new_life(), 1, RUNTIMES, life=hand._lives[name]))
        )
        for name in ("good", "bad")
    }
    await asyncio.sleep(0)  # both requests are parked now
    await hand.engine.dispatcher.claim()
    assert len(await asked["bad"]) == 1
    assert not asked["good"].done()
    asked["good"].cancel()


@pytest.mark.settings(probing=False)
async def test_without_probing_only_a_person_brings_it_back(hand):
    await a_sick_worker(hand)
    assert (await hand.engine.worker("bad")).probe_at is None
    await live(hand, 600, "good", "bad")
    assert await hand.lease("bad") == []
    assert await hand.engine.resume_worker("bad", actor="ann", reason="mended") is True
    await hand.look()
    assert await health(hand, "bad") == ("healthy", None)
    assert len(await hand.lease("bad")) == 1
    assert (await changes(hand, "bad"))[-1] == ("unhealthy", "healthy", None)
    [action] = await fleet_events(hand, "operator_action", "bad")
    assert action == {"action": "worker_resume", "worker": "bad", "actor": "ann", "reason": "mended"}
    assert await hand.engine.resume_worker("bad", actor="ann") is False, "it is active and healthy"


async def test_a_worker_that_is_resumed_while_it_recovers_is_healthy_at_once(hand):
    await a_sick_worker(hand)
    await live(hand, 60, "good", "bad")
    await pass_probe(hand, "bad")
    assert await hand.engine.resume_worker("bad", actor="ann") is True
    await hand.look()
    assert await health(hand, "bad") == ("healthy", None)
    assert await hand.engine.resume_worker("bad", actor="ann") is False


async def test_what_a_resumed_worker_still_says_of_its_old_failures_is_not_held_against_it(hand):
    await a_sick_worker(hand)
    of_old = HealthReport(status="degraded", consecutive_failures=10)
    await hand.beat(worker="bad", health=of_old)
    await hand.engine.resume_worker("bad", actor="ann")
    await hand.look()
    await hand.clock.advance(5)
    assert (await hand.beat(worker="bad", health=of_old)).health == "healthy"
    await hand.look()
    assert await health(hand, "bad") == ("healthy", None)


async def test_ten_slots_lost_in_one_crash_are_one_failure(hand):
    await arrive(hand, "good", "crashes", "falls_silent")
    for _ in range(20):
        await hand.submit(PATIENT)
    assert len(await hand.lease("crashes")) == 10
    assert len(await hand.lease("falls_silent")) == 10
    await hand.clock.advance(1)
    await arrive(hand, "crashes")
    assert (await hand.engine.worker("crashes")).consecutive_failures == 1
    await live(hand, 30, "good", "crashes")
    for name in ("crashes", "falls_silent"):
        told = await hand.engine.worker(name)
        assert (told.consecutive_failures, told.losses, told.runs) == (1, 1, 1)


async def test_a_crash_is_counted_once_however_often_the_worker_starts_again(hand):
    await arrive(hand, "bad")
    await hand.submit(PATIENT)
    await crash(hand, "bad")
    await hand.clock.advance(1)
    await arrive(hand, "bad")  # with nothing in its hands
    await live(hand, 30, "bad")  # and only now the lease of its first life is over
    assert (await hand.engine.worker("bad")).losses == 1


@pytest.mark.parametrize(
    ("facts", "counted"),
    [
        ({"fatal": True}, 0),
        ({"status_code": 503}, 0),
        ({"status_code": 401}, 0),
        ({"connection": "refused"}, 0),
        ({"result_file": "budget_exceeded", "exit_code": 0}, 0),
        ({"failure_class": "invalid"}, 0),
        ({"exception": "builtins.PermissionError", "exception_bases": ("builtins.OSError",)}, 0),
        ({"exception": "mylib.Broken", "dependency": "api.example.org"}, 0),
        ({"timed_out": True}, 10),
        ({"exception": "mylib.Broken"}, 10),
        ({"signal": 9}, 10),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else str(value),
)
async def test_only_failures_that_speak_of_the_worker_count(hand, facts, counted):
    await arrive(hand, "good", "w1")
    for _ in range(10):
        await hand.submit()
    await fail_often(hand, "w1", 10, **facts)
    told = await hand.engine.worker("w1")
    assert (told.consecutive_failures, told.runs, told.failures) == (counted, 10, counted)
    assert told.health == ("unhealthy" if counted else "healthy")


async def test_an_hour_of_503_leaves_a_worker_healthy(hand):
    await arrive(hand, "w1", "w2")
    await hand.submit(PATIENT.replace("backoff: none", "backoff: fixed, initial_delay: 60, jitter: 0"))
    for _ in range(60):
        await hand.fail(await take(hand, "w1"), status_code=503)
        await live(hand, 60, "w1", "w2")
    assert await changes(hand, "w1") == []
    assert await health(hand, "w1") == ("healthy", None)
    assert (await hand.engine.worker("w1")).runs > 3


async def test_a_timeout_that_only_the_server_sees_counts(hand):
    await arrive(hand, "w1")
    await hand.submit(PATIENT.replace("retry:", "timeout: 5s\n    retry:"))
    for _ in range(3):
        assignment = await take(hand, "w1")
        await live(hand, 10, "w1", holding=(assignment,))
    assert await health(hand, "w1") == ("degraded", "consecutive_failures")


async def test_any_other_end_shows_that_the_worker_works(hand):
    await arrive(hand, "w1")
    await hand.submit(PATIENT)
    await fail_often(hand, "w1", 3)
    assert await health(hand, "w1") == ("degraded", "consecutive_failures")
    await hand.fail(await take(hand, "w1"), status_code=503)
    await hand.look()
    assert await health(hand, "w1") == ("healthy", None)


async def run_mixed(hand: Hand, worker: str, pattern: str) -> None:
    """F: it fails; s: it succeeds."""
    for outcome in pattern:
        await hand.submit(PATIENT)
        assignment = await take(hand, worker)
        if outcome == "F":
            await hand.fail(assignment, **BROKEN)
            await hand.engine.cancel(assignment.execution_id, actor="test")
        else:
            await hand.succeed(assignment)
    await hand.look()


@pytest.mark.settings(probing=False)
async def test_the_failure_rate_is_that_of_a_window_with_enough_runs_in_it(hand):
    await arrive(hand, "good", "bad")
    await run_mixed(hand, "bad", "FFsFFsFFsFFsFFsFFsF")
    assert await health(hand, "bad") == ("healthy", None)
    assert (await hand.engine.worker("bad")).failure_rate is None, "19 runs are too few"
    await run_mixed(hand, "bad", "F")
    assert await health(hand, "bad") == ("unhealthy", "failure_rate")
    assert (await hand.engine.worker("bad")).failure_rate == 0.7
    await live(hand, 330, "good", "bad")
    assert await health(hand, "bad") == ("healthy", None), "the window has moved on"
    assert (await hand.engine.worker("bad")).runs == 0


async def test_a_third_of_failures_degrades(hand):
    await arrive(hand, "good", "bad")
    await run_mixed(hand, "bad", "FsFs" * 5)
    assert await health(hand, "bad") == ("degraded", "failure_rate")


async def test_a_probe_that_succeeds_clears_the_window_too(hand):
    await arrive(hand, "good", "bad")
    await run_mixed(hand, "bad", "FFs" * 7)  # 14 of 21 is below 70 %
    await run_mixed(hand, "bad", "FFFF")
    assert await health(hand, "bad") == ("unhealthy", "failure_rate")
    await hand.submit(PATIENT)
    await live(hand, 60, "good", "bad")
    await pass_probe(hand, "bad")
    assert (await hand.engine.worker("bad")).runs == 0


async def test_a_few_failures_are_forgotten_after_the_window_and_many_are_not(hand):
    await arrive(hand, "a", "b", "few", "many")
    await hand.submit(PATIENT)
    await fail_often(hand, "few", 9)
    await fail_often(hand, "many", 10)
    await live(hand, 300, "a", "b", "few", "many")
    assert await health(hand, "few") == ("degraded", "consecutive_failures")
    await live(hand, 10, "a", "b", "few", "many")
    assert await health(hand, "few") == ("healthy", None)
    assert await health(hand, "many") == ("unhealthy", "consecutive_failures")


@pytest.mark.parametrize(("streak", "times"), [(fail_often, 9), (crash_often, 3)], ids=["failures", "losses"])
@pytest.mark.settings(poison_after=0)
async def test_a_streak_ends_together_with_its_verdict(hand, streak, times):
    await arrive(hand, "a", "b", "few")
    await hand.submit(PATIENT)
    await streak(hand, "few", times)
    assert (await hand.engine.worker("few")).consecutive_failures == times
    assert await health(hand, "few") == ("degraded", "consecutive_failures")
    await live(hand, 310, "a", "b", "few")
    assert await health(hand, "few") == ("healthy", None)
    assert (await hand.engine.worker("few")).consecutive_failures == 0
    await fail_often(hand, "few", 1)
    assert await health(hand, "few") == ("healthy", None)
    assert (await hand.engine.worker("few")).consecutive_failures == 1


# -- the floor


async def test_the_last_able_worker_is_not_taken_by_its_failures(hand):
    await arrive(hand, "only")
    await hand.submit(PATIENT)
    await fail_often(hand, "only", 10)
    [told] = await fleet_events(hand, "worker_health_changed", "only")
    assert (told["to"], told["column"], told["floored"]) == ("degraded", "consecutive_failures", True)
    assert len(await hand.lease("only")) == 1

    await arrive(hand, "other")
    assert await health(hand, "only") == ("unhealthy", "consecutive_failures")
    await hand.beat(worker="other", leaving=True)
    await hand.look()
    assert await health(hand, "only") == ("degraded", "consecutive_failures")
    await arrive(hand, "other")
    assert await health(hand, "only") == ("unhealthy", "consecutive_failures")
    await live(hand, 30, "only")
    assert await health(hand, "only") == ("degraded", "consecutive_failures"), "the other is silent"


async def test_failures_take_no_more_than_half(hand):
    names = [f"w{n}" for n in range(5)]
    await arrive(hand, *names)
    await hand.submit(PATIENT)
    for name in names:
        await fail_often(hand, name, 10)
    stands = [(await health(hand, name))[0] for name in names]
    assert stands == ["unhealthy", "unhealthy", "degraded", "degraded", "degraded"]


async def a_drained_worker(hand: Hand) -> None:
    """`bad` was lost five times, and `good` is there beside it."""
    await arrive(hand, "good", "bad")
    await crash_often(hand, "bad")
    assert (await hand.engine.worker("bad")).state == "draining"


@pytest.mark.parametrize("how", ["leaves", "paused", "silent"])
async def test_a_worker_that_the_server_drained_works_again_when_nobody_else_is_left(hand, how):
    await a_drained_worker(hand)
    await hand.submit(PATIENT)
    match how:
        case "leaves":
            await hand.beat(worker="good", leaving=True)
        case "paused":
            await hand.engine.pause_worker("good", actor="ann")
        case "silent":
            await live(hand, 30, "bad")
    await hand.look()
    told = await hand.engine.worker("bad")
    assert (told.state, told.state_actor) == ("active", "tenax:server")
    resumed = (await fleet_events(hand, "operator_action", "bad"))[-1]
    assert (resumed["action"], resumed["actor"]) == ("worker_resume", "tenax:server")
    assert len(await hand.lease("bad", slots=1)) == 1
    await hand.look()
    assert (await hand.engine.worker("bad")).state == "active", "it cannot be spared"


async def test_a_drained_worker_that_is_silent_is_not_called_back(hand):
    await a_drained_worker(hand)
    await live(hand, 30, "good")
    await hand.beat(worker="good", leaving=True)
    await hand.look()
    assert (await hand.engine.worker("bad")).state == "draining"
    await hand.beat(worker="bad")
    await hand.look()
    assert (await hand.engine.worker("bad")).state == "active"


async def test_a_worker_of_one_execution_stands_in_for_nobody_else(hand):
    mine = await hand.submit(PATIENT)
    await arrive(hand, "own", execution_id=mine)
    for _ in range(10):
        [one] = await hand.lease("own", slots=1, execution_id=mine)
        await hand.fail(one, **BROKEN)
    await arrive(hand, "real")
    assert await health(hand, "own") == ("degraded", "consecutive_failures"), "it is all that its own has"
    await hand.submit(PATIENT)
    await fail_often(hand, "real", 10)
    assert await health(hand, "real") == ("degraded", "consecutive_failures")


@pytest.mark.parametrize(("asked", "stands"), [(False, "unhealthy"), (True, "degraded")])
async def test_only_labels_that_work_asks_for_keep_a_worker(hand, asked, stands):
    if asked:
        await hand.submit(PATIENT.replace("retry:", "labels: {gpu: large}\n    retry:"))
    await arrive(hand, "plain")
    await arrive(hand, "special", labels={"gpu": "large"})
    await hand.submit(PATIENT)
    await fail_often(hand, "special", 10)
    assert (await health(hand, "special"))[0] == stands


# -- depth and reports


@pytest.mark.settings(degraded_depth=2, unhealthy_depth=4)
async def test_a_worker_is_overloaded_by_what_it_has_above_its_slots(hand):
    await arrive(hand, "narrow", slots=1)
    await arrive(hand, "wide", slots=10)
    for _ in range(30):
        await hand.submit()
    stands = {1: "healthy", 2: "degraded", 4: "unhealthy"}
    for depth in range(1, 5):
        await take(hand, "narrow")
        assert (await hand.engine.worker("narrow")).queue_depth == depth
        await hand.look()
        await hand.look()
        if depth in stands:
            assert (await health(hand, "narrow"))[0] == stands[depth]
    assert await hand.lease("narrow") == []
    for leased, expected in ((10, "healthy"), (1, "degraded"), (9, "unhealthy")):
        assert len(await hand.lease("wide", slots=leased)) == leased
        await hand.look()
        await hand.look()
        assert (await health(hand, "wide"))[0] == expected
    assert await health(hand, "wide") == ("unhealthy", "queue_depth")


@pytest.mark.settings(unhealthy_depth=4)
async def test_a_worker_that_leases_while_it_reports_is_not_stopped_for_that(hand):
    await arrive(hand, "busy", slots=4)
    for _ in range(30):
        await hand.submit()
    await hand.look()
    for _ in range(3):
        leased = [await hand.lease("busy", slots=4) for _ in range(2)]
        await hand.look()
        assert await health(hand, "busy") == ("healthy", None), "twice its slots, for a moment"
        for assignment in (each for some in leased for each in some):
            await hand.succeed(assignment)
        await hand.look()
    assert len(await hand.lease("busy", slots=4)) == 4


async def test_what_a_worker_says_of_itself_is_heard(hand):
    await arrive(hand, "w1")
    await hand.submit()
    await hand.beat(worker="w1", health=HealthReport(status="unhealthy"))
    await hand.look()
    assert await health(hand, "w1") == ("unhealthy", "reported_status"), "no floor holds for that"
    assert await hand.lease("w1") == []
    answer = await hand.beat(worker="w1", health=HealthReport(queue_depth=50))
    assert answer.health == "unhealthy"
    await hand.look()
    await hand.look()
    assert await health(hand, "w1") == ("degraded", "queue_depth")
    await hand.beat(worker="w1", health=HealthReport())
    await hand.beat(worker="w1")  # without a report, the last one stands
    await hand.look()
    assert await health(hand, "w1") == ("healthy", None)
    assert (await hand.engine.worker("w1")).reported["status"] == "healthy"
    assert len(await hand.lease("w1")) == 1


async def test_a_reported_streak_adds_to_failures_that_were_seen_since_the_last_success(hand):
    await arrive(hand, "w1")
    await hand.submit(PATIENT)
    failing = HealthReport(status="degraded", consecutive_failures=5)
    await hand.beat(worker="w1", health=failing)
    await hand.look()
    assert await health(hand, "w1") == ("healthy", None), "nobody else has seen any of them"
    await fail_often(hand, "w1", 1)
    assert await health(hand, "w1") == ("degraded", "consecutive_failures")
    await hand.clock.advance(1)
    await hand.fail(await take(hand, "w1"), status_code=503)  # it works, then
    await fail_often(hand, "w1", 1)
    assert await health(hand, "w1") == ("healthy", None), "the report is older than that"
    await hand.clock.advance(1)
    await hand.beat(worker="w1", health=failing)
    await hand.look()
    assert await health(hand, "w1") == ("degraded", "consecutive_failures")


async def test_a_silent_worker_is_unhealthy_and_comes_back_with_its_next_heartbeat(hand):
    await arrive(hand, "w1")
    await live(hand, 30)
    assert await health(hand, "w1") == ("unhealthy", "heartbeat_age")
    await hand.beat(worker="w1")
    await hand.look()
    assert await health(hand, "w1") == ("healthy", None)
