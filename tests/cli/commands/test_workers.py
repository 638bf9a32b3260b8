"""Tests `tenax workers` against a server whose loops run, over HTTP and on the database itself."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.hand import hand_on
from support.waiting import eventually

from tenax.credentials.token_file import read_token
from tenax.model.wire import PROTOCOL
from tenax.settings.home import find_home

GPU = """
name: gpu
workflow:
  - {step: render, type: process, command: "true", queue: gpu}
"""


@pytest.fixture(params=["over HTTP", "on the database"])
def where(request, server, database_url) -> dict[str, str]:
    return {"TENAX_SERVER": server} if request.param == "over HTTP" else {"TENAX_DATABASE_URL": database_url}


@pytest.fixture
def tenax(command, where, tmp_path):
    (tmp_path / "gpu.yaml").write_text(GPU)
    return lambda *arguments, **more: command(*arguments, **where, **more)


def speak(server: str, path: str, body: Any) -> Any:
    """As a worker does, with the token that the server has made for its user."""
    headers = {"authorization": f"Bearer {read_token(find_home())}"}
    answer = httpx2.post(f"{server}/v1/worker/{path}", json=body, headers=headers, timeout=30)
    assert answer.status_code == 200, answer.text
    return answer.json()


def register(server: str, name: str = "w1", **more: Any) -> str:
    life = str(uuid.uuid4())
    who = {
        "worker": name,
        "runtimes": ["process"],
        "slots": 4,
        "version": "v7",
        "life": life,
        "protocol": PROTOCOL,
    }
    speak(server, "register", {**who, **more})
    return life


def test_nobody_is_there(tenax, where):
    nobody = tenax("workers")
    hint = "tenax worker" if "TENAX_SERVER" in where else "tenax worker, or tenax up"
    assert (nobody.code, nobody.out, nobody.err) == (0, f"no worker is live: {hint}\n", "")
    assert tenax("workers", "--json").json == []


def test_the_table(tenax, server):
    register(server, "w1")
    register(server, "w2", queues=["gpu"])
    shown = tenax("workers")
    assert (shown.code, shown.err) == (0, "")
    head, *rows = shown.out.splitlines()
    titles = "name state health queues runtimes slots busy failures rate heartbeat version"
    assert " ".join(head.split()) == titles
    assert [re.split(r"  +", row)[:9] for row in rows] == [
        ["w1", "active", "healthy", "default", "process", "4", "0", "0", "-"],
        ["w2", "active", "healthy", "gpu", "process", "4", "0", "0", "-"],
    ]
    assert all(row.endswith("  v7") for row in rows)
    assert [one["name"] for one in tenax("workers", "--json").json] == ["w1", "w2"]


def test_those_that_are_gone(tenax, server):
    life = register(server)
    speak(server, "heartbeat", {"worker": "w1", "life": life, "leaving": True})
    assert "no worker is live" in tenax("workers").out
    assert re.search(r"^w1 +gone +- ", tenax("workers", "--all").out, re.MULTILINE)
    refused = tenax("workers", "drain", "w1")
    assert (refused.code, refused.out) == (2, "")
    assert "w1" in refused.err
    assert tenax("workers", "show", "w1").out.startswith("worker w1: gone\n")
    assert tenax("workers", "pause", "w1").code == 0, "for its next life"
    register(server)
    assert re.search(r"^w1 +paused ", tenax("workers").out, re.MULTILINE)


def test_pause_and_resume(tenax, server):
    register(server)
    paused = tenax("workers", "pause", "w1", "--reason", "bad disk")
    assert (paused.code, paused.err) == (0, "")
    assert (
        paused.out
        == "worker w1 is paused; its running attempts may finish\n  resume it: tenax workers resume w1\n"
    )
    assert tenax("workers", "pause", "w1").out == "worker w1 was paused already\n"
    assert tenax("workers", "pause", "w1", "--json").json == {
        "name": "w1",
        "state": "paused",
        "changed": False,
    }
    shown = tenax("workers", "show", "w1").out
    assert re.match(r"worker w1: paused, healthy\b.*\n  paused by \S+ at \S+: bad disk\n", shown)
    assert "  give it work again: tenax workers resume w1\n" in shown
    assert re.search(r"operator_action +\S+ paused it: bad disk$", shown, re.MULTILINE)
    assert re.search(
        r"worker_registered +registered with 4 slots for default, version v7$", shown, re.MULTILINE
    )
    assert tenax("workers", "resume", "w1").out == "worker w1 gets work again\n"
    assert tenax("workers", "resume", "w1").out == "worker w1 was active already\n"


def test_a_queue_whose_worker_is_paused_is_not_called_unserved(tenax, server):
    tenax("submit", "gpu.yaml")
    assert "no live worker serves gpu; start one: tenax worker --queue gpu\n" in tenax("queues").out
    register(server, "w1", queues=["gpu"])
    tenax("workers", "pause", "w1")
    shown = tenax("queues").out
    assert "no worker of gpu takes work: w1 is paused; give it work again: tenax workers resume w1\n" in shown
    assert "start one" not in shown
    [queue] = tenax("queues", "--json").json
    assert (queue["workers"], [(one["name"], one["state"]) for one in queue["idle"]]) == (
        0,
        [("w1", "paused")],
    )
    register(server, "w2", queues=["gpu"])
    tenax("workers", "drain", "w2")
    assert "takes work: w1 is paused, w2 is draining; give it" in tenax("queues").out
    tenax("workers", "resume", "w1")
    assert "takes work" not in tenax("queues").out, "an active worker is there again"


def test_drain(tenax, server):
    life = register(server)
    drained = tenax("workers", "drain", "w1")
    assert drained.out == (
        "worker w1 is draining: it finishes its running attempts, then it ends\n"
        "  see its progress: tenax workers show w1\n"
        "  if something starts it again (tenax up, systemd), it gets work again; to prevent that, once it has ended: "
        "tenax workers pause w1\n"
    )
    assert tenax("workers", "drain", "w1").out == "worker w1 was draining already\n"
    assert "its process ends when it has finished its running attempts" in tenax("workers", "show", "w1").out
    assert speak(server, "heartbeat", {"worker": "w1", "life": life})["leave"] is True


def test_what_a_worker_holds(tenax, server):
    number = tenax("submit", "gpu.yaml", "--json").json["id"]
    life = register(server, queues=["gpu"])
    wanted = {
        "worker": "w1",
        "grant": str(uuid.uuid4()),
        "slots": 1,
        "runtimes": ["process"],
        "queues": ["gpu"],
    }
    [assignment] = speak(server, "lease", {**wanted, "life": life, "wait": 10})
    assert assignment["execution_id"] == [number]
    shown = tenax("workers", "show", "w1").out
    assert "\nholds 1:\n" in shown
    assert re.search(rf"^ *{number}  render +1 +\S+ +20", shown, re.MULTILINE)
    assert re.search(r"^items in hand +1 +50 +100 +healthy$", shown, re.MULTILINE)
    assert tenax("workers", "show", "w1", "--json").json["leases_total"] == 1
    assert re.search(r"^w1 .*  4 +1  ", tenax("workers").out, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("workers", "show", "w2"), "w1"),
        (("workers", "drain", "nobody"), "nobody"),
        (("workers", "shwo"), "unknown command `workers shwo`; did you mean `show`?"),
        (("workers", "w1"), "show one worker: tenax workers show w1"),
        (("workers", "show"), "NAME"),
        (("workers", "--watch", "--json"), "--watch and --json exclude each other"),
    ],
)
def test_what_is_refused(tenax, server, arguments, part):
    register(server)
    refused = tenax(*arguments)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("tenax: ")
    assert part in refused.err


class Watching:
    """`tenax workers --watch` as a process, and what it has printed so far."""

    def __init__(self, out: Path, process: subprocess.Popen[bytes]) -> None:
        self._out = out
        self.process = process

    @property
    def text(self) -> str:
        return self._out.read_text()


@pytest.fixture
def watching(environment, where, tmp_path) -> Iterator[Watching]:
    out = tmp_path / "watched"
    with out.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "tenax", "workers", "--watch"],
            cwd=tmp_path,
            env=environment(**where),
            stdout=file,
        )
    yield Watching(out, process)
    process.kill()
    process.wait()


def test_watch_prints_each_change_and_ends_with_ctrl_c(watching, tenax, server):
    eventually(lambda: "no worker is live" in watching.text)
    register(server)
    eventually(lambda: re.search(r"^w1 +active", watching.text, re.MULTILINE))
    tenax("workers", "pause", "w1")
    eventually(lambda: re.search(r"^w1 +paused", watching.text, re.MULTILINE))
    assert watching.text.count("w1 ") == 2, "a table for each change, and no other"
    watching.process.send_signal(signal.SIGINT)
    assert watching.process.wait(20) == 0


def test_show_says_at_once_that_nobody_can_run_a_step(tenax, server):
    number = str(tenax("submit", "gpu.yaml", "--json").json["id"])
    register(server)
    reason = tenax("show", number, "--json").json["steps"]["render"]["unserved"]["reason"]
    assert "gpu" in reason
    shown = tenax("show", number).out
    assert f"render is not run: {reason}\n  start a worker: tenax worker " in shown
    assert f"render queued: {reason}" in tenax("list").out
    assert "(those there are: tenax workers)" in shown
    register(server, "w2", queues=["gpu"])
    assert reason not in tenax("show", number).out


POISON = """
name: poison
workflow:
  - {step: kills, type: process, command: "true", retry: {max_attempts: 9, backoff: none}}
"""


def test_show_says_why_a_step_is_held_and_how_to_release_it(command, database_url, tmp_path):
    async def lose_three_workers() -> int:
        async with hand_on(database_url, tmp_path) as hand:
            number = await hand.submit(POISON)
            for name in ("a", "b", "c"):
                await hand.register(name)
                await hand.lease_one(name)
                await hand.pass_time(40)
                await hand.engine.reap()
            return number

    number = str(asyncio.run(lose_three_workers()))

    def tenax(*arguments: str) -> str:
        ended = command(*arguments, TENAX_DATABASE_URL=database_url)
        assert (ended.code, ended.err) == (0, "")
        return ended.out

    shown = tenax("show", number)
    assert re.search(r"^kills +held +3 \(counted: 1 of 9\) +held: see below$", shown, re.MULTILINE), shown
    assert re.search(
        rf"^kills is held: it has cost 3 workers their lease \(a, b, c\)\n  fails in .*; release it: tenax retry {number}$",
        shown,
        re.MULTILINE,
    )
    assert re.search(r"held: it has cost several workers their lease$", shown, re.MULTILINE)
    assert "kills held, attempt 3 (counted: 1 of 9): it has cost 3 workers their lease (a, b, c)" in tenax(
        "list"
    )
    assert "the retry is held back: it has cost 3 workers their lease (a, b, c)" in tenax("events", number)
    assert tenax("retry", number) == (
        f"execution {number}: kills will be tried again now\n  follow it: tenax show {number} --follow\n"
    )
    assert "release it" not in tenax("show", number)
