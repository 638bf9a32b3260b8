"""Tests what the server asks of a worker in its answers to heartbeats."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest
from support.serve.server_in_memory import PATIENCE, Server, work

from tenax.errors import Conflict, Unreachable
from tenax.model.wire import HeartbeatAnswer
from tenax.worker import link, transport
from tenax.worker.worker import Worker


def warned(caplog, words):
    return [r.levelname for r in caplog.records if words in r.getMessage()]


def test_every_start_is_another_life():
    async def scenario(stop, at_once, running):
        await server.until(lambda: server.requests)

    server = Server()
    work(server, scenario)
    work(server, scenario)
    first, second = (said.life for said in server.registrations)
    assert first != second


def test_a_worker_that_was_taken_over_finishes_and_ends_with_an_error(gate, caplog):
    async def scenario(stop, at_once, running):
        await gate.come.wait()
        await server.until(lambda: len(server.requests) == 2)
        server.answer = HeartbeatAnswer(superseded=True)
        await server.until(lambda: server.given_up)
        await server.beaten()
        gate.open.set()
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait({running})

    server = Server([{"item": 1, "task": "waits"}], heartbeat=0.01)
    with pytest.raises(Conflict, match="another worker has taken over the name w1") as raised:
        work(server, scenario, drain=0.0)
    assert "its own name" in raised.value.remedy
    assert server.outcomes[1].result == "passed", "its leases stay its own"
    assert server.releases == []
    assert len(server.requests) == 2, "it asks for nothing more"
    assert server.beats[-1].life == server.registrations[0].life
    assert warned(caplog, "taken over") == ["ERROR"]


def test_one_that_stops_anyway_is_taken_over_in_peace(gate, caplog):
    async def scenario(stop, at_once, running):
        await gate.come.wait()
        stop.set()
        await server.until(lambda: server.given_up)
        server.answer = HeartbeatAnswer(superseded=True)
        await server.beaten()
        gate.open.set()

    server = Server([{"item": 1, "task": "waits"}], heartbeat=0.01)
    with caplog.at_level(logging.INFO, "tenax.worker"):
        work(server, scenario)
    assert server.outcomes[1].result == "passed"
    assert warned(caplog, "taken over") == ["INFO"]


def test_an_operator_that_drains_it_lets_it_finish_without_a_limit(gate, caplog):
    async def scenario(stop, at_once, running):
        await gate.come.wait()
        server.answer = HeartbeatAnswer(state="draining", leave=True)
        await server.until(lambda: server.given_up)
        await server.beaten()
        gate.open.set()
        async with asyncio.timeout(PATIENCE):
            await running

    server = Server([{"item": 1, "task": "waits"}], heartbeat=0.01)
    work(server, scenario, drain=0.0)
    assert server.outcomes[1].result == "passed"
    assert server.beats[-1].leaving
    assert warned(caplog, "drains this worker") == ["WARNING"]


def test_a_signal_still_hands_back_what_a_drained_worker_has(gate):
    async def scenario(stop, at_once, running):
        await gate.come.wait()
        server.answer = HeartbeatAnswer(state="draining", leave=True)
        await server.until(lambda: server.given_up)
        stop.set()

    server = Server([{"item": 1, "task": "waits"}], heartbeat=0.01)
    work(server, scenario, drain=0.0)
    assert [(r.item_id, r.reason) for r in server.releases] == [(1, "draining")]


def test_an_unknown_worker_registers_again_before_it_asks(quick):
    async def scenario(stop, at_once, running):
        await server.until(lambda: server.requests)
        server.faults["register"] = [Unreachable("gone")] * 10_000
        server.answer = HeartbeatAnswer(known=False)
        await server.beaten()
        await server.add({"item": 1, "task": quick})
        await server.until(lambda: 1 in server.outcomes)
        await server.beaten(4)
        assert len(server.requests) == 1, "it asks for no more before it is known again"
        server.faults["register"].clear()
        await server.until(lambda: len(server.registrations) >= 2)
        await server.until(lambda: len(server.requests) == 2)

    server = Server(heartbeat=0.01)
    work(server, scenario)
    assert len({said.life for said in server.registrations}) == 1


def test_a_change_of_state_is_said_once(caplog):
    async def scenario(stop, at_once, running):
        for answer in (
            HeartbeatAnswer(state="paused"),
            HeartbeatAnswer(),
            HeartbeatAnswer(state="draining"),
        ):
            server.answer = answer
            await server.beaten(4)

    server = Server(heartbeat=0.005)
    with caplog.at_level(logging.INFO, "tenax.worker"):
        work(server, scenario)
    assert warned(caplog, "paused this worker: it gets no new work until `tenax workers resume w1`") == [
        "WARNING"
    ]
    assert warned(caplog, "gets work again") == ["INFO"]
    assert warned(caplog, "the server drains this worker") == ["WARNING"]
    assert len(server.requests) == 1, "it keeps its request: the server gives it nothing"


def test_only_the_error_of_its_own_start_ends_it(gate):
    """Drained by an operator, and then followed by its next life: that is no mistake of names."""

    async def scenario(stop, at_once, running):
        await gate.come.wait()
        server.answer = HeartbeatAnswer(state="draining", leave=True)
        await server.until(lambda: server.given_up)
        server.answer = replace(server.answer, superseded=True)
        await server.beaten()
        gate.open.set()
        async with asyncio.timeout(PATIENCE):
            await running

    server = Server([{"item": 1, "task": "waits"}], heartbeat=0.01)
    work(server, scenario)
    assert server.outcomes[1].result == "passed"


def test_it_can_be_taken_over_while_it_has_nothing_to_do():
    async def go():
        server = Server(heartbeat=0.01)
        server.answer = HeartbeatAnswer(superseded=True)
        async with asyncio.timeout(PATIENCE):
            await Worker(server, name="w", environment={}).run(asyncio.Event())

    with pytest.raises(Conflict):
        asyncio.run(go())


def test_a_server_that_is_too_old_is_waited_for(quick, monkeypatch, caplog):
    """It says so once, takes no work, and begins when the server has been upgraded."""
    monkeypatch.setattr(transport, "OLDEST_SERVER", 2)
    monkeypatch.setattr(link, "MAX_PAUSE", 0.01)

    async def scenario(stop, at_once, running):
        await server.until(lambda: len(server.registrations) >= 3)
        assert server.requests == []
        server.terms = replace(server.terms, protocol=2)
        await server.until(lambda: 1 in server.outcomes)

    server = Server([{"item": 1, "task": quick}])
    work(server, scenario)
    said = [r.getMessage() for r in caplog.records if "workers' protocol" in r.getMessage()]
    assert len(said) == 1
    assert "the server speaks version 1 of the workers' protocol, and this worker needs 2 or newer" in said[0]
