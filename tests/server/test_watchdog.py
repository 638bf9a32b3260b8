"""Tests that the watchdog counts and names what holds the event loop."""

from __future__ import annotations

import asyncio
import select
import threading
import time

import pytest
import structlog

from tenax.server.watchdog import STANDSTILL, Hold, Times, Watchdog


def hold(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


async def held(watchdog: Watchdog, *seconds: float) -> None:
    with watchdog.watching():
        for one in seconds:
            await asyncio.sleep(0.1)
            hold(one)
        await asyncio.sleep(0.1)


def test_a_hold_is_counted_and_its_function_named():
    watchdog = Watchdog(0.05)
    with structlog.testing.capture_logs() as logs:
        asyncio.run(held(watchdog, 0.3))
    assert watchdog.numbers()["loop_holds_total"] >= 1
    assert watchdog.longest > 0.2
    assert 0 < watchdog.busiest <= watchdog.longest
    told = [log for log in logs if log["event"] == "the event loop was held"]
    assert told
    assert "test_watchdog.hold:" in told[0]["frames"]
    assert told[0]["milliseconds"] >= 200


def test_a_hold_that_lasts_until_the_end_is_counted():
    watchdog = Watchdog(0.05)

    async def to_the_end() -> None:
        with watchdog.watching():
            await asyncio.sleep(0.1)
            hold(0.3)

    asyncio.run(to_the_end())
    assert watchdog.holds == 1


def test_a_wait_that_blocks_the_loop_is_counted_though_nothing_computed():
    watchdog = Watchdog(0.05)

    async def blocked() -> None:
        with watchdog.watching():
            await asyncio.sleep(0.1)
            select.select([], [], [], 0.5)

    with structlog.testing.capture_logs() as logs:
        asyncio.run(blocked())
    assert watchdog.holds == 1
    assert 0.05 < watchdog.most_blocked < STANDSTILL
    assert logs[0]["blocked_milliseconds"] > logs[0]["busy_milliseconds"]


@pytest.mark.parametrize(
    ("held", "computed", "waited", "expected"),
    [
        (0.3, 0.1, 0.2, (0.3, 0.1, 0.0)),
        (0.3, 0.1, 0.0, (0.3, 0.1, 0.2)),
        (0.3, 0.4, 0.0, (0.3, 0.3, 0.0)),
        (0.3, 0.1, None, (0.3, 0.1, 0.0)),
    ],
    ids=["no processor", "blocked", "busy since", "unknown"],
)
def test_a_hold_is_divided_by_what_the_thread_did(held, computed, waited, expected):
    hold = Hold.of(
        held,
        Times(1.0, None if waited is None else 2.0),
        Times(1.0 + computed, None if waited is None else 2.0 + waited),
    )
    assert hold == pytest.approx(expected)


def test_its_thread_ends_with_what_it_watches():
    asyncio.run(held(Watchdog(0.05), 0.01))
    assert "tenax-watchdog" not in [thread.name for thread in threading.enumerate()]


def test_nothing_is_told_of_a_loop_that_is_free():
    watchdog = Watchdog(5.0)
    with structlog.testing.capture_logs() as logs:
        asyncio.run(held(watchdog, 0.01))
    assert (watchdog.holds, logs) == (0, [])


def test_it_can_be_switched_off():
    watchdog = Watchdog(0.0)
    asyncio.run(held(watchdog, 0.1))
    assert watchdog.holds == 0


def test_the_server_shows_its_numbers(server):
    with server.http() as http:
        assert http.get("/healthz").json() == {"status": "ok"}
        measured = http.get("/healthz?verbose").json()["measured"]
    assert measured["loop_hold_limit_seconds"] == 0.05
    assert measured["loop_holds_total"] >= 0
