"""Runs commands of `tenax` as forks of one process that has imported everything, so that they need no imports.

A command has its own process, environment, folder and streams, as in a shell, and costs a tenth of the processor time. The start of an
interpreter (its own variables, `python -m`) is tested with other processes.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

SECONDS = 60  # seconds for one command
_LARGEST_REQUEST = 1 << 20


@dataclass(frozen=True)
class Ended:
    """Holds the result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Returns the one JSON document on stdout."""
        return json.loads(self.out)


class ForkedCommands:
    """Is the process that has imported everything, as the tests see it."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            environment = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                env=environment,
            )

    def run(
        self, arguments: Sequence[str], *, cwd: Path, environment: Mapping[str, str], stdin: str = ""
    ) -> Ended:
        """Runs a command to its end."""
        request = json.dumps([list(arguments), str(cwd), dict(environment)]).encode()
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin.encode())
            given.seek(0)
            mine, theirs = socket.socketpair()
            with mine:
                with theirs:
                    files = [given.fileno(), out.fileno(), err.fileno(), theirs.fileno()]
                    socket.send_fds(self._socket, [request], files)
                code = _exit_code(mine)
            return Ended(code, _text(out), _text(err))

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


@cache
def shared_commands() -> ForkedCommands:
    """Returns the shared commands of this process. They end with this process."""
    made = ForkedCommands()
    atexit.register(made.close)
    return made


def _text(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode())


def _exit_code(answers: socket.socket) -> int:
    answers.settimeout(SECONDS)
    pid = int(answers.recv(100))
    try:
        return int(answers.recv(100))
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        raise


# -- the process itself


def _import_all() -> None:
    """Imports everything that any command imports when it is called."""
    import tenax.cli.commands

    [folder] = tenax.cli.commands.__path__
    for module in sorted(path.stem for path in Path(folder).glob("*.py")):
        import_module(f"tenax.cli.commands.{module}")
    for name in ("tenax.cli.errors", "tenax.cli.app", "tenax.cli.backend.direct", "tenax.cli.backend.http", "rich.table",
                 "tenax.engine.engine", "tenax.server.app", "tenax.worker.worker"):  # fmt: skip
        import_module(name)


def _serve(requests: socket.socket) -> list[str]:
    """Forks for each request. Returns in each fork, with the arguments of its command. Ends when the tests end."""
    running: dict[int, tuple[int, socket.socket]] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not requests:
                    selector.unregister(key.fileobj)
                    _tell_end(key.fd, *running.pop(key.fd))
                    continue
                request, files, _, _ = socket.recv_fds(requests, _LARGEST_REQUEST, 4)
                if not request:
                    os._exit(0)
                pid = os.fork()
                if pid == 0:
                    selector.close()
                    requests.close()
                    return _become(*json.loads(request), files)
                for file in files[:3]:
                    os.close(file)
                answer = socket.socket(fileno=files[3])
                answer.send(f"{pid}".encode().ljust(100))
                watched = os.pidfd_open(pid)
                running[watched] = (pid, answer)
                selector.register(watched, selectors.EVENT_READ)


def _tell_end(watched: int, pid: int, answer: socket.socket) -> None:
    os.close(watched)
    _, status = os.waitpid(pid, 0)
    with answer, contextlib.suppress(OSError):
        answer.send(f"{os.waitstatus_to_exitcode(status)}".encode())


def _become(arguments: list[str], cwd: str, environment: dict[str, str], files: list[int]) -> list[str]:
    """Gives this fork the state that a command has when it starts."""
    for number, file in enumerate(files[:3]):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.path[0] = cwd
    return arguments


def _main() -> NoReturn:
    _import_all()
    gc.freeze()  # excludes existing objects from collection, so that they are not copied in each fork
    arguments = _serve(socket.socket(fileno=int(sys.argv[1])))
    sys.argv[:] = ["tenax", *arguments]
    from tenax.cli import main

    try:
        main()
    except SystemExit as ended:
        _end(ended.code)
    raise AssertionError("the command did not end its process")


def _end(code: Any) -> NoReturn:
    """Ends as an interpreter does, without clearing any module."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    _main()
