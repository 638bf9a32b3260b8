"""Runs the processes of a round. None of them outlives the round, or the bench itself if it is killed with -9."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tenax.cli.process.parent import environment_for_child

_ROOT = Path(__file__).parent.parent
_END_SECONDS = 10.0
_POLL_SECONDS = 0.01


class ChildFailed(Exception):
    """A process of the bench ended too early."""


class Child:
    def __init__(self, name: str, process: asyncio.subprocess.Process, words: Path) -> None:
        self.name = name
        self.process = process
        self._words = words

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self) -> str:
        """Returns all output so far."""
        return self._words.read_text(errors="replace")

    def check(self) -> None:
        code = self.process.returncode
        if code is not None and code != 0:
            raise ChildFailed(f"{self.name} ended with {code}:\n{self.said()[-2000:]}")

    async def ended(self, seconds: float) -> str:
        """Waits for its end. Returns its stdout and stderr."""
        async with asyncio.timeout(seconds):
            await self.process.wait()
        self.check()
        return self.said()


class Children:
    """Starts and ends child processes. Use it as `async with Children(folder, environment) as children:`."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        # Settings of the caller's own Tenax must not affect the measures.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
        path = os.pathsep.join(filter(None, [str(_ROOT), inherited.get("PYTHONPATH")]))
        self._environment = {**inherited, "PYTHONPATH": path, **environment, **environment_for_child()}
        self._children: list[Child] = []
        self._started = 0

    async def start(self, name: str, *arguments: str, **variables: str) -> Child:
        """Starts a Python module in a session of its own, so that Ctrl-C reaches the bench alone."""
        self._started += 1
        words = self._folder / f"{name}-{self._started}.log"
        with words.open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", *arguments,
                env={**self._environment, **variables},
                cwd=self._folder,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        child = Child(name, process, words)
        self._children.append(child)
        return child

    def check(self) -> None:
        for child in self._children:
            child.check()

    async def stop(self, child: Child) -> None:
        """Stops a child normally, before the others."""
        child.process.send_signal(signal.SIGTERM)
        await child.ended(_END_SECONDS)

    async def kill(self, child: Child) -> None:
        """Kills a child with -9. Its end does not count as a failure."""
        self._children.remove(child)
        child.process.kill()
        await child.process.wait()

    async def hears(self, child: Child, words: str, seconds: float = 60.0) -> str:
        """Waits for a line with these words and returns it."""
        async with asyncio.timeout(seconds):
            while True:
                self.check()
                for line in child.said().splitlines():
                    if words in line:
                        return line
                await asyncio.sleep(_POLL_SECONDS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the children, the last started first: workers before their server."""
        for child in reversed(self._children):
            if child.process.returncode is None:
                child.process.send_signal(signal.SIGTERM)
                try:
                    async with asyncio.timeout(_END_SECONDS):
                        await child.process.wait()
                except TimeoutError as late:
                    await self._kill()
                    raise ChildFailed(
                        f"{child.name} did not end within {_END_SECONDS:g} s of SIGTERM"
                    ) from late
                except asyncio.CancelledError:
                    await self._kill()
                    raise

    async def _kill(self) -> None:
        for child in self._children:
            if child.process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    child.process.kill()
                await child.process.wait()
