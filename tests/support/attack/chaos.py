"""Kills and stops servers, workers and PostgreSQL under a mixed load, for a given time."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from support.processes import Household, free_port
from support.waiting import eventually
from tenax.errors import Unreachable
from tenax.model.wire import Submission
from tenax.sdk.sync_client import SyncClient

PATIENCE = 180.0
"""Seconds within which all executions must end after the last kill."""
SERVERS = 2
WORKERS = 3
FEEDERS = 2
BATCH = 4

PLAIN = """
name: plain
workflow: [{step: a, type: process, command: "echo 1"}, {step: b, type: process, command: "echo 2", needs: [a]}]
"""
FLAKY = """
name: flaky
workflow:
  - step: a
    type: process
    command: test {{ attempt }} -ge 3
    retry: {max_attempts: 9, initial_delay: 200ms, max_delay: 1s, jitter: full, infra_attempts: 5}
"""
FAILING = """
name: failing
workflow: [{step: a, type: process, command: exit 3, retry: {max_attempts: 2, initial_delay: 100ms, infra_attempts: 1}}]
"""
FAN_OUT = """
name: fan-out
workflow:
  - step: each
    type: process
    command: 'test {{ item }} -ne 2 && test {{ attempt }} -ge {{ item }}'
    for_each: [0, 1, 2, 1, 0, 1]
    parallelism: 3
    tolerate: 6
    retry: {max_attempts: 3, initial_delay: 200ms}
  - {step: after, type: process, command: echo done, needs: [each], retry: 5}
"""
UNDONE = """
name: undone
defaults: {retry: {max_attempts: 4, initial_delay: 100ms}}
workflow:
  - {step: a, type: process, command: echo a, compensate: {type: process, command: echo undo a}}
  - {step: b, type: process, command: echo b, needs: [a], compensate: {type: process, command: "test {{ attempt }} -ge 2"}}
  - {step: c, type: process, command: exit 7, needs: [b], retry: 1}
"""
PARENT = """
name: parent
workflow:
  - {step: nap, type: sleep, for: 300ms}
  - {step: call, type: workflow, file: flaky.yaml, needs: [nap], retry: {max_attempts: 3, retry_on: [child_failed]}}
"""
AGENT = """
name: agent
workflow:
  - step: think
    type: agent
    prompt: think
    command:
      - python3
      - -c
      - |
        import json, os, random, sys, time
        usage = os.fdopen(int(os.environ["TENAX_USAGE_FD"]), "w", buffering=1)
        for n in range(1, 4):
            print(json.dumps({"tokens": 10 * n, "cost_usd": 0.01 * n}), file=usage)
            time.sleep(0.1)
        if random.random() < 0.3:
            sys.exit(7)
        stated = {"status": "completed", "output": "done", "usage": {"tokens": 40, "cost_usd": 0.05}}
        with open(os.environ["TENAX_RESULT_FILE"], "w") as file:
            json.dump(stated, file)
    retry: {max_attempts: 4, initial_delay: 200ms, infra_attempts: 5, attempt_cost: 0.05}
"""
CREW = """
name: crew
budget: {cost_usd: 0.4}
workflow:
  - step: each
    type: workflow
    file: agent.yaml
    for_each: [0, 1, 2, 3, 4, 5, 6, 7]
    parallelism: 8
    tolerate: 8
  - {step: last, type: process, command: echo done, needs: [each], retry: 5}
"""
FILES = {"flaky.yaml": FLAKY, "agent.yaml": AGENT}
BLOWS = (
    "kill_worker", "kill_worker", "stop_worker", "drain_worker", "kill_server", "stop_server",
    "kill_postgres", "stop_postgres", "end_postgres",
)  # fmt: skip
MIX = (PLAIN, PLAIN, FLAKY, FAILING, FAN_OUT, UNDONE, PARENT, CREW)


class Chaos(Household):
    """Runs servers and workers on an embedded PostgreSQL of their own. Any of them may be killed at any time."""

    def __init__(self, folder: Path, home: Path, seed: int, **settings: str) -> None:
        super().__init__(folder, home, **settings)
        self.dice = random.Random(seed)
        self.ports = [self.port, *(free_port() for _ in range(SERVERS - 1))]
        self.url = self.environment["TENAX_SERVER"] = ",".join(
            f"http://127.0.0.1:{port}" for port in self.ports
        )
        self.servers: list[Any] = []
        self.workers: list[Any] = []
        self._blows: list[str] = []
        self._tasks: list[str] = []
        self.done: Counter[str] = Counter()
        """The number of each kind of blow."""

    def open(self) -> None:
        self.servers = [self.start("server", "--port", str(port)) for port in self.ports]
        for server in self.servers:
            eventually(lambda one=server: self._says_or_died(one, "listening on"), timeout=60)
        self.workers = [self._work(number) for number in range(WORKERS)]

    def work_on_database(self, *modules: str) -> None:
        """Gives the workers these modules, and the database for the transactions of their tasks. Call it before `open`."""
        self._tasks = [*modules, "--database"]

    @property
    def database_url(self) -> str:
        """The address of the database. It stays the same when PostgreSQL is started again."""
        self._url_of_database = self._url_of_database or self.run("db", "url").stdout.strip()
        return self._url_of_database

    def _work(self, number: int) -> Any:
        tasks = [*self._tasks, self.database_url] if self._tasks else []
        return self.worker(*tasks, "--name", f"w{number}", "--slots", "4")

    def rage(self, seconds: float) -> None:
        """Deals one blow after the other. Each kind is dealt once before any kind is repeated."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not self._blows:
                self._blows = list(BLOWS)
                self.dice.shuffle(self._blows)
            blow = self._blows.pop()
            self.done[blow] += 1
            getattr(self, blow)()
            _pause(self.dice.uniform(0.2, 1.0))

    def kill_worker(self) -> None:
        number = self.dice.randrange(WORKERS)
        self._kill(self.workers[number])
        self.workers[number] = self._work(number)

    def stop_worker(self) -> None:
        """Stops a worker for longer than its lease, so that others take its work over before it wakes up."""
        with _stopped(self.dice.choice(self.workers).pid):
            _pause(3.0)

    def drain_worker(self) -> None:
        number = self.dice.randrange(WORKERS)
        self.workers[number].send_signal(signal.SIGTERM)
        self.workers[number].wait(60)
        self.workers[number] = self._work(number)

    def kill_server(self) -> None:
        number = self.dice.randrange(SERVERS)
        self._kill(self.servers[number])
        self.servers[number] = self.start("server", "--port", str(self.ports[number]))

    def stop_server(self) -> None:
        with _stopped(self.dice.choice(self.servers).pid):
            _pause(self.dice.choice([0.5, 3.0]))

    def kill_postgres(self) -> None:
        self._signal_postgres(signal.SIGKILL)

    def end_postgres(self) -> None:
        """Shuts PostgreSQL down fast: connections are ended, and transactions are undone."""
        self._signal_postgres(signal.SIGINT)

    def stop_postgres(self) -> None:
        """Shuts PostgreSQL down so that it takes no new connections for a while."""
        if (pid := self._postgres()) is not None:
            with _stopped(pid):
                _pause(1.0)

    def _signal_postgres(self, how: signal.Signals) -> None:
        if (pid := self._postgres()) is not None:
            os.kill(pid, how)
            eventually(lambda: self._postgres() not in (pid, None), timeout=60)

    def _postgres(self) -> int | None:
        """Returns the process of PostgreSQL, or None if there is none."""
        try:
            return self.postmaster()
        except (AssertionError, OSError, ValueError):
            return None

    @staticmethod
    def _kill(process: Any) -> None:
        process.kill()
        process.wait()

    def mend(self) -> None:
        """Starts every process again that has ended by itself."""
        for number, server in enumerate(self.servers):
            if server.poll() is not None:
                self.servers[number] = self.start("server", "--port", str(self.ports[number]))
        for number, worker in enumerate(self.workers):
            if worker.poll() is not None:
                self.workers[number] = self._work(number)


class Feeders:
    """Runs threads that submit executions of all kinds, with keys, until they are told to stop."""

    def __init__(self, client: Callable[[], SyncClient], seed: int) -> None:
        self.over = threading.Event()
        self.submitted: dict[str, int] = {}
        """The execution of each key."""
        self._client = client
        self._threads = [threading.Thread(target=self._feed, args=(seed, n)) for n in range(FEEDERS)]

    @contextmanager
    def feeding(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self.over.set()
            for thread in self._threads:
                thread.join(PATIENCE)

    def _feed(self, seed: int, number: int) -> None:
        dice = random.Random(seed * 1000 + number)
        with self._client() as client:
            for batch in count():
                if self.over.is_set():
                    return
                keys = [f"{number}-{batch}-{n}" for n in range(BATCH)]
                sources = [dice.choice(MIX) for _ in keys]
                self._submit(
                    client,
                    [Submission(source=s, key=k, files=FILES) for s, k in zip(sources, keys, strict=True)],
                )
                self.over.wait(dice.uniform(0.4, 1.2))

    def _submit(self, client: SyncClient, submissions: list[Submission]) -> None:
        """Submits with a key, so that a second try after a lost answer submits nothing twice."""
        while True:
            try:
                answers = client.submit_many(submissions)
            except Unreachable:
                _pause(0.1)
                continue
            self.submitted |= {str(s.key): a.id for s, a in zip(submissions, answers, strict=True)}
            return


def until_all_ended(house: Chaos, submitted: dict[str, int]) -> dict[int, str]:
    """Returns how each of the executions ended."""
    left, found = set(submitted.values()), dict[int, str]()

    def over() -> bool:
        house.mend()
        try:
            with house.client() as client:
                for id_ in sorted(left)[:50]:
                    status = client.get(id_)["status"]
                    if status in ("completed", "failed", "cancelled"):
                        found[id_] = status
                        left.discard(id_)
        except Unreachable:
            return False
        return not left

    eventually(over, timeout=PATIENCE)
    return found


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


@contextmanager
def _stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
