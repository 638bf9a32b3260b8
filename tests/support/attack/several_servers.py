"""Runs several servers and named workers on one database, with a steady load, and reads the log afterwards."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg

from support.processes import Household, free_port
from support.waiting import eventually
from tenax.engine.fleet.leader import LEASE as LEADS
from tenax.errors import Unreachable
from tenax.model.wire import Submission
from tenax.sdk.sync_client import SyncClient

Process = subprocess.Popen[bytes]
PATIENCE = 60.0
BATCH = 10

_ATTEMPTS = """
select execution_id, step, attempt,
       count(*) filter (where type = 'action_started') as starts,
       count(*) filter (where type in ('action_completed', 'action_error', 'lease_expired', 'lease_released')) as ends,
       min(data ->> 'worker') filter (where type = 'action_started') as worker,
       min(at) filter (where type = 'action_started') as started,
       max(type) filter (where type <> 'action_started') as how,
       max(at) filter (where type <> 'action_started') as ended
  from tenax.event
 where type in ('action_started', 'action_completed', 'action_error', 'lease_expired', 'lease_released')
 group by execution_id, step, attempt
 order by execution_id, step, attempt
"""


class Crew(Household):
    """Runs servers on `servers` addresses of one database. All workers and clients know all addresses."""

    def __init__(self, folder: Path, database_url: str, *, servers: int = 1, **settings: str) -> None:
        super().__init__(folder, folder / "home", database_url=database_url, **settings)
        self._database_url = database_url
        self._runner = asyncio.Runner()
        self._connection: Any = None
        self.ports = [self.port, *(free_port() for _ in range(servers - 1))]
        self.urls = [f"http://127.0.0.1:{port}" for port in self.ports]
        self.url = self.environment["TENAX_SERVER"] = ",".join(self.urls)

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self._connection is not None:
            self._runner.run(self._connection.close())
        self._runner.close()

    def serve(self, *numbers: int) -> list[Process]:
        """Starts the servers with these numbers, and waits until they listen."""
        started = [self.start("server", "--port", str(self.ports[number])) for number in numbers]
        for process in started:
            eventually(lambda one=process: self._says_or_died(one, "listening on"), timeout=PATIENCE)
        return started

    def work(self, *names: str, slots: int = 4) -> dict[str, Process]:
        """Starts workers with these names, and waits until they have registered."""
        since = self.now()
        started = {name: self.worker("--name", name, "--slots", str(slots)) for name in names}
        here = "select from tenax.worker where name = $1 and registered_at > $2"
        for name, process in started.items():
            eventually(
                lambda name=name, one=process: self._alive(one) and self.rows(here, name, since),
                timeout=PATIENCE,
            )
        return started

    def _alive(self, process: Process) -> bool:
        assert process.poll() is None, self.words(process)
        return True

    def stop(self, process: Process) -> None:
        """Stops a process in good order."""
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, self.words(process)

    def kill(self, process: Process) -> Any:
        """Kills a process with signal 9. Returns the database's time just before it."""
        at = self.now()
        process.kill()
        process.wait()
        return at

    def freeze(self, process: Process) -> Any:
        """Stops a process by SIGSTOP while it holds no transaction open, since locks are not the subject here. Returns the time before."""
        while True:
            at = self.now()
            process.send_signal(signal.SIGSTOP)
            if (
                not self._transactions() & self._transactions()
            ):  # only processes that both checks see are counted
                return at
            process.send_signal(signal.SIGCONT)

    def _transactions(self) -> set[tuple[int, Any]]:
        found = self.rows(
            """select pid, xact_start from pg_stat_activity
                where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()"""
        )
        return {(row["pid"], row["xact_start"]) for row in found}

    # -- the state of the database

    def rows(self, query: str, *values: Any) -> Sequence[Any]:
        """Returns rows over a connection of the crew's own."""
        if self._connection is None:
            self._connection = self._runner.run(asyncpg.connect(self._database_url))
        return self._runner.run(self._connection.fetch(query, *values))

    def now(self) -> Any:
        return self.rows("select tenax.now() as now")[0]["now"]

    def attempts(self) -> Sequence[Any]:
        """Returns each attempt of the log: how often it started and ended, where, when and how."""
        return self.rows(_ATTEMPTS)

    def leader(self) -> str | None:
        """Returns the server that leads now, or None."""
        [row] = self.rows("select leader, leader_until > tenax.now() as now from tenax.service")
        return str(row["leader"]) if row["leader"] and row["now"] else None

    def until_led(self, *, not_by: str | None = None) -> str:
        """Waits until another server leads, and returns it."""

        def found() -> str | None:
            leader = self.leader()
            return leader if leader != not_by else None

        leader = eventually(found, timeout=PATIENCE)
        assert leader
        return leader

    def led_after(self, moment: Any) -> Any:
        """Returns the time at which a server was first seen to lead by a lease that it took after that moment."""
        taken = "select tenax.now() as now from tenax.service where leader_until > $1::timestamptz + $2"
        return eventually(lambda: self.rows(taken, moment, timedelta(seconds=LEADS)), timeout=PATIENCE)[0][
            "now"
        ]

    def states(self) -> dict[str, int]:
        found = self.rows("select state, count(*) as n from tenax.execution group by state")
        return {row["state"]: row["n"] for row in found}

    # -- load

    def submit(self, source: str, times: int, **values: Any) -> list[int]:
        with self.client() as client:
            return [one.id for one in client.submit_many([Submission(source=source, input=values)] * times)]

    @contextmanager
    def load(self, source: str, *, feeders: int = 3) -> Iterator[Load]:
        """Runs executions one after the other during the block. At its end all of them have ended."""
        load = Load(self.client, source)
        threads = [threading.Thread(target=load.feed, args=(number,)) for number in range(feeders)]
        for thread in threads:
            thread.start()
        try:
            yield load
        finally:
            load.over.set()
            for thread in threads:
                thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in threads), "executions have not ended"


class Load:
    """Runs feeders that submit a few executions, wait for their end, and submit the next ones."""

    def __init__(self, client: Callable[[], SyncClient], source: str) -> None:
        self.over = threading.Event()
        self.ids: list[int] = []
        self.ended = 0
        self._client = client
        self._source = source

    def feed(self, number: int) -> None:
        with self._client() as client:
            for batch in count():
                if self.over.is_set():
                    return
                keys = [f"load-{number}-{batch}-{n}" for n in range(BATCH)]
                ids = self._submit(client, [Submission(source=self._source, key=key) for key in keys])
                self.ids += ids
                for execution_id in ids:
                    self._until_ended(client, execution_id)
                    self.ended += 1

    def until_ended(self, more: int) -> None:
        """Waits until this many more executions have ended."""
        goal = self.ended + more
        eventually(lambda: self.ended >= goal, timeout=PATIENCE)

    def _submit(self, client: SyncClient, submissions: list[Submission]) -> list[int]:
        """Submits with a key, so that a second try after a lost answer submits nothing twice."""
        while True:
            try:
                return [one.id for one in client.submit_many(submissions)]
            except Unreachable:
                self.over.wait(0.05)

    def _until_ended(self, client: SyncClient, execution_id: int) -> None:
        while True:
            try:
                client.wait(execution_id)
            except Unreachable:
                self.over.wait(0.05)
            else:
                return
