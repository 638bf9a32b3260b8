"""Runs `tenax up`: supervises one server and its workers, and keeps the database running as long as any of them lives."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from tenax.cli.output import say
from tenax.cli.process.deaths import WorkerLives
from tenax.cli.process.interrupts import Interrupts
from tenax.cli.process.parent import LIFE
from tenax.cli.process.supervise import ChildFailed, ChildProcess, ProcessPlan, never_by_itself
from tenax.credentials.private_variables import own_secrets
from tenax.errors import Unreachable
from tenax.model.names import as_worker_name
from tenax.model.wire import EndedLife
from tenax.settings import Settings
from tenax.settings.server_token import default_server
from tenax.store.connect import Database
from tenax.store.connections.database_wait import DatabaseWait
from tenax.store.fleet.tokens import create_token, list_tokens, revoke_token
from tenax.store.transaction import transaction
from tenax.worker.transport import HttpTransport

UP_ACTOR = "tenax:up"
"""The actor of the token that `tenax up` makes for its workers."""
READY_SECONDS = 120.0  # seconds that the server may take until it is ready
SERVER_STOP_SECONDS = 10.0  # seconds that the server may take to stop
WORKER_STOP_SECONDS = 20.0
"""Seconds that a worker may take to stop after its drain time: to cancel its attempts, and to report them."""


async def run_up(settings: Settings, modules: tuple[str, ...], *, reload: bool = False) -> int:
    """Runs until it is stopped. With `reload`, workers start again when the files of their modules change."""
    interrupts = Interrupts()
    with interrupts.caught():
        database = await _open(settings, interrupts)
        if database is None:
            return 0
        try:
            port = settings.port or _free_port(settings.host)
            settings = settings.model_copy(update={"port": port})
            async with _workers_token(database) as workers_token:
                return await _Up(settings, modules, workers_token, interrupts, reload=reload).run()
        finally:
            await database.close()


async def _open(settings: Settings, interrupts: Interrupts) -> Database | None:
    """Opens the database, and waits while it is not reachable. Returns None if the user asks to stop meanwhile."""
    wait_for = DatabaseWait(settings.database_wait, _say)
    opening = asyncio.create_task(
        Database.connected(settings, max_size=2, application_name="tenax up", wait_for=wait_for)
    )
    asked = asyncio.create_task(interrupts.first.wait())
    try:
        await asyncio.wait({opening, asked}, return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            return opening.result()
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        return None
    finally:
        asked.cancel()


class _Up:
    def __init__(
        self,
        settings: Settings,
        modules: tuple[str, ...],
        workers_token: _WorkersToken,
        interrupts: Interrupts,
        *,
        reload: bool,
    ) -> None:
        self._settings = settings
        self._url = default_server(settings)
        self._token = workers_token
        self._interrupts = interrupts
        self._server = ChildProcess(
            ProcessPlan("server", ("server",), f"serves {self._url}", self._of_server), _say
        )
        self._reload = reload
        self._workers = [self._worker(number, modules) for number in range(1, settings.workers + 1)]
        self._left = len(self._workers)

    async def run(self) -> int:
        keeping = [asyncio.create_task(self._server.keep(self._server_is_lost))]
        try:
            ready = asyncio.create_task(self._until_ready())
            await self._wait([*keeping, ready])
            ready.cancel()
            if self._server.ready.is_set() and not self._interrupts.first.is_set():
                _say(f"ready: {self._url}  (database: {self._where()}; Ctrl-C stops everything)")
                if self._workers:
                    keeping.append(asyncio.create_task(self._keep_workers()))
                else:
                    _say("there are no workers: nothing will be run until one is started (tenax worker)")
                await self._wait(keeping)
        except ChildFailed as failed:
            _say(f"{failed}; its messages above say why. Everything is stopped")
            return failed.code
        finally:
            await self._stop()
            for task in keeping:
                task.cancel()
            await asyncio.gather(*keeping, return_exceptions=True)
        return 0

    async def _wait(self, tasks: list[asyncio.Task[None]]) -> None:
        """Waits until a task ends, and raises its error, or until the user asks to stop."""
        asked = asyncio.create_task(self._interrupts.first.wait())
        try:
            done, _ = await asyncio.wait({*tasks, asked}, return_when=asyncio.FIRST_COMPLETED)
            for task in done - {asked}:
                task.result()
        finally:
            asked.cancel()

    async def _until_ready(self) -> None:
        while not self._server.ready.is_set():
            try:
                async with asyncio.timeout(READY_SECONDS):
                    await self._server.ready.wait()
            except TimeoutError:
                if await self._token.is_database_away():
                    continue  # the server waits for the database, and says so
                raise Unreachable(
                    f"the server at {self._url} was not ready within {READY_SECONDS:g} s",
                    remedy="its own messages above say why",
                ) from None

    def _server_is_lost(self, code: int) -> bool:
        """Returns whether a restart is useless. A server that never became ready has a lasting problem, such as a port in use."""
        return never_by_itself(code) or (not self._server.ready.is_set() and code > 0)

    async def _keep_workers(self) -> None:
        await asyncio.gather(*(self._keep_worker(child) for child in self._workers))

    async def _keep_worker(self, child: ChildProcess) -> None:
        """Keeps a worker running. If a restart is useless, it stays down. The failure of the last worker is raised."""
        try:
            await child.keep(never_by_itself)
        except ChildFailed as failed:
            self._left -= 1
            if not self._left:
                raise
            _say(f"{failed}; its messages above say why. It is not started again; the other processes go on")

    async def _stop(self) -> None:
        hurry = self._interrupts.second
        patience = self._settings.drain + WORKER_STOP_SECONDS
        by = f" on {signal.Signals(number).name}" if (number := self._interrupts.signal) else ""
        rest = any(child.process for child in self._workers)
        how = (
            ": the workers finish or hand back what they have; a second Ctrl-C stops them at once"
            if rest
            else ""
        )
        _say(f"stopping{by}{how}")
        await asyncio.gather(*(child.stop(patience, hurry) for child in self._workers))
        await self._server.stop(SERVER_STOP_SECONDS, hurry)
        _say("stopped")

    def _worker(self, number: int, modules: tuple[str, ...]) -> ChildProcess:
        what = f"runs up to {self._settings.slots} work items at once"
        if modules:
            what += f", with the tasks of {', '.join(modules)}"

        lives = WorkerLives(self._worker_name(number))

        async def environment() -> Mapping[str, str]:
            token = await self._token.secret()
            return {
                **self._of_settings(),
                **own_secrets(),
                "TENAX_DATABASE_URL": "",  # a worker needs no database, and must not see its password
                "TENAX_WORKER_NAME": self._worker_name(number),
                "TENAX_SERVER": self._url,
                "TENAX_TOKEN": token,
                LIFE: lives.begin(),
            }

        async def on_death() -> None:
            if lost := await lives.end(self._tell_of_death):
                work = f"{lost} attempt{'s' if lost != 1 else ''}"
                _say(f"worker-{number} has died and lost {work}; the server decides on them at once")

        name, flags = f"worker-{number}", ("--reload",) if self._reload else ()
        plan = ProcessPlan(name, ("worker", *flags, *modules), what, environment, on_death)
        return ChildProcess(plan, _say)

    async def _tell_of_death(self, ended: EndedLife) -> int:
        transport = HttpTransport(self._url, await self._token.secret())
        try:
            return await transport.end_life(ended)
        finally:
            await transport.close()

    def _worker_name(self, number: int) -> str:
        """Returns the worker's name. It is the same at each start, so that the next life takes over from the last."""
        settings = self._settings
        name = settings.worker_name or as_worker_name(f"{socket.gethostname()}-{settings.port}")
        return f"{name}-{number}"

    async def _of_server(self) -> Mapping[str, str]:
        return self._of_settings()

    def _of_settings(self) -> Mapping[str, str]:
        """Returns the flags as variables for the children, so that they have the same settings."""
        settings = self._settings
        flags = {
            "TENAX_HOME": str(settings.home),
            "TENAX_HOST": settings.host,
            "TENAX_PORT": str(settings.port),
            "TENAX_OPEN": str(settings.open).lower(),
            "TENAX_SLOTS": str(settings.slots),
            "TENAX_RUNTIMES": ",".join(settings.runtimes),
        }
        return flags | ({"TENAX_DATABASE_URL": settings.database_url} if settings.database_url else {})

    def _where(self) -> str:
        return "by URL" if self._settings.database_url else f"embedded, in {self._settings.home}"


class _WorkersToken:
    """Holds the workers' token, which is revoked when `up` ends. There is one even while the server is open, since it may be closed
    at any time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._name = f"{_token_prefix()}{os.getpid()}-{secrets.token_hex(4)}"
        self._secret: str | None = None
        self._asked = asyncio.Lock()

    async def secret(self) -> str:
        """Returns a live token. Called at each start of a worker, since the token may have been revoked."""
        try:
            return await self._live_secret()
        except Unreachable:
            if self._secret is None:
                raise
            return self._secret  # the database is not reachable now; the worker waits for its server anyway

    async def is_database_away(self) -> bool:
        try:
            async with transaction(self._database) as tx:
                await list_tokens(tx)
        except Unreachable:
            return True
        return False

    async def _live_secret(self) -> str:
        async with self._asked, transaction(self._database) as tx:
            live = {token.name for token in await list_tokens(tx) if token.revoked_at is None}
            if self._name not in live or self._secret is None:
                for name in _orphans(live):  # the token of this `up` is not among them, since it is not live
                    await revoke_token(tx, name, actor=UP_ACTOR)
                _, self._secret = await create_token(tx, self._name, "worker", actor=UP_ACTOR)
        return self._secret

    async def revoke(self) -> None:
        if self._secret is not None:
            with contextlib.suppress(Unreachable):
                async with transaction(self._database) as tx:
                    await revoke_token(tx, self._name, actor=UP_ACTOR)


@contextlib.asynccontextmanager
async def _workers_token(database: Database) -> AsyncIterator[_WorkersToken]:
    workers_token = _WorkersToken(database)
    try:
        yield workers_token
    finally:
        await workers_token.revoke()


def _token_prefix() -> str:
    return f"up-{socket.gethostname()[:60]}-"


def _orphans(names: set[str]) -> set[str]:
    """Returns the tokens of `up` processes that were killed before they could revoke them."""
    prefix = _token_prefix()
    numbers = {name: name.removeprefix(prefix).partition("-")[0] for name in names if name.startswith(prefix)}
    return {name for name, pid in numbers.items() if pid.isdigit() and not _is_another_process(int(pid))}


def _is_another_process(pid: int) -> bool:
    """Returns whether another process has this number. In a container, an earlier `up` may have had the number of this one."""
    return pid != os.getpid() and Path(f"/proc/{pid}").exists()


def _free_port(host: str) -> int:
    """Returns a free port. The supervisor chooses it and not the server, since it must stay the same after a restart."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _say(text: str) -> None:
    say(f"tenax up: {text}", stream=sys.stderr)
