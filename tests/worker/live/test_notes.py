"""What running attempts tell, from their functions to the server. Nothing is sent of attempts that tell nothing."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from dataclasses import replace

import pytest
from support.serve.server_in_memory import Server, work

from tenax.errors import NotFound, Unreachable, UsageError
from tenax.model.wire import Held
from tenax.sdk.context import context
from tenax.sdk.outcomes import Cancelled


def values(server: Server) -> list[str]:
    return [one.value for notes in server.notes for one in notes.checkpoints]


def printed(server: Server, item: int) -> str:
    parts = [part for notes in server.notes for part in notes.output if part.item_id == item]
    assert [part.start for part in parts] == [
        sum(len(before.text.encode()) for before in parts[:n]) for n in range(len(parts))
    ]
    return "".join(part.text for part in parts)


async def until_over(server: Server, *items: int) -> None:
    await server.until(lambda: set(items) <= set(server.outcomes))


def test_an_attempt_that_tells_nothing_sends_nothing(quick):
    async def scenario(stop, at_once, running):
        await until_over(server, 1)

    server = Server([{"item": 1, "task": quick}])
    work(server, scenario)
    assert not server.notes


def test_a_checkpoint_and_the_progress_are_sent_while_the_attempt_runs(register):
    gate = asyncio.Event()

    async def pages():
        context().checkpoint({"page": 1})
        context().checkpoint({"page": 2})
        context().progress(0.5, "page 2 of 4")
        await gate.wait()

    async def scenario(stop, at_once, running):
        await server.until(lambda: server.notes)
        [notes] = server.notes
        [kept], [told] = notes.checkpoints, notes.progress
        assert (kept.item_id, kept.token, kept.number, kept.value) == (
            1,
            server.requests[0].grant,
            2,
            '{"page":2}',
        )
        assert (told.fraction, told.message) == (0.5, "page 2 of 4")
        gate.set()
        await until_over(server, 1)

    server = Server([{"item": 1, "task": register("pages", pages)}])
    work(server, scenario)
    assert len(server.notes) == 1


def test_a_flushed_checkpoint_has_arrived_when_the_function_goes_on(register):
    seen: list[list[str]] = []

    async def in_loop():
        await context().checkpoint(1, flush=True)
        seen.append(values(server))

    def in_thread():
        context().checkpoint(2, flush=True)
        seen.append(values(server))

    async def scenario(stop, at_once, running):
        await until_over(server, 1)
        await server.add({"item": 2, "task": register("in_thread", in_thread)})
        await until_over(server, 2)

    server = Server([{"item": 1, "task": register("in_loop", in_loop)}])
    work(server, scenario)
    assert seen == [["1"], ["1", "2"]]


def test_a_flush_waits_until_the_server_is_back(register):
    async def pages():
        await context().checkpoint(1, flush=True)

    async def scenario(stop, at_once, running):
        await until_over(server, 1)

    server = Server([{"item": 1, "task": register("pages", pages)}])
    server.faults["notes"] = [Unreachable("cannot reach the server")] * 2
    work(server, scenario)
    assert values(server) == ["1"]


@pytest.mark.parametrize("kind", ["loop", "thread"])
def test_a_flush_raises_cancelled_if_the_lease_was_revoked(register, kind):
    raised: list[str] = []

    async def in_loop():
        try:
            await context().checkpoint(1, flush=True)
        except Cancelled as error:
            raised.append(str(error))

    def in_thread():
        try:
            context().checkpoint(1, flush=True)
        except Cancelled as error:
            raised.append(str(error))

    async def scenario(stop, at_once, running):
        await server.until(lambda: server.requests)
        server.stale = [Held(1, server.requests[0].grant)]
        await server.add({"item": 1, "task": register("pages", in_loop if kind == "loop" else in_thread)})
        await until_over(server, 1)

    server = Server()
    work(server, scenario, slots=1)
    assert raised == ["the lease of the attempt was revoked, so its checkpoint was not kept"]


def test_a_failure_is_reported_after_its_last_checkpoint_and_a_success_without_it(register):
    before_report: list[list[str]] = []

    def fails():
        context().checkpoint("failed here")
        raise ConnectionError("gone")

    def succeeds():
        context().checkpoint("done here")

    class Watched(Server):
        async def report(self, reports):
            before_report.append(values(self))
            return await super().report(reports)

    async def scenario(stop, at_once, running):
        await until_over(server, 1)
        await server.add({"item": 2, "task": register("succeeds", succeeds)})
        await until_over(server, 2)

    server = Watched([{"item": 1, "task": register("fails", fails)}])
    work(server, scenario)
    assert before_report == [['"failed here"']] * 2


def test_an_attempt_that_is_handed_back_gives_its_checkpoint_first(gate, register):
    async def waits():
        context().checkpoint(7)
        await gate()

    async def scenario(stop, at_once, running):
        await gate.come.wait()
        stop.set()
        await server.until(lambda: server.releases)

    server = Server([{"item": 1, "task": register("waits", waits)}])
    work(server, scenario, drain=0.0)
    assert values(server) == ["7"]


def test_a_checkpoint_that_is_too_large_is_refused_where_it_is_made(register):
    raised: list[UsageError] = []

    def pages():
        try:
            context().checkpoint("x" * 2000)
        except UsageError as error:
            raised.append(error)
        context().checkpoint("small")
        with pytest.raises(UsageError, match=r"the checkpoint .*has no JSON form"):
            context().checkpoint(object())
        with pytest.raises(UsageError, match="from 0 to 1"):
            context().progress(1.5)
        with pytest.raises(UsageError, match="needs a fraction"):
            context().progress()
        raise ConnectionError

    async def scenario(stop, at_once, running):
        await until_over(server, 1)

    server = Server([{"item": 1, "task": register("pages", pages)}])
    work(server, scenario)
    assert "max_checkpoint" in str(raised[0])
    assert values(server) == ['"small"']


def test_an_older_server_gets_no_notes(register, caplog):
    async def pages():
        print("page 1")
        await context().checkpoint(1, flush=True)
        context().progress(0.5)
        return "done"

    async def scenario(stop, at_once, running):
        await until_over(server, 1)

    server = Server([{"item": 1, "task": register("pages", pages)}])
    server.terms = replace(server.terms, max_checkpoint=0, max_output=0)
    work(server, scenario)
    assert server.outcomes[1].result == "done"
    assert not server.notes


def test_refused_notes_are_dropped_and_fail_nothing(register, caplog):
    async def pages():
        print("page 1")
        await context().checkpoint(1, flush=True)
        return "done"

    async def scenario(stop, at_once, running):
        await until_over(server, 1)

    server = Server([{"item": 1, "task": register("pages", pages)}])
    server.faults["notes"] = [NotFound("there is no such path")]
    with caplog.at_level(logging.WARNING, "tenax.worker"):
        work(server, scenario)
    assert server.outcomes[1].result == "done"
    assert "the server refused what attempts tell" in caplog.text


# -- output


def test_each_attempt_gets_what_it_prints_itself_in_threads_and_in_the_loop(register, capsys):
    both = threading.Barrier(2, timeout=20)

    def in_thread():
        print("thread before")
        both.wait()
        print("thread after")

    async def in_loop():
        print("loop before")
        await asyncio.to_thread(both.wait)
        print("loop after")

    async def scenario(stop, at_once, running):
        await until_over(server, 1, 2)

    server = Server(
        [
            {"item": 1, "task": register("in_thread", in_thread)},
            {"item": 2, "task": register("in_loop", in_loop)},
        ]
    )
    out = sys.stdout
    work(server, scenario)
    assert printed(server, 1) == "thread before\nthread after\n"
    assert printed(server, 2) == "loop before\nloop after\n"
    shown = capsys.readouterr().out
    assert "thread before" in shown
    assert "loop after" in shown
    assert sys.stdout is out


def test_what_is_logged_is_kept_once_and_without_the_worker_s_own_records(register):
    def logs():
        logging.getLogger("shop").warning("the shelf is %s", "empty")
        logging.getLogger("tenax.worker").warning("of the worker")
        context().logger.warning("of the task")

    async def scenario(stop, at_once, running):
        await until_over(server, 1)

    server = Server([{"item": 1, "task": register("logs", logs)}])
    work(server, scenario)
    lines = printed(server, 1).splitlines()
    assert lines == ["WARNING shop: the shelf is empty", "WARNING tenax.task: [1 step attempt 1] of the task"]


def test_the_output_is_sent_while_the_attempt_runs(gate, register):
    async def prints():
        print("first line\nhalf a line", end="")
        await gate()

    async def scenario(stop, at_once, running):
        await server.until(lambda: server.notes)
        assert printed(server, 1) == "first line\n"
        gate.open.set()
        await until_over(server, 1)

    server = Server([{"item": 1, "task": register("prints", prints)}])
    work(server, scenario)
    assert printed(server, 1) == "first line\nhalf a line"


def test_secrets_are_scrubbed_even_if_they_come_in_pieces(register):
    def prints():
        sys.stdout.write("the key is hunt")
        sys.stdout.write("er2hunter2!\n")
        print("x" * 70_000 + "hunter2hunter2", end="")

    async def scenario(stop, at_once, running):
        await until_over(server, 1)

    server = Server([{"item": 1, "task": register("prints", prints)}])
    work(server, scenario, environment={"TENAX_SECRET_KEY": "hunter2hunter2"})
    text = printed(server, 1)
    assert text.startswith("the key is [secret KEY]!\n")
    assert text.endswith("x[secret KEY]")
    assert "hunter2" not in text


def test_the_output_of_a_process_is_kept(register):
    command = "echo out; echo err >&2; printf 'caf\\303\\251'"

    async def scenario(stop, at_once, running):
        await until_over(server, 1)

    server = Server([{"item": 1, "runtime": "process", "spec": {"command": command}}])
    work(server, scenario)
    assert sorted(printed(server, 1).splitlines()) == ["café", "err", "out"]


def test_output_never_delays_a_report(register):
    async def prints():
        print("a line")
        return "done"

    async def scenario(stop, at_once, running):
        await until_over(server, 1)
        assert not server.notes

    server = Server([{"item": 1, "task": register("prints", prints)}])
    server.faults["notes"] = [Unreachable("cannot reach the server")] * 3
    work(server, scenario)
    assert printed(server, 1) == "a line\n"


# -- the end of a lease


def test_the_context_says_that_the_attempt_is_cancelled(register):
    come = threading.Event()
    gone = threading.Event()
    seen: list[bool] = []

    def waits():
        mine = context()
        seen.append(mine.cancelled)
        come.set()
        while not mine.cancelled:
            gone.wait(0.01)
        seen.append(mine.cancelled)
        gone.set()

    async def scenario(stop, at_once, running):
        await asyncio.to_thread(come.wait, 20)
        server.revoked = [Held(1, server.requests[0].grant)]
        await until_over(server, 1)
        await asyncio.to_thread(gone.wait, 20)

    server = Server([{"item": 1, "task": register("waits", waits)}], heartbeat=0.01)
    work(server, scenario)
    assert seen == [False, True]
