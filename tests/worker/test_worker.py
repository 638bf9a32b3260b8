"""The worker's loop against a small server in memory."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable

import pytest
from support.serve.server_in_memory import PATIENCE, Server, work

from tenax.errors import TooLarge, Unauthorized, Unreachable
from tenax.model.wire import PROTOCOL, Held, Registration
from tenax.sdk.context import context
from tenax.sdk.outcomes import Cancelled
from tenax.worker.handlers.error_outcomes import MESSAGE_LIMIT, STDERR_LIMIT, TRACEBACK_LIMIT
from tenax.worker.task_pool import SLICE_SECONDS
from tenax.worker.worker import Worker


def test_runs_what_it_leases_and_reports_it_in_batches(quick):
    async def scenario(stop, at_once, running):
        await server.until(lambda: len(server.outcomes) == 100)

    server = Server([{"item": n, "task": quick} for n in range(100)])
    work(server, scenario, slots=100, labels={"zone": "a"}, execution_id=5, version="v1")
    assert {outcome.result for outcome in server.outcomes.values()} == {"ok"}
    assert len(server.batches) < 20
    [said] = server.registrations
    life = said.life
    assert said == Registration(
        "w1",
        ("python", "http", "process", "agent", "action"),
        ("default",),
        {"zone": "a"},
        100,
        "v1",
        life,
        5,
        PROTOCOL,
    )
    assert {(r.execution_id, r.worker, r.life) for r in server.requests} == {(5, "w1", life)}
    assert {(b.worker, b.life) for b in server.beats} == {("w1", life)}
    assert len({r.grant for r in server.requests}) == len(server.requests)


def test_asks_for_no_more_than_its_free_slots(gate, quick):
    async def scenario(stop, at_once, running):
        await server.until(lambda: len(server.requests) == 2)
        assert [r.slots for r in server.requests] == [3, 1]
        gate.open.set()

    server = Server([{"item": 1, "task": "waits"}, {"item": 2, "task": "waits"}])
    work(server, scenario, slots=3)


def test_what_need_not_wait_is_over_before_more_is_asked_for(quick):
    async def scenario(stop, at_once, running):
        await server.until(lambda: 0 in server.outcomes)  # the function has been looked up
        await server.add({"item": 1, "task": quick}, {"item": 2, "task": quick})
        await server.until(lambda: len(server.requests) == 3)

    server = Server([{"item": 0, "task": quick}])
    work(server, scenario, slots=4)
    assert [request.slots for request in server.requests] == [4, 3, 4]


def test_what_finishes_during_a_report_forms_the_next_batch(quick):
    server = Server([{"item": 1, "task": quick}])

    async def scenario(stop, at_once, running):
        server.report_gate = asyncio.Event()
        await server.until(lambda: len(server.batches) == 1)
        await server.add(*({"item": n, "task": quick} for n in (2, 3, 4)))
        await server.until(lambda: len(server.requests) >= 3)
        server.report_gate.set()
        await server.until(lambda: len(server.batches) == 2)

    work(server, scenario, slots=10)
    assert [[report.item_id for report in batch] for batch in server.batches] == [[1], [2, 3, 4]]


def test_a_report_that_did_not_get_through_is_sent_again_with_the_same_token(quick, caplog):
    async def scenario(stop, at_once, running):
        await server.until(lambda: 1 in server.outcomes)

    server = Server([{"item": 1, "task": quick}])
    server.faults["report"] = [Unreachable("cannot reach the server at X: connection refused")] * 3
    with caplog.at_level(logging.INFO, "tenax.worker"):
        work(server, scenario)
    assert [[r.token for r in batch] for batch in server.batches] == [[server.requests[0].grant]]
    said = [record.getMessage() for record in caplog.records]
    assert (
        sum("cannot reach" in line for line in said) <= 2
    )  # once for each time the link went down, not for each try


def test_a_finished_attempt_is_held_in_heartbeats_until_it_is_reported(quick):
    async def scenario(stop, at_once, running):
        server.report_gate = asyncio.Event()
        await server.until(lambda: server.batches)
        sent = len(server.beats)
        await server.until(lambda: len(server.beats) > sent + 1)
        assert [held.item_id for held in server.beats[-1].holding] == [1]
        server.report_gate.set()

    server = Server([{"item": 1, "task": quick}], heartbeat=0.01)
    work(server, scenario)


def test_a_revoked_lease_ends_its_attempt_and_the_report_says_so(gate):
    async def scenario(stop, at_once, running):
        await gate.come.wait()
        server.revoked = [Held(1, server.requests[0].grant), Held(99, "unknown")]
        await server.until(lambda: 1 in server.outcomes)
        assert gate.cancelled.is_set()

    server = Server([{"item": 1, "task": "waits"}], heartbeat=0.01)
    work(server, scenario)
    facts = server.outcomes[1].facts
    assert (facts.failure_class, facts.message) == ("cancelled", "ended: the lease was revoked")


def test_a_thread_hears_of_the_revocation_by_its_heartbeat(register):
    told, started = threading.Event(), threading.Event()

    def long_work():
        started.set()
        here = context()
        try:
            while True:
                here.heartbeat()
        except Cancelled:
            told.set()
            raise

    register("long", long_work)

    async def scenario(stop, at_once, running):
        await asyncio.to_thread(started.wait, PATIENCE)
        server.revoked = [Held(1, server.requests[0].grant)]
        assert await asyncio.to_thread(told.wait, PATIENCE)

    server = Server([{"item": 1, "task": "long"}], heartbeat=0.01)
    work(server, scenario)


def test_a_lease_answer_that_never_came_is_named_a_lost_grant(quick):
    async def scenario(stop, at_once, running):
        await server.until(lambda: 1 in server.outcomes)

    server = Server([{"item": 1, "task": quick}])
    server.faults["lease"] = [Unreachable("reset")]
    work(server, scenario)
    lost, after, *later = server.requests
    named = {grant for beat in server.beats for grant in beat.lost_grants} | set(after.lost_grants)
    assert lost.grant in named
    assert not any(lost.grant in request.lost_grants for request in later)


def test_a_parked_lease_request_is_abandoned_and_named_at_the_end():
    async def scenario(stop, at_once, running):
        await server.until(lambda: server.requests)

    server = Server()
    work(server, scenario)
    assert server.beats[-1].lost_grants == (server.requests[-1].grant,)


def test_draining_finishes_what_runs_and_reports_it(gate):
    async def scenario(stop, at_once, running):
        await gate.come.wait()
        stop.set()
        await server.until(
            lambda: any(server.requests[-1].grant in beat.lost_grants for beat in server.beats)
        )
        gate.open.set()

    server = Server([{"item": 1, "task": "waits"}], heartbeat=0.01)
    work(server, scenario)
    assert server.outcomes[1].result == "passed"
    assert server.releases == []


@pytest.mark.parametrize("how", ["drain time is over", "told to end at once"])
def test_what_does_not_finish_is_handed_back(gate, how):
    async def scenario(stop, at_once, running):
        await gate.come.wait()
        stop.set()
        if how == "told to end at once":
            at_once.set()

    server = Server([{"item": 1, "task": "waits"}])
    work(server, scenario, drain=20.0 if how == "told to end at once" else 0.01)
    assert gate.cancelled.is_set()
    assert [(r.item_id, r.reason, r.token) for r in server.releases] == [
        (1, "draining", server.requests[0].grant)
    ]
    assert server.outcomes == {}


def test_an_attempt_that_will_not_be_cancelled_is_handed_back_too(register):
    started, release = threading.Event(), threading.Event()

    def stuck():
        started.set()
        release.wait(PATIENCE)

    register("stuck", stuck)

    async def scenario(stop, at_once, running):
        await asyncio.to_thread(started.wait, PATIENCE)
        stop.set()
        at_once.set()
        await running
        release.set()

    server = Server([{"item": 1, "task": "stuck"}])
    work(server, scenario)
    assert [r.item_id for r in server.releases] == [1]


class Busy(Server):
    """Has a hundred items, of which each keeps the loop busy for a turn. `at_first` is called by the first of them."""

    def __init__(self, register, **options):
        self.begun: list[int] = []
        self.at_first: Callable[[], object] = lambda: None

        async def burns():
            self.begun.append(context().item_id)
            if context().item_id == 1:
                self.at_first()
            over = time.monotonic() + SLICE_SECONDS
            while time.monotonic() < over:
                pass

        # By the time there is anything to do, the function has been looked up: all would wait for that.
        super().__init__([{"item": 0, "task": register("burns", burns)}], **options)

    async def begin(self) -> None:
        await self.until(lambda: 0 in self.outcomes)
        await self.add(*({"item": n, "task": "burns"} for n in range(1, 101)))


def test_what_has_not_begun_when_the_worker_stops_is_handed_back_and_never_begins(register):
    async def scenario(stop, at_once, running):
        server.at_first = lambda: [stop.set(), at_once.set()]
        await server.begin()
        await running

    server = Busy(register)
    work(server, scenario, slots=200)
    handed_back = [release.item_id for release in server.releases]
    assert handed_back
    assert sorted([*server.begun, *handed_back]) == list(range(101))
    assert sorted(server.outcomes) == server.begun


def test_what_has_not_begun_when_its_lease_is_revoked_never_begins(register):
    async def scenario(stop, at_once, running):
        server.at_first = lambda: server.revoked.extend(
            Held(n, request.grant) for n in range(101) for request in server.requests
        )
        await server.begin()
        await server.until(lambda: len(server.outcomes) == 101)

    server = Busy(register, heartbeat=0.001)
    work(server, scenario, slots=200)
    ended = server.outcomes
    assert [n for n in sorted(ended) if ended[n].status == "succeeded"] == server.begun
    assert len(server.begun) < 101
    assert sum(len(batch) for batch in server.batches) == 101


def test_no_handler_hands_the_lease_back(quick):
    async def scenario(stop, at_once, running):
        await server.until(lambda: len(server.releases) == 2)

    server = Server([{"item": 1, "task": "nowhere:f"}, {"item": 2, "runtime": "quantum", "task": "x"}])
    work(server, scenario)
    assert {(r.item_id, r.reason) for r in server.releases} == {(1, "no_handler"), (2, "no_handler")}
    assert "nowhere" in next(r.detail for r in server.releases if r.item_id == 1)


def test_cut_off_from_its_server_it_goes_on_and_reports_when_it_can(gate):
    async def scenario(stop, at_once, running):
        await gate.come.wait()
        server.down = True
        missed = server.refused
        await server.until(lambda: server.refused > missed + 8)
        gate.open.set()
        server.down = False
        await server.until(lambda: 1 in server.outcomes)

    server = Server([{"item": 1, "task": "waits"}], lease=0.02, heartbeat=0.005)
    work(server, scenario)
    assert server.outcomes[1].status == "succeeded"
    assert not gate.cancelled.is_set()


def test_a_server_that_is_not_up_yet_is_waited_for(quick):
    async def scenario(stop, at_once, running):
        await server.until(lambda: 1 in server.outcomes)

    server = Server([{"item": 1, "task": quick}])
    server.faults["register"] = [Unreachable("refused"), RuntimeError("a fault of the server")]
    work(server, scenario)


def test_it_can_be_stopped_while_it_waits_for_its_server():
    async def scenario(stop, at_once, running):
        stop.set()
        await asyncio.wait_for(running, PATIENCE)

    server = Server()
    server.down = True
    work(server, scenario)
    assert server.registrations == []


@pytest.mark.parametrize("verb", ["register", "lease", "report", "heartbeat"])
def test_a_refused_token_ends_the_worker(quick, verb):
    server = Server([{"item": 1, "task": quick}], heartbeat=0.01)
    server.faults[verb] = [Unauthorized("the token is unknown")]

    async def go():
        async with asyncio.timeout(PATIENCE):
            await Worker(server, name="w", environment={}).run(asyncio.Event())

    with pytest.raises(Unauthorized):
        asyncio.run(go())


def test_a_report_that_the_server_refuses_does_not_hold_up_the_others(register, quick, caplog):
    class Picky(Server):
        async def report(self, reports):
            if any(report.outcome.result == "huge" for report in reports):
                raise TooLarge("the server takes at most 3 bytes in one request (max_body)")
            return await super().report(reports)

    async def huge():
        return "huge"

    register("huge", huge)

    async def scenario(stop, at_once, running):
        await server.until(lambda: len(server.outcomes) == 3)

    server = Picky([{"item": 1, "task": quick}, {"item": 2, "task": "huge"}, {"item": 3, "task": quick}])
    work(server, scenario)
    assert [server.outcomes[n].status for n in (1, 2, 3)] == ["succeeded", "failed", "succeeded"]
    said = "the result is 6 bytes; the server takes at most 3 bytes in one request (max_body)"
    assert server.outcomes[2].facts.message == said
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warned == [f"item 2, attempt 1: {said}; the attempt fails"], (
        "the others arrived, and nobody need be alarmed"
    )


def test_secrets_are_filled_in_and_scrubbed_from_what_is_reported(register):
    async def leaks(token):
        raise ValueError(f"called with {token}")

    register("leaks", leaks)
    spec = {"task": "leaks", "args": {"token": None}}
    slot = (("args", "token"), ("Bearer ", {"secret": "API"}))

    async def scenario(stop, at_once, running):
        await server.until(lambda: len(server.outcomes) == 2)

    missing = (("args", "token"), ({"secret": "OTHER"},))
    server = Server(
        [{"item": 1, "spec": spec, "secrets": (slot,)}, {"item": 2, "spec": spec, "secrets": (missing,)}]
    )
    work(server, scenario, environment={"TENAX_SECRET_API": "s3cret"})
    assert server.outcomes[1].facts.message == "ValueError: called with Bearer [secret API]"
    assert "s3cret" not in repr(server.outcomes[1])
    assert "TENAX_SECRET_OTHER" in server.outcomes[2].facts.message
    assert spec["args"]["token"] is None


LONG_SECRET = "0123456789abcdef" * 8


def test_texts_are_scrubbed_before_they_are_cut(register):
    """Half a secret at the edge of what is kept would not be recognised."""

    def fails():
        raise ValueError("x" * (MESSAGE_LIMIT - 60) + LONG_SECRET + "y" * (TRACEBACK_LIMIT - 60))

    async def scenario(stop, at_once, running):
        await server.until(lambda: len(server.outcomes) == 2)

    register("fails", fails)
    command = f"printf '%s%0{STDERR_LIMIT - 60}d' $OPEN 0 >&2; exit 1"
    process = {"command": command, "env": {"OPEN": LONG_SECRET}}
    server = Server([{"item": 1, "task": "fails"}, {"item": 2, "runtime": "process", "spec": process}])
    work(server, scenario, environment={"TENAX_SECRET_API": LONG_SECRET})
    raised, exited = server.outcomes[1].facts, server.outcomes[2].facts
    assert [len(raised.message), len(raised.traceback)] == [MESSAGE_LIMIT, TRACEBACK_LIMIT]
    assert len(exited.stderr_tail) <= STDERR_LIMIT
    assert len(exited.message) <= MESSAGE_LIMIT
    for text in (raised.message, raised.traceback, exited.stderr_tail, exited.message):
        assert "cdef" not in text
    assert "[secret API]" in raised.message
    assert "[secret API]" in exited.stderr_tail
