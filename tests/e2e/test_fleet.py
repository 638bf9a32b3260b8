"""Kills, stops, restarts and takes over real workers and servers."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.attack.several_servers import BATCH, Crew, Process
from support.profiles import is_full
from support.waiting import eventually

LEASE = 3.0
SLACK = 3.0
"""Seconds by which a busy machine may be late."""
LEADS_AGAIN = 8.0
"""A leader's lease (4 s), and what a busy machine may be late."""
SHORT = {"lease": f"{LEASE:g}s", "heartbeat": "1s"}

TASKS = """
import asyncio, os, pathlib, signal
from tenax import task

@task
async def nap(seconds: float) -> None:
    await asyncio.sleep(seconds)

@task
async def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)

@task
async def gate(folder: str, name: str) -> str:
    at = pathlib.Path(folder)
    (at / f"{name}-reached").touch()
    while not (at / f"{name}-open").exists():
        await asyncio.sleep(0.02)
    return name
"""
# Nothing is forgiven: whatever were counted, or lost, would fail the execution.
ONCE = """
name: once
workflow:
  - {step: a, type: python, task: "fleet_tasks:nap", args: {seconds: 0.1}}
  - {step: b, type: python, task: "fleet_tasks:nap", args: {seconds: 0.1}, needs: [a]}
"""
AGAIN = """
name: again
workflow:
  - step: a
    type: python
    task: fleet_tasks:nap
    args: {seconds: 0.2}
    retry: {max_attempts: MOST, backoff: fixed, initial_delay: 100ms, jitter: 0}
"""
DEADLY = """
name: deadly
workflow:
  - step: a
    type: python
    task: fleet_tasks:kill
    retry: {max_attempts: 10, backoff: none, jitter: 0}
"""
GATED = """
name: gated
input: {folder: {type: string}, name: {type: string}}
workflow:
  - step: a
    type: python
    task: fleet_tasks:gate
    args: {folder: "{{ input.folder }}", name: "{{ input.name }}"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fleet_tasks.py").write_text(TASKS)
    return tmp_path


def check_decided_once(crew: Crew) -> None:
    """Every attempt started once and ended once, and no execution is left open."""
    wrong = [dict(one) for one in crew.attempts() if (one["starts"], one["ends"]) != (1, 1)]
    assert not wrong
    assert not crew.rows("select from tenax.event where type = 'late_result'")
    assert not crew.rows(
        "select id from tenax.item union all select id from tenax.execution where finished_at is null"
    )


def kill_at_work(crew: Crew, process: Process, name: str) -> Any:
    """Kills a worker while it holds a lease that it cannot have reported on. Returns the database's time just before it."""
    while True:
        crew.freeze(process)
        # Half of the time that its task takes: a report on an older lease may be on its way.
        recent = "started_at > tenax.now() - interval '100 ms'"
        if crew.rows(f"select from tenax.item where worker = $1 and state = 'leased' and {recent}", name):
            return crew.kill(process)
        process.send_signal(signal.SIGCONT)


def test_the_items_of_a_killed_worker_are_decided_once_and_the_others_go_on(
    folder: Path, database_url: str
) -> None:
    with Crew(folder, database_url, **SHORT) as crew:
        crew.serve(0)
        workers = crew.work("a", "b", "c")
        ids = crew.submit(AGAIN.replace("MOST", "2"), 250)
        eventually(lambda: len({one["worker"] for one in crew.attempts() if one["ended"]}) == 3)
        killed = kill_at_work(crew, workers["a"], "a")
        eventually(lambda: crew.states() == {"completed": len(ids)}, timeout=60)
        check_decided_once(crew)
        found = crew.attempts()
        lost = [one for one in found if one["how"] == "lease_expired"]
        assert lost
        assert {one["worker"] for one in lost} == {"a"}
        assert max(one["ended"] for one in lost) <= killed + timedelta(seconds=LEASE + SLACK)
        first = min(one["ended"] for one in lost)
        meanwhile = Counter(one["worker"] for one in found if killed < one["started"] < first)
        assert min(meanwhile["b"], meanwhile["c"]) >= 5
        # A grant that was on its way to the worker is handed back; nothing else ran twice.
        twice = {one["execution_id"] for one in found if one["attempt"] > 1}
        assert twice == {
            one["execution_id"] for one in found if one["how"] in ("lease_expired", "lease_released")
        }


def test_an_item_that_kills_its_workers_is_quarantined_and_the_fleet_lives(
    folder: Path, database_url: str
) -> None:
    short = {"lease": "1500ms", "heartbeat": "400ms"}
    with Crew(folder, database_url, worker_name="w", **short) as crew:
        up = crew.up("--workers", "3")
        [deadly] = crew.submit(DEADLY, 1)
        others = crew.submit(AGAIN.replace("MOST", "10"), 60)
        eventually(
            lambda: crew.rows("select from tenax.item where execution_id = $1 and state = 'held'", deadly), 60
        )
        eventually(lambda: crew.states() == {"completed": len(others), "running": 1}, timeout=60)
        deaths = [one for one in crew.attempts() if one["execution_id"] == deadly]
        assert {one["how"] for one in deaths} == {"lease_expired"}
        assert {one["worker"] for one in deaths} == {"w-1", "w-2", "w-3"}
        assert [one["attempt"] for one in deaths] == list(range(1, len(deaths) + 1))
        shown = crew.run("show", str(deadly))
        assert shown.returncode == 0, shown.stderr
        assert "held" in shown.stdout
        assert "3 workers" in shown.stdout
        check_fleet_lives(crew)
        assert up.poll() is None


def check_fleet_lives(crew: Crew) -> None:
    """Three workers, none of them blamed, and all three get work."""

    def healthy() -> bool:
        found = crew.rows("select state, health from tenax.worker")
        return [(one["state"], one["health"]) for one in found] == [("active", "healthy")] * 3

    eventually(healthy, timeout=30)
    before = crew.now()
    with crew.load(AGAIN.replace("MOST", "1")):
        eventually(
            lambda: len({one["worker"] for one in crew.attempts() if one["started"] > before}) == 3,
            timeout=30,
        )
    assert set(crew.states()) == {"completed", "running"}


@pytest.mark.parametrize("servers", [2, 3] if is_full() else [3])
def test_any_server_may_be_killed_while_work_flows(folder: Path, database_url: str, servers: int) -> None:
    with Crew(folder, database_url, servers=servers, **SHORT) as crew:
        running = crew.serve(*range(servers))
        crew.work("a", "b")
        with crew.load(ONCE) as load:
            load.until_ended(BATCH)
            for number in range(servers):  # one of them leads
                killed = crew.kill(running[number])
                assert crew.led_after(killed) < killed + timedelta(seconds=LEADS_AGAIN)
                load.until_ended(2 * BATCH)
                [running[number]] = crew.serve(number)
        assert crew.states() == {"completed": len(load.ids)}
        check_decided_once(crew)


def test_a_stopped_leader_is_replaced_and_does_not_lead_when_it_wakes(
    folder: Path, database_url: str
) -> None:
    with Crew(folder, database_url, servers=2, **SHORT) as crew:
        [first] = crew.serve(0)
        leads = crew.until_led()
        crew.serve(1)
        crew.environment["TENAX_SERVER"] = crew.urls[1]
        crew.work("a")
        stopped = crew.freeze(first)
        other = crew.until_led(not_by=leads)
        assert crew.now() < stopped + timedelta(seconds=LEADS_AGAIN)
        crew.url = crew.urls[1]
        with crew.load(ONCE) as load:
            load.until_ended(BATCH)
            os.kill(first.pid, signal.SIGCONT)
            until = crew.now() + timedelta(seconds=3)  # the next few times that both would lead
            seen = {crew.leader()}
            while crew.now() < until:
                seen.add(crew.leader())
                load.until_ended(1)
        assert seen == {other}
        assert crew.states() == {"completed": len(load.ids)}
        check_decided_once(crew)


def test_a_rolling_restart_of_everything_loses_nothing_and_counts_nothing(
    folder: Path, database_url: str
) -> None:
    with Crew(folder, database_url, servers=2, **SHORT) as crew:
        servers = crew.serve(0, 1)
        workers = crew.work("a", "b", "c")
        with crew.load(ONCE) as load:
            for number, server in enumerate(servers):
                load.until_ended(BATCH)
                crew.stop(server)
                [servers[number]] = crew.serve(number)
            for name, worker in workers.items():
                load.until_ended(BATCH)
                crew.stop(worker)
                crew.work(name)
            load.until_ended(BATCH)
        assert crew.states() == {"completed": len(load.ids)}
        check_decided_once(crew)
        assert {one["how"] for one in crew.attempts()} <= {"action_completed", "lease_released"}
        lives = crew.rows(
            "select data ->> 'worker' as worker from tenax.event where type = 'worker_registered'"
        )
        assert Counter(one["worker"] for one in lives) == {"a": 2, "b": 2, "c": 2}
        assert not crew.rows("select from tenax.worker_loss")


def test_a_worker_started_twice_under_one_name(folder: Path, database_url: str) -> None:
    with Crew(folder, database_url, **SHORT) as crew:
        crew.serve(0)
        first = crew.work("twin")["twin"]
        [before] = crew.submit(GATED, 1, folder=str(folder), name="before")
        eventually((folder / "before-reached").exists)
        second = crew.work("twin")["twin"]
        eventually(lambda: re.search("another worker has taken over the name twin", crew.words(first)))
        [after] = crew.submit(GATED, 1, folder=str(folder), name="after")
        eventually((folder / "after-reached").exists)
        assert first.poll() is None  # it lets its work finish
        (folder / "before-open").touch()
        assert first.wait(30) == 2  # a mistake of a person: nobody starts it again by itself
        assert "--name" in crew.words(first)
        (folder / "after-open").touch()
        eventually(lambda: crew.states() == {"completed": 2})
        assert {one["execution_id"] for one in crew.attempts()} == {before, after}
        assert {one["how"] for one in crew.attempts()} == {"action_completed"}
        check_decided_once(crew)
        assert second.poll() is None
        [worker] = crew.rows("select state from tenax.worker where name = 'twin'")
        assert worker["state"] == "active"
