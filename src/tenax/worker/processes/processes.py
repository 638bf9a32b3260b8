"""Runs each command in a process group of its own, and ends the whole group with its attempt."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from tenax.worker.processes import start_gate as gate
from tenax.worker.processes.guardian import Guardian

STDOUT_LIMIT = 1_000_000  # bytes of stdout that are kept, from its beginning
STDERR_TAIL = 65_536
"""Bytes of stderr that are kept, from its end. Far fewer are reported: secrets are scrubbed before the text is cut, since half of a
secret is not recognised."""
TERM_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""
OUTPUT_GRACE = 0.5
"""Seconds for which children of the leader may keep the output open after the leader's end."""

OnOutput = Callable[[int, bytes], None]
_GATE = 'read -r _ || exit 125; exec "$@"'
"""Starts the command only when a first line arrives on stdin. The guardian knows of the group by then, so the death of the worker
never leaves it behind. The shell's `read` takes no byte beyond that line."""
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """Says how a process group ended."""

    returncode: int
    """The exit code of the leader. A negative value is the number of the signal that killed it."""
    timed_out: bool
    stdout: bytes
    stdout_dropped: int
    """The number of bytes beyond `STDOUT_LIMIT`, which were read and dropped."""
    stderr_tail: bytes
    oom_killed: bool = False
    """True if it was killed while the kernel killed processes for want of memory."""


async def run_group(
    guardian: Guardian,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    stdin: bytes,
    seconds: float,
    folder: str,
    pass_fds: Sequence[int] = (),
    on_output: OnOutput | None = None,
) -> ProcessEnd:
    """Runs a command until its end or its timeout, then kills the rest of its group.

    `folder` belongs to the attempt. If the worker dies, its guard removes it. The command inherits `pass_fds`.
    `on_output` is called with all that it prints: 1 for stdout or 2 for stderr, and the bytes.
    """
    group = await _start(
        guardian, argv, env=env, cwd=cwd, folder=folder, pass_fds=pass_fds, on_output=on_output
    )
    try:
        group.feed(stdin)
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(group.exited)
            timed_out = False
        except TimeoutError:
            timed_out = True
            await group.terminate()
    except asyncio.CancelledError:
        # The caller was cancelled. A second cancellation during `terminate` kills the group at once.
        await group.terminate()
        raise
    finally:
        await group.close()
        guardian.forget(group.pid)
    return group.ended(timed_out=timed_out)


async def _start(
    guardian: Guardian,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    folder: str,
    pass_fds: Sequence[int],
    on_output: OnOutput | None,
) -> _Group:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        lambda: _Group(on_output),
        *_gate(env),
        *argv,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
        pass_fds=pass_fds,
    )
    group = protocol
    group.transport = transport
    guardian.watch(group.pid, folder)
    return group


def _gate(env: Mapping[str, str]) -> list[str]:
    """Returns the command that waits for the first line and then becomes the user's command.

    Some shells drop variables whose names they do not support (`spring.profiles.active`). Python takes their place then, which
    starts more slowly. `env NAME=VALUE` would show the values, including secrets, to everyone who can list processes.
    """
    if all(_IDENTIFIER.fullmatch(name) for name in env):
        return ["/bin/sh", "-c", _GATE, "tenax"]
    return [sys.executable, "-I", "-S", gate.__file__]


class _Group(asyncio.SubprocessProtocol):
    transport: asyncio.SubprocessTransport

    def __init__(self, on_output: OnOutput | None = None) -> None:
        self._on_output = on_output
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = loop.create_future()
        self._closed_outputs: asyncio.Future[None] = loop.create_future()
        self._open = {1, 2}
        self._stdout = bytearray()
        self._dropped = 0
        self._stderr = bytearray()
        self.pid = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.SubprocessTransport", transport)
        self.pid = self.transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self._on_output is not None:
            self._on_output(fd, data)
        if fd == 2:
            self._stderr += data
            del self._stderr[:-STDERR_TAIL]
            return
        room = STDOUT_LIMIT - len(self._stdout)
        self._stdout += data[:room]
        self._dropped += max(0, len(data) - room)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        self._open.discard(fd)
        if not self._open and not self._closed_outputs.done():
            self._closed_outputs.set_result(None)

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(self.transport.get_returncode() or 0)

    def feed(self, stdin: bytes) -> None:
        pipe = cast("asyncio.WriteTransport", self.transport.get_pipe_transport(0))
        pipe.write(b"\n" + stdin)
        pipe.write_eof()

    async def terminate(self) -> None:
        """Sends SIGTERM to the whole group, waits for the grace, and sends SIGKILL to the rest."""
        try:
            self._signal(signal.SIGTERM)
            await asyncio.wait({self.exited}, timeout=TERM_GRACE)
        finally:
            self._signal(signal.SIGKILL)
        await asyncio.shield(self.exited)

    async def close(self) -> None:
        """Collects the rest of the output, and kills the children that the leader left behind."""
        if self.exited.done():
            await asyncio.wait({self._closed_outputs}, timeout=OUTPUT_GRACE)
        self._signal(signal.SIGKILL)
        self.transport.close()

    def ended(self, *, timed_out: bool) -> ProcessEnd:
        return ProcessEnd(
            self.exited.result(), timed_out, bytes(self._stdout), self._dropped, bytes(self._stderr)
        )

    def _signal(self, number: signal.Signals) -> None:
        # macOS answers EPERM for a group of which only zombies are left.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
