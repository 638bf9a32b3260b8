"""Tests that a worker that is overloaded or failing asks for less work."""

from __future__ import annotations

import logging
import threading
import time

import pytest
from support.serve.server_in_memory import Server, work

from tenax.model.fleet.health import HealthTerms
from tenax.model.wire import HeartbeatAnswer, Held
from tenax.worker import worker as loop


@pytest.fixture(autouse=True)
def quick_pulse(monkeypatch):
    monkeypatch.setattr(loop, "PULSE_SECONDS", 0.01)


@pytest.fixture
def failing(register):
    async def fails():
        raise RuntimeError("nobody knows why")

    return register("fails", fails)


def said(caplog):
    return [r.getMessage() for r in caplog.records if r.getMessage().startswith("asking for")]


def test_every_heartbeat_has_its_report(quick, failing):
    async def scenario(stop, at_once, running):
        await server.until(lambda: len(server.outcomes) == 3)
        await server.beaten()

    server = Server([{"item": n, "task": failing if n < 3 else quick} for n in (3, 1, 2)], heartbeat=0.01)
    work(server, scenario, slots=1)
    report = server.beats[-1].health
    assert (report.total_executions, report.failed_executions, report.consecutive_failures) == (3, 2, 2)
    assert (report.status, report.queue_depth) == ("healthy", 0)
    assert report.average_execution_time_ms > 0


def test_what_is_handed_back_or_revoked_counts_as_nothing(gate, failing):
    async def scenario(stop, at_once, running):
        await server.until(lambda: server.outcomes and server.releases and gate.come.is_set())
        server.revoked = [Held(3, server.requests[0].grant)]
        await server.until(lambda: 3 in server.outcomes)
        await server.beaten()
        assert server.beats[-1].health.total_executions == 1
        assert server.beats[-1].health.consecutive_failures == 1

    items = [{"item": 1, "task": failing}, {"item": 2, "task": "nowhere:f"}, {"item": 3, "task": "waits"}]
    server = Server(items, heartbeat=0.01)
    work(server, scenario)


def test_depth_is_what_it_has_and_has_not_reported(quick, gate):
    async def scenario(stop, at_once, running):
        server.report_gate = release = loop.asyncio.Event()
        await server.until(lambda: server.batches and gate.come.is_set())
        await server.beaten()
        assert server.beats[-1].health.queue_depth == 2
        release.set()
        gate.open.set()

    server = Server([{"item": 1, "task": quick}, {"item": 2, "task": "waits"}], heartbeat=0.01)
    work(server, scenario)


def test_while_its_event_loop_is_late_it_takes_back_its_request(register, caplog):
    rested = False

    async def blocks():
        while not rested:
            time.sleep(0.1)  # noqa: ASYNC251 - the load itself: a handler that holds up the loop
            await loop.asyncio.sleep(0)

    register("blocks", blocks)

    async def scenario(stop, at_once, running):
        nonlocal rested
        await server.until(lambda: server.given_up)
        await server.until(lambda: any(beat.health.status == "unhealthy" for beat in server.beats))
        rested = True
        asked = len(server.requests)
        await server.until(lambda: len(server.requests) > asked)

    server = Server([{"item": 1, "task": "blocks"}], heartbeat=0.01)
    with caplog.at_level(logging.INFO, "tenax.worker"):
        work(server, scenario, overload_lag=0.05)
    lost = {grant for request in server.requests for grant in request.lost_grants}
    lost |= {grant for beat in server.beats for grant in beat.lost_grants}
    assert set(server.given_up) <= lost, "what it was granted all the same is handed back"
    assert "asking for no more work: the event loop wakes 0." in said(caplog)[0]
    assert "asking for work again" in said(caplog)


def test_with_too_much_unreported_it_asks_for_no_more(quick, caplog):
    async def scenario(stop, at_once, running):
        server.report_gate = release = loop.asyncio.Event()
        await server.until(lambda: server.beats and server.beats[-1].health.status == "unhealthy")
        assert server.beats[-1].health.queue_depth == 2
        await server.beaten(4)
        assert [request.slots for request in server.requests] == [1, 1]
        release.set()
        await server.until(lambda: len(server.outcomes) == 4)

    server = Server(
        [{"item": n, "task": quick} for n in range(4)],
        heartbeat=0.01,
        health=HealthTerms(degraded_depth=1, unhealthy_depth=2),
    )
    work(server, scenario, slots=1)


def test_what_is_unreported_for_a_moment_only_does_not_keep_it_from_asking(quick, monkeypatch, caplog):
    monkeypatch.setattr(loop, "PULSE_SECONDS", 3600.0)

    async def scenario() -> None:
        worker, stop = loop.Worker(server, name="w1", slots=1, environment={}), loop.asyncio.Event()
        running = loop.asyncio.create_task(worker.run(stop))
        server.report_gate = release = loop.asyncio.Event()
        await server.until(lambda: server.beats and server.beats[-1].health.queue_depth == 2)
        worker._review_demand()  # the pulse falls into this moment
        assert [request.slots for request in server.requests] == [1, 1]
        await server.beaten(2)
        release.set()
        await server.until(lambda: len(server.outcomes) == 4)
        await server.beaten(2)
        stop.set()
        await running

    server = Server(
        [{"item": n, "task": quick} for n in range(4)],
        heartbeat=0.01,
        health=HealthTerms(degraded_depth=1, unhealthy_depth=2),
    )
    with caplog.at_level(logging.INFO, "tenax.worker"):
        loop.asyncio.run(scenario())
    assert said(caplog) == []


TERMS = HealthTerms(degraded_failures=1, unhealthy_failures=2, probe_after=0.05)


def test_unhealthy_by_its_failures_it_asks_for_one_until_that_goes_well(quick, failing, caplog):
    async def scenario(stop, at_once, running):
        await server.until(lambda: len(server.outcomes) == 2)
        server.answer = HeartbeatAnswer(health="unhealthy")
        await server.until(lambda: server.requests[-1].slots == 1)
        await server.add({"item": 3, "task": failing}, {"item": 4, "task": failing})
        await server.until(lambda: len(server.outcomes) == 4)
        await server.until(lambda: server.requests[-1].slots == 1)
        await server.add({"item": 5, "task": quick})
        await server.until(lambda: server.requests[-1].slots == 4)
        await server.until(lambda: said(caplog)[-1] == "asking for work again")

    server = Server([{"item": n, "task": failing} for n in (1, 2)], heartbeat=0.01, health=TERMS)
    with caplog.at_level(logging.INFO, "tenax.worker"):
        work(server, scenario)
    assert server.given_up, "the request for all its slots, that was parked already"
    taken = [len(batch) for batch in server.batches[-3:]]
    assert taken == [1, 1, 1], "one at a time"
    assert said(caplog)[0] == "asking for no more work: 2 attempts in a row failed here"


def test_as_long_as_the_server_needs_it_it_goes_on_asking(quick, failing):
    """The floor: who is the last able worker stays degraded, however often it fails."""

    async def scenario(stop, at_once, running):
        await server.until(lambda: len(server.outcomes) == 3)
        await server.beaten(4)
        assert server.beats[-1].health.status == "degraded"
        asked = len(server.requests)
        await server.add({"item": 4, "task": quick})
        await server.until(lambda: len(server.requests) > asked)
        assert server.given_up == []

    server = Server([{"item": n, "task": failing} for n in (1, 2, 3)], heartbeat=0.01, health=TERMS)
    server.answer = HeartbeatAnswer(health="degraded")
    work(server, scenario)


def test_with_all_slots_taken_by_threads_that_timed_out_it_says_so_once(register, quick, caplog):
    hold = threading.Event()
    register("hangs", hold.wait)

    async def scenario(stop, at_once, running):
        await server.until(lambda: server.beats and server.beats[-1].health.status == "unhealthy")
        assert server.beats[-1].health.overdue == 2
        await server.beaten(4)
        hold.set()
        await server.until(lambda: 3 in server.outcomes)
        await server.until(lambda: server.beats[-1].health.overdue == 0)
        await server.until(lambda: said(caplog)[-1] == "asking for work again")
        assert server.beats[-1].health.status == "healthy"

    hangs = [{"item": n, "task": "hangs", "timeout": 0.01} for n in (1, 2)]
    server = Server([*hangs, {"item": 3, "task": quick}], heartbeat=0.01)
    with caplog.at_level(logging.INFO, "tenax.worker"):
        work(server, scenario, slots=2)
    assert len(said(caplog)) == 2
    assert said(caplog)[0].startswith("asking for no more work: all 2 slots are taken by threads that go on")
