"""Tests that every attempt ends, frees its slot, and delays no other report, whatever its outcome."""

from __future__ import annotations

import asyncio
import logging

import pytest
from support.serve.server_in_memory import Server, work

from tenax.errors import TenaxError, UsageError
from tenax.model.wire import Held
from tenax.worker import link


@pytest.fixture(autouse=True)
def quick_pauses(monkeypatch):
    monkeypatch.setattr(link, "MAX_PAUSE", 0.01)


class Choosy(Server):
    """As long as it has an error, it fails on a success of item 2, with whatever goes along. A failure is taken."""

    def __init__(self, error, *items, **more):
        super().__init__(items, **more)
        self.error = error
        self.failed = 0

    async def report(self, reports):
        if self.error and any(r.item_id == 2 and r.outcome.status == "succeeded" for r in reports):
            self.failed += 1
            raise self.error
        return await super().report(reports)


class Stubborn(Server):
    """A request that is given up comes to something else: to an error, or to an answer after all."""

    def __init__(self, answer):
        super().__init__(())
        self.answer_to_the_end = answer

    async def lease(self, request):
        try:
            return await super().lease(request)
        except asyncio.CancelledError:
            if isinstance(self.answer_to_the_end, Exception):
                raise self.answer_to_the_end from None
            return self.answer_to_the_end


@pytest.mark.parametrize("answer", [TenaxError("the database is gone"), []], ids=["an error", "an answer"])
def test_a_worker_that_is_stopped_stops_whatever_its_request_makes_of_that(answer):
    async def scenario(stop, at_once, running):
        await server.until(lambda: server.requests)

    server = Stubborn(answer)
    work(server, scenario)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UsageError("it has no JSON form: oh"), "it has no JSON form: oh"),
        (TenaxError("the server failed on this request"), "the server failed on this request"),
        (ValueError("surrogates\ud800"), "ValueError: surrogates\\ud800"),
    ],
)
def test_a_report_that_cannot_be_sent_is_set_aside(quick, error, said):
    async def scenario(stop, at_once, running):
        await server.until(lambda: len(server.outcomes) == 300)

    server = Choosy(error, *({"item": n, "task": quick} for n in range(300)))
    work(server, scenario, slots=3)
    facts = server.outcomes[2].facts
    assert (facts.failure_class, facts.reason) == ("invalid", "invalid_result")
    assert facts.message == f"the attempt's report could not be sent: {said}"
    assert [number for number, outcome in server.outcomes.items() if outcome.status != "succeeded"] == [2]


def test_where_no_other_gets_through_a_report_is_kept(quick):
    """It may be the server: nothing shows that it is the report."""

    async def scenario(stop, at_once, running):
        while server.failed < 20:
            await server.beaten(1)
        server.error = None
        await server.until(lambda: server.outcomes)

    server = Choosy(RuntimeError("a fault of the server"), {"item": 2, "task": quick}, heartbeat=0.01)
    work(server, scenario)
    assert server.outcomes[2].status == "succeeded"


def test_leases_are_handed_back_though_reports_fail(quick):
    async def scenario(stop, at_once, running):
        await server.until(lambda: server.releases)
        assert not server.outcomes
        server.error = None

    server = Choosy(RuntimeError("oh"), {"item": 2, "task": quick}, {"item": 3, "task": "nowhere:f"})
    work(server, scenario)
    assert [release.item_id for release in server.releases] == [3]


def test_a_release_that_the_server_refuses_does_not_cost_the_others():
    class Strict(Server):
        async def release(self, releases):
            if any(release.item_id == 1 for release in releases):
                raise UsageError("no")
            await super().release(releases)

    async def scenario(stop, at_once, running):
        await server.until(lambda: len(server.releases) == 2)

    server = Strict([{"item": n, "task": "nowhere:f"} for n in (1, 2, 3)])
    work(server, scenario)
    assert {release.item_id for release in server.releases} == {2, 3}


class Unhelpful(Exception):
    @property
    def response(self):
        raise OSError("no")


@pytest.mark.parametrize("error", [GeneratorExit(), KeyboardInterrupt(), SystemExit(1), Unhelpful()])
def test_whatever_a_coroutine_raises_ends_its_attempt(register, quick, error):
    async def raises():
        raise error

    async def scenario(stop, at_once, running):
        await server.until(lambda: len(server.outcomes) == 2)

    register("raises", raises)
    server = Server([{"item": 1, "task": "raises"}, {"item": 2, "task": quick}])
    work(server, scenario, slots=1)
    facts = server.outcomes[1].facts
    assert facts.exception.endswith(f".{type(error).__name__}")
    assert server.outcomes[2].status == "succeeded"


def test_a_result_that_is_too_deep_to_be_searched_for_secrets_ends_its_attempt():
    async def scenario(stop, at_once, running):
        await server.until(lambda: server.outcomes)

    deep = f"printf '{'[' * 900}{']' * 900}'"
    spec = {"command": deep, "env": {"KEY": None}}
    slot = (("env", "KEY"), ({"secret": "KEY"},))
    server = Server([{"item": 1, "runtime": "process", "spec": spec, "secrets": (slot,)}])
    work(server, scenario, environment={"TENAX_SECRET_KEY": "s3cret"})
    facts = server.outcomes[1].facts
    assert facts.reason == "invalid_result"
    assert facts.message.startswith("stdout is JSON that cannot be stored: it has more than 500 levels")


def test_the_log_of_a_failed_executor_holds_no_secret(caplog):
    async def scenario(stop, at_once, running):
        await server.until(lambda: server.outcomes)

    # A name of more than 255 characters is no name of a folder, and the error for it has it in its text.
    slot = (("cwd",), ({"secret": "KEY"},))
    spec = {"command": "true", "cwd": None}
    server = Server([{"item": 1, "runtime": "process", "spec": spec, "secrets": (slot,)}])
    work(server, scenario, environment={"TENAX_SECRET_KEY": "s3cret" * 50})
    assert "item 1, attempt 1: the executor failed" in caplog.text
    assert "[secret KEY]" in caplog.text
    assert "s3cret" not in caplog.text
    assert "s3cret" not in repr(server.outcomes[1])


def test_an_attempt_that_goes_on_is_told_to_end_once(register, caplog):
    told, let_go = asyncio.Event(), asyncio.Event()

    async def stubborn():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told.set()
            await let_go.wait()

    register("stubborn", stubborn)

    async def scenario(stop, at_once, running):
        await server.until(lambda: server.beats and server.beats[-1].holding)
        server.revoked = [Held(1, server.requests[0].grant)]
        await told.wait()
        await server.beaten(5)
        let_go.set()
        await server.until(lambda: server.outcomes)

    server = Server([{"item": 1, "task": "stubborn"}], heartbeat=0.01)
    with caplog.at_level(logging.WARNING, "tenax.worker"):
        work(server, scenario)
    assert [r.getMessage() for r in caplog.records if "revoked" in r.getMessage()] == [
        "item 1: the server revoked its lease, so the attempt is cancelled"
    ]
