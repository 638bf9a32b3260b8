"""Tests the cost of a crash, which is one attempt at most. Real processes are killed, stopped and started again."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support.processes import Household, alive
from support.waiting import eventually

from tenax.errors import Unreachable
from tenax.model.wire import Submission

SHORT = {"lease": "1s", "heartbeat": "300ms"}
Events = Sequence[dict[str, Any]]

# Each attempt says that it has begun, and with which process; it ends when its own file is there.
PATIENT = """
name: patient
workflow:
  - step: work
    type: process
    command: 'echo $$ > began-{{ attempt }}.part && mv began-{{ attempt }}.part began-{{ attempt }};
      while ! test -e go-{{ attempt }}; do sleep 0.02; done; echo \\"attempt {{ attempt }}\\"'
    cwd: FOLDER
    timeout: 60s
    retry: RETRY
"""
FAILING = """
name: failing
workflow:
  - step: work
    type: process
    command: exit 7
    retry: RETRY
"""
# Three steps are done and the fourth fails; what undoes the second is patient.
UNDONE = """
name: undone
defaults: {retry: RETRY}
workflow:
  - step: a
    type: process
    command: echo done
    compensate: {type: process, command: echo a >> undone, cwd: FOLDER}
  - step: b
    type: process
    command: echo done
    needs: [a]
    compensate:
      type: process
      command: 'echo $$ > began-{{ attempt }}.part && mv began-{{ attempt }}.part began-{{ attempt }};
        while ! test -e go-{{ attempt }}; do sleep 0.02; done; echo b >> undone'
      cwd: FOLDER
  - {step: c, type: process, command: echo done, needs: [b],
     compensate: {type: process, command: echo c >> undone, cwd: FOLDER}}
  - {step: d, type: process, command: exit 7, needs: [c], retry: 1}
"""


def submit(house: Household, source: str, retry: str) -> int:
    text = source.replace("FOLDER", str(house.folder)).replace("RETRY", retry)
    with house.client() as client:
        return client.submit(Submission(source=text)).id


def events(house: Household, execution_id: int) -> Events:
    try:
        with house.client() as client:
            return client.events(execution_id)
    except Unreachable:  # between two servers
        return ()


def of_type(found: Events, *types: str) -> list[dict[str, Any]]:
    return [event for event in found if event["type"] in types]


def until(house: Household, execution_id: int, kind: str, count: int = 1) -> Events:
    """The events once there are so many of that type."""

    def enough() -> Events:
        found = events(house, execution_id)
        return found if len(of_type(found, kind)) >= count else ()

    return eventually(enough, timeout=60)


def began(house: Household, attempt: int) -> int:
    """The process of an attempt, once it runs."""
    file = house.folder / f"began-{attempt}"
    eventually(file.exists, timeout=60)
    return int(file.read_text())


def finish(house: Household, attempt: int) -> None:
    (house.folder / f"go-{attempt}").touch()


def ended(house: Household, execution_id: int) -> tuple[dict[str, Any], Events]:
    def over() -> dict[str, Any] | None:
        try:
            with house.client() as client:
                execution = client.get(execution_id)
        except Unreachable:
            return None
        return execution if execution["status"] in ("completed", "failed", "cancelled") else None

    execution = eventually(over, timeout=60)
    return execution, events(house, execution_id)


def at(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["at"])


def check_waits(found: Events, delay: float) -> None:
    """Every retry was due its full delay after the failure, and no attempt began before it was due."""
    for retry in of_type(found, "step_retry"):
        [failure] = [
            e for e in of_type(found, "action_error", "lease_expired") if e["attempt"] == retry["attempt"]
        ]
        [start] = [e for e in of_type(found, "action_started") if e["attempt"] == retry["attempt"] + 1]
        due = datetime.fromisoformat(retry["data"]["available_at"])
        assert retry["data"]["delay_seconds"] == delay
        assert due - at(failure) == timedelta(seconds=delay)
        assert at(start) >= due


def test_a_worker_killed_in_mid_attempt_costs_that_attempt(tmp_path: Path, database_url: str) -> None:
    with Household(tmp_path, tmp_path / "home", database_url=database_url, **SHORT) as house:
        house.server()
        first = house.worker()
        execution_id = submit(house, PATIENT, "{max_attempts: 2, initial_delay: 700ms, jitter: 0}")
        child = began(house, 1)
        first.kill()
        eventually(lambda: not alive(child))  # a killed worker takes its child processes with it
        house.worker()
        finish(house, 2)
        execution, found = ended(house, execution_id)
        assert execution["status"] == "completed"
        assert execution["result"] == {"work": "attempt 2"}
        [lost] = of_type(found, "lease_expired")
        assert lost["data"]["failure"]["class"] == "worker_lost"
        assert lost["data"]["failure"]["reason"] == "worker_heartbeat_stale"
        check_waits(found, 0.7)


def test_a_worker_killed_in_the_middle_of_a_compensation_costs_that_attempt(
    tmp_path: Path, database_url: str
) -> None:
    with Household(tmp_path, tmp_path / "home", database_url=database_url, **SHORT) as house:
        house.server()
        first = house.worker()
        execution_id = submit(house, UNDONE, "{max_attempts: 2, initial_delay: 700ms, jitter: 0}")
        child = began(house, 1)
        first.kill()
        eventually(lambda: not alive(child))
        house.worker()
        began(house, 2)
        finish(house, 2)
        execution, found = ended(house, execution_id)
        assert (execution["status"], execution["compensation"]) == ("failed", "completed")
        assert execution["failure"]["step"] == "d"
        assert (tmp_path / "undone").read_text().split() == ["c", "b", "a"]
        [lost] = of_type(found, "compensation_error")
        assert (lost["step"], lost["data"]["how"]) == ("b", "lease_expired")
        assert lost["data"]["failure"]["class"] == "worker_lost"
        undone = [(event["step"], event["attempt"]) for event in of_type(found, "compensation_completed")]
        assert undone == [("c", 1), ("b", 2), ("a", 1)]
        assert len(of_type(found, "compensation_started")) == 4


def test_workers_killed_in_every_attempt_use_up_the_attempts_and_no_more(
    tmp_path: Path, database_url: str
) -> None:
    with Household(tmp_path, tmp_path / "home", database_url=database_url, **SHORT) as house:
        house.server()
        execution_id = submit(
            house, PATIENT, "{max_attempts: 2, infra_attempts: 0, backoff: none, jitter: 0}"
        )
        for attempt in (1, 2):
            worker = house.worker()
            began(house, attempt)
            worker.kill()
        house.worker()
        execution, found = ended(house, execution_id)
        assert execution["status"] == "failed"
        assert [event["type"] for event in found] == [
            "execution_started",
            "step_enqueued",
            "action_started",
            "lease_expired",
            "step_retry",
            "action_started",
            "lease_expired",
            "step_retry_exhausted",
            "step_failed_terminal",
            "execution_failed",
        ]


def test_a_server_killed_between_two_retries_forgets_nothing(tmp_path: Path, database_url: str) -> None:
    with Household(tmp_path, tmp_path / "home", database_url=database_url, **SHORT) as house:
        server = house.server()
        house.worker()
        execution_id = submit(
            house, FAILING, "{max_attempts: 3, backoff: fixed, initial_delay: 3s, jitter: 0}"
        )
        until(house, execution_id, "step_retry")
        server.kill()
        server.wait()
        house.server()
        restarted = datetime.now(UTC)
        found = until(house, execution_id, "action_started", 2)
        # Counted from the failure: a delay from the restart would end after this moment.
        assert at(of_type(found, "action_started")[1]) < restarted + timedelta(seconds=3)
        execution, found = ended(house, execution_id)
        assert execution["status"] == "failed"
        assert len(of_type(found, "action_started")) == 3
        assert len(of_type(found, "step_retry_exhausted")) == 1
        check_waits(found, 3.0)


def test_a_server_killed_in_mid_attempt_does_not_cost_the_attempt(tmp_path: Path, database_url: str) -> None:
    """The worker goes on and reports when a server is back: within the lease that the restart grants."""
    with Household(
        tmp_path, tmp_path / "home", database_url=database_url, lease="10s", heartbeat="300ms"
    ) as house:
        server = house.server()
        house.worker()
        execution_id = submit(house, PATIENT, "1")
        began(house, 1)
        server.kill()
        server.wait()
        finish(house, 1)
        house.server()
        execution, found = ended(house, execution_id)
        assert execution["status"] == "completed"
        assert len(of_type(found, "action_started")) == 1
        assert not of_type(found, "lease_expired", "late_result")


def test_postgresql_killed_between_two_retries(tmp_path: Path, open_folder: Path) -> None:
    with Household(tmp_path, open_folder, **SHORT) as house:
        house.server()
        house.worker()
        execution_id = submit(
            house, FAILING, "{max_attempts: 3, backoff: fixed, initial_delay: 1s, jitter: 0}"
        )
        until(house, execution_id, "step_retry")
        killed = house.postmaster()
        os.kill(killed, signal.SIGKILL)
        execution, found = ended(house, execution_id)
        assert house.postmaster() != killed
        assert execution["status"] == "failed"
        assert len(of_type(found, "action_started")) == 3
        check_waits(found, 1.0)


def test_postgresql_killed_in_mid_attempt(tmp_path: Path, open_folder: Path) -> None:
    with Household(tmp_path, open_folder, lease="10s", heartbeat="300ms") as house:
        house.server()
        house.worker()
        execution_id = submit(house, PATIENT, "1")
        began(house, 1)
        os.kill(house.postmaster(), signal.SIGKILL)
        finish(house, 1)
        execution, found = ended(house, execution_id)
        assert execution["status"] == "completed"
        assert len(of_type(found, "action_started", "late_result")) == 1


def test_a_stopped_worker_that_wakes_up_late_changes_nothing(tmp_path: Path, database_url: str) -> None:
    with Household(tmp_path, tmp_path / "home", database_url=database_url, **SHORT) as house:
        house.server()
        sleepy = house.worker()
        execution_id = submit(house, PATIENT, "{max_attempts: 2, backoff: none, jitter: 0}")
        began(house, 1)
        sleepy.send_signal(signal.SIGSTOP)
        until(house, execution_id, "lease_expired")
        finish(house, 1)
        house.worker()
        began(house, 2)
        before = ended_states(house, execution_id)
        sleepy.send_signal(signal.SIGCONT)
        found = until(house, execution_id, "late_result")
        assert of_type(found, "late_result")[0]["attempt"] == 1
        assert ended_states(house, execution_id) == before
        finish(house, 2)
        execution, found = ended(house, execution_id)
        assert execution["status"] == "completed"
        assert execution["result"] == {"work": "attempt 2"}
        assert len(of_type(found, "late_result")) == 1
        assert len(of_type(found, "action_completed")) == 1


def ended_states(house: Household, execution_id: int) -> tuple[Any, ...]:
    with house.client() as client:
        execution = client.get(execution_id)
    step = execution["steps"]["work"]
    return execution["status"], step["status"], step["attempt"], [one["outcome"] for one in step["attempts"]]


def test_sigterm_lets_a_worker_finish_its_attempt(tmp_path: Path, database_url: str) -> None:
    with Household(tmp_path, tmp_path / "home", database_url=database_url, lease="10s") as house:
        house.server()
        worker = house.worker()
        execution_id = submit(house, PATIENT, "1")
        began(house, 1)
        worker.send_signal(signal.SIGTERM)
        eventually(lambda: "draining" in house.words(worker))
        finish(house, 1)
        assert worker.wait(30) == 0
        execution, found = ended(house, execution_id)
        assert execution["result"] == {"work": "attempt 1"}
        assert not of_type(found, "lease_released", "lease_expired")


def test_sigterm_hands_back_what_does_not_finish_in_time(tmp_path: Path, database_url: str) -> None:
    with Household(
        tmp_path, tmp_path / "home", database_url=database_url, lease="30s", drain="100ms"
    ) as house:
        house.server()
        worker = house.worker()
        execution_id = submit(house, PATIENT, "1")
        child = began(house, 1)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
        assert not alive(child)
        [back] = of_type(events(house, execution_id), "lease_released")
        assert back["data"]["reason"] == "draining"
        house.worker()
        finish(house, 2)
        execution, found = ended(house, execution_id)
        # One attempt is the limit; what was handed back is not counted.
        assert execution["status"] == "completed"
        assert not of_type(found, "lease_expired", "action_error")


def test_a_second_sigterm_hands_back_at_once(tmp_path: Path, database_url: str) -> None:
    with Household(tmp_path, tmp_path / "home", database_url=database_url, lease="30s", drain="10m") as house:
        house.server()
        worker = house.worker()
        execution_id = submit(house, PATIENT, "1")
        began(house, 1)
        worker.send_signal(signal.SIGTERM)
        eventually(lambda: "draining" in house.words(worker))
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
        assert len(of_type(events(house, execution_id), "lease_released")) == 1
