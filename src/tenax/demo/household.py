"""Runs `tenax up` in a temporary home, and checks that no process is left at the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from tenax.cli.process.parent import environment_for_child
from tenax.errors import TenaxError
from tenax.store.embedded.location import existing_place

SHORT_LEASE = {"TENAX_LEASE": "3s", "TENAX_HEARTBEAT": "1s", "TENAX_DRAIN": "5s"}
STOP_SECONDS = 40.0
GONE_SECONDS = 10.0
_MARK = "tenax up: "
_DASHBOARD = "tenax server: dashboard: "


class DemoError(TenaxError):
    """Says that the demo did not show what it should."""

    exit_code = 1


class Household:
    """Runs `tenax up` as a process, and collects its output."""

    def __init__(self, home: Path, url: str, hear: Callable[[str], None]) -> None:
        self.home = home
        self.url = url
        self.log: deque[str] = deque(maxlen=60)
        self.sign_in = ""
        """The address that signs in to the dashboard, once."""
        self._hear = hear
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None

    async def start(self, port: int) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
        own = {"TENAX_HOME": str(self.home), "TENAX_PORT": str(port), "TENAX_HOST": "127.0.0.1"}
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "tenax", "up", "--workers", "2"),
            env={**kept, **SHORT_LEASE, **own, **environment_for_child()},
            cwd=self.home,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self._listening = asyncio.create_task(self._listen(self._process))

    async def ended(self) -> int:
        """Waits for the end of the process, which comes before `stop` only if something went wrong."""
        assert self._process is not None
        return await self._process.wait()

    async def stop(self) -> None:
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    await process.wait()
            except TimeoutError:
                process.kill()
                raise DemoError(f"`tenax up` did not stop within {STOP_SECONDS:g} s and was killed") from None
        if self._listening is not None:
            await self._listening

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        async for raw in process.stderr:
            line = raw.decode(errors="replace").rstrip()
            self.log.append(line)
            if line.startswith(_DASHBOARD):
                self.sign_in = line.removeprefix(_DASHBOARD)
            if line.startswith(_MARK):
                self._hear(line.removeprefix(_MARK))


@contextlib.asynccontextmanager
async def household(port: int, hear: Callable[[str], None]) -> AsyncIterator[Household]:
    """Runs `tenax up` in a temporary home until the block ends. Raises DemoError if a process is left then."""
    with _temporary_home() as home:
        house = Household(home, f"http://127.0.0.1:{port}", hear)
        try:
            await house.start(port)
            yield house
        finally:
            places = (str(home), str(existing_place(home)))
            try:
                await house.stop()
            finally:
                left = await asyncio.to_thread(_left_behind, places)
        if left:
            raise DemoError(f"processes were left behind: {'; '.join(left)}")


@contextlib.contextmanager
def _temporary_home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="tenax-demo-"))
    if os.geteuid() == 0:
        home.chmod(
            0o755
        )  # PostgreSQL runs under another account then, which must reach its own, private folder in there
    try:
        yield home
    finally:
        place = existing_place(home)
        shutil.rmtree(home, ignore_errors=True)
        if not place.is_relative_to(home):  # for root, if no other account can reach the temporary folder
            shutil.rmtree(place, ignore_errors=True)


def _left_behind(places: tuple[str, ...]) -> list[str]:
    """Returns the processes with the folder in their command line or environment, after they had some time to end."""
    deadline = time.monotonic() + GONE_SECONDS
    while left := [words for pid in _other_processes() if (words := _of_place(pid, places))]:
        if time.monotonic() > deadline:
            return left
        time.sleep(0.05)
    return []


def _other_processes() -> list[int]:
    own = {os.getpid(), os.getppid()}
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if int(entry.name) not in own]


def _of_place(pid: int, places: tuple[str, ...]) -> str | None:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # the process is gone, or belongs to another user
        return None
    text = (command + b"\0" + environment).decode(errors="replace")
    if not any(place in text for place in places):
        return None
    return f"{pid}: {command.replace(bytes(1), b' ').decode(errors='replace').strip()}"
