"""Keeps child processes running: starts them, restarts them when they die, and stops them in order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tenax.cli.errors import USAGE
from tenax.cli.process.parent import environment_for_child
from tenax.credentials.private_variables import is_private, pack_variables, without_private
from tenax.errors import Unreachable

FIRST_PAUSE = 0.2  # seconds before the first restart
MAX_PAUSE = 10.0  # seconds between restarts, at most
RELOAD = 75
"""The exit code of a worker that wants to be started again, because its files have changed."""
STEADY_SECONDS = 20.0
"""Seconds after which a child counts as steady. Its next restart has the first pause again."""

Environment = Callable[[], Awaitable[Mapping[str, str]]]


@dataclass(frozen=True, slots=True)
class ProcessPlan:
    """Says how a child is started, each time anew."""

    name: str
    arguments: Sequence[str]
    """The arguments of `tenax`."""
    does: str
    environment: Environment
    """Returns the variables that are added to the environment at each start."""
    on_death: Callable[[], Awaitable[None]] | None = None
    """Called after each end with an exit code other than 0, before the next start."""


class ChildFailed(Exception):
    """A child ended for a reason that a restart does not remove."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"{name} ended with exit code {code}")
        self.name = name
        self.code = code


class ChildProcess:
    """Runs one process after another with the same plan."""

    def __init__(self, plan: ProcessPlan, say: Callable[[str], None]) -> None:
        self.plan = plan
        self.process: asyncio.subprocess.Process | None = None
        self.stopping = False
        self.ready = asyncio.Event()
        """Set when the child first says that it is ready."""
        self._say = say

    async def keep(self, fatal: Callable[[int], bool]) -> None:
        """Keeps the child running. `fatal` returns whether a restart after this exit code would be useless."""
        pause = FIRST_PAUSE
        while True:
            started = time.monotonic()
            try:
                await self._start()
            except Unreachable as error:
                ended = f"cannot be started: {error.message}"
            else:
                code = await self._ended()
                if code == RELOAD and not self.stopping:
                    continue
                if code != 0 and self.plan.on_death is not None:
                    await self.plan.on_death()
                if not self.stopping and fatal(code):
                    raise ChildFailed(self.plan.name, code)
                ended = _how(code)
            if self.stopping:
                return
            pause = FIRST_PAUSE if time.monotonic() - started > STEADY_SECONDS else pause
            self._say(f"{self.plan.name} {ended}; starting it again in {pause:g}s")
            await asyncio.sleep(pause)
            pause = min(pause * 2, MAX_PAUSE)

    async def stop(self, patience: float, at_once: asyncio.Event) -> None:
        """Sends SIGTERM, and SIGKILL after `patience` seconds. `at_once` sends a second SIGTERM: the child then drops its work."""
        self.stopping = True
        if self.process is None or self.process.returncode is not None:
            return
        self._signal(signal.SIGTERM)
        ended, hurry = asyncio.create_task(self._ended()), asyncio.create_task(at_once.wait())
        try:
            await asyncio.wait({ended, hurry}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if hurry.done() and not ended.done():
                self._signal(signal.SIGTERM)
                await asyncio.wait({ended}, timeout=min(patience, 15.0))
            if not ended.done():
                self._say(f"{self.plan.name} did not stop in time; it is killed")
                self._signal(signal.SIGKILL)
                await ended
        finally:
            hurry.cancel()

    async def _start(self) -> None:
        own = {**os.environ, **await self.plan.environment()}
        private = {name: value for name, value in own.items() if is_private(name)}
        with self._ready_pipe() as pipe:
            # -P prevents files of the working folder from shadowing modules. In a session of its own, the child gets no
            # Ctrl-C of the terminal: only the supervisor gets it, and stops its children in order.
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "tenax", *self.plan.arguments),
                env={**without_private(own), **environment_for_child(pipe)},
                stdin=asyncio.subprocess.PIPE,
                start_new_session=True,
                pass_fds=(pipe,),
            )
        assert self.process.stdin is not None
        self.process.stdin.write(pack_variables(private))
        self.process.stdin.close()
        self._say(f"{self.plan.name} is process {self.process.pid}: {self.plan.does}")
        if self.stopping:
            self._signal(signal.SIGTERM)

    @contextlib.contextmanager
    def _ready_pipe(self) -> Iterator[int]:
        """Gives the end of a pipe on which the child says that it is ready. The other end is closed when it has, or has ended."""
        ours, childs = os.pipe()
        loop = asyncio.get_running_loop()

        def heard() -> None:
            if os.read(ours, 64):
                self.ready.set()
            loop.remove_reader(ours)
            os.close(ours)

        loop.add_reader(ours, heard)
        try:
            yield childs
        finally:
            os.close(childs)

    async def _ended(self) -> int:
        assert self.process is not None
        return await self.process.wait()

    def _signal(self, number: int) -> None:
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)


def never_by_itself(code: int) -> bool:
    """Returns whether an exit code says that the user must correct something, such as a missing module or a wrong setting."""
    return code == USAGE


def _how(code: int) -> str:
    if code == 0:
        return "ended normally (it was drained, or asked to stop)"
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
