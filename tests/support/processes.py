"""Runs Tenax as real processes, for tests that kill them: a server and workers on a port, with a home of their own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import asyncpg

from support.serve.forked_commands import shared_commands
from support.waiting import eventually
from tenax.credentials.token_file import read_token
from tenax.errors import TenaxError
from tenax.sdk.sync_client import SyncClient
from tenax.store.embedded.server import EmbeddedPostgres

TENAX = (sys.executable, "-m", "tenax")
STARTUP_SECONDS = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def alive(pid: int) -> bool:
    """Returns whether the process is alive. A zombie is dead: its parent may be gone too, and nothing collects it soon."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Household:
    """Runs processes that share a home (or a database) and a port. Use it as a context manager. Nothing outlives it."""

    def __init__(
        self, folder: Path, home: Path | str, *, database_url: str | None = None, **settings: str
    ) -> None:
        self.folder = folder
        self.home = Path(home)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
        own = {"TENAX_HOME": str(home), "TENAX_PORT": str(self.port), "TENAX_SERVER": self.url}
        if database_url:
            own["TENAX_DATABASE_URL"] = database_url
        self.environment = {
            **kept,
            **own,
            **{f"TENAX_{name.upper()}": value for name, value in settings.items()},
        }
        self.started: list[subprocess.Popen[bytes]] = []
        self._logs: list[Path] = []
        self._url_of_database = database_url

    def start(self, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
        """Starts a command in the background, in a session of its own. Its output goes into a file (`words`)."""
        log = self.folder / f"log-{len(self._logs)}.txt"
        self._logs.append(log)
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*TENAX, *arguments],
                env={**self.environment, **more},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def words(self, process: subprocess.Popen[bytes]) -> str:
        return self._logs[self.started.index(process)].read_text()

    def server(self) -> subprocess.Popen[bytes]:
        """A server that is ready."""
        process = self.start("server")
        self.until_ready(process)
        return process

    def worker(self, *arguments: str) -> subprocess.Popen[bytes]:
        return self.start("worker", *arguments)

    def up(self, *arguments: str) -> subprocess.Popen[bytes]:
        """`tenax up`, ready, with its workers started."""
        process = self.start("up", *arguments)
        eventually(lambda: self._says_or_died(process, "tenax up: ready"), timeout=STARTUP_SECONDS)
        return process

    def children(self, up: subprocess.Popen[bytes], kind: str) -> list[int]:
        """Returns the latest process of each child of this kind, by the output of `up`."""
        found = re.findall(rf"tenax up: ({kind}\S*) is process (\d+)", self.words(up))
        return [int(pid) for pid in dict(found).values()]

    def until_ready(self, process: subprocess.Popen[bytes]) -> None:
        def ready() -> bool:
            assert process.poll() is None, self.words(process)
            try:
                with self.client() as client:
                    return client.ready()
            except TenaxError:
                return False

        eventually(ready, timeout=STARTUP_SECONDS)

    def client(self, token: str | None = None) -> SyncClient:
        """Returns a client. Without another token it uses the one that the server has made for this user."""
        return SyncClient(self.url, token or read_token(self.home))

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end."""
        environment = {**self.environment, **more}
        ended = shared_commands().run(arguments, cwd=self.folder, environment=environment)
        return subprocess.CompletedProcess(arguments, ended.code, ended.out, ended.err)

    def run_anew(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end in a new interpreter: with other sources, or to test the start of the interpreter."""
        return subprocess.run(
            [*TENAX, *arguments],
            env={**self.environment, **more},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def query(self, statement: str, *values: Any) -> list[Any]:
        """Returns the first column of the rows of a statement, straight from the database."""

        self._url_of_database = self._url_of_database or self.run("db", "url").stdout.strip()

        async def ask() -> list[Any]:
            connection = await asyncpg.connect(self._url_of_database)
            try:
                return [row[0] for row in await connection.fetch(statement, *values)]
            finally:
                await connection.close()

        return asyncio.run(ask())

    def verify(self) -> dict[str, Any] | None:
        """Returns the report of `tenax verify`, straight from the database. Returns None if it could not be reached."""
        ended = self.run("verify", "--json", TENAX_SERVER="")
        assert ended.returncode in (0, 1, 3), ended.stderr
        return None if ended.returncode == 3 else json.loads(ended.stdout)

    def postmaster(self) -> int:
        pid = EmbeddedPostgres(self.home).status().pid
        assert pid
        return pid

    def _says_or_died(self, process: subprocess.Popen[bytes], words: str) -> bool:
        assert process.poll() is None, self.words(process)
        return words in self.words(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
