"""Finds and stops the running server of a data directory, and watches for the moment when no process needs it any more.

The watcher is this file run as a script. It is detached from the process that started it, and lives as long as
PostgreSQL does. So the file imports nothing of Tenax and little of the standard library: it has to be small and must
not break while code is replaced.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

USERS_LOCK = "users.lock"
LOG_FOLDER = "log"
LOG_FILES_KEPT = 5  # files of the server's log that are kept
PORT = 5432
"""Used only in the socket's name: the server does not listen on a network."""

_SSL_REQUEST = bytes.fromhex("0000000804d2162f")
"""The first message of the protocol that a server answers before any login: by one byte, even while it starts."""
_ANSWER_SECONDS = 2.0  # seconds; a server that is silent for longer is busy

_FAST_SHUTDOWN_SECONDS = 60.0  # seconds until a fast shutdown becomes an immediate one
_IMMEDIATE_SHUTDOWN_SECONDS = 10.0  # seconds until the processes are killed
_LAUNCH_SECONDS = 5.0  # seconds within which a launched server has a lock file
_LAUNCH_POLL_SECONDS = 0.02  # seconds between two looks for the lock file
_LOG_CHECK_SECONDS = 60.0  # seconds between two removals of old log files


class LockFile(NamedTuple):
    """Holds the content of postmaster.pid."""

    pid: int
    socket_folder: Path
    status: str
    """`starting`, `ready`, `stopping`, or empty while the file is being written."""


def read_lock_file(data: Path) -> LockFile | None:
    try:
        lines = (data / "postmaster.pid").read_text("utf-8", "surrogateescape").splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, NotADirectoryError, IndexError, ValueError):
        return None
    lines += [""] * (8 - len(lines))
    return LockFile(pid, Path(lines[4]), lines[7].strip())


def answers(socket_folder: Path) -> bool:
    """Returns whether a server answers there. It may not accept queries yet.

    A connection alone proves nothing. A child of a killed server may hold the socket for a moment, and serves nobody.
    """
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_ANSWER_SECONDS)
        try:
            probe.connect(str(socket_folder / f".s.PGSQL.{PORT}"))
            probe.sendall(_SSL_REQUEST)
            return probe.recv(1) != b""
        except (BlockingIOError, TimeoutError):
            return True
        except OSError:
            return False


def is_ready(data: Path) -> LockFile | None:
    """Returns the server's lock file if it accepts queries now. This is cheap: it reads one small file, and asks one
    question that any server answers at once."""
    server = read_lock_file(data)
    return server if server and server.status == "ready" and answers(server.socket_folder) else None


def processes_of(data: Path) -> list[int]:
    """Returns every process of this data directory's server. They are recognised by their working folder, because
    process ids are used again."""
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208 pathlib would be one more import
    return [pid for pid in pids if _belongs_to(pid, data) or _is_about_to_serve(pid, data)]


def _belongs_to(pid: int, data: Path) -> bool:
    try:
        return (
            os.readlink(f"/proc/{pid}/cwd") == os.path.realpath(data)  # noqa: PTH115 a Path for each process of the machine is waste
            and _name(pid).startswith("postgres")
        )
    except OSError:
        return False


def _is_about_to_serve(pid: int, data: Path) -> bool:
    """Returns whether a server, or the shell that starts it, was launched and has not yet entered its
    data directory."""
    try:
        if not _name(pid).startswith(("postgres", "sh\n")):
            return False
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(
        flag == b"-D" and os.path.realpath(value) == os.fsencode(os.path.realpath(data))
        for flag, value in pairwise(words)
    )


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace")


def postmaster_of(data: Path) -> int | None:
    """Returns the process id of the live server, or None. Stale lock files do not matter."""
    server = read_lock_file(data)
    return server.pid if server and _belongs_to(server.pid, data) else None


def wait_for_end(pid: int, seconds: float) -> bool:
    """Waits for the end of a process, which need not be a child of this one. Returns True once it has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(max(0.0, seconds) * 1000))
    finally:
        os.close(descriptor)


def stop(data: Path) -> None:
    """Stops the server of this data directory: cleanly if possible, and otherwise by force, with all its processes."""
    _wait_for_launch(data)
    server = read_lock_file(data)
    if pid := postmaster_of(data):
        for how, seconds in (
            (signal.SIGINT, _FAST_SHUTDOWN_SECONDS),
            (signal.SIGQUIT, _IMMEDIATE_SHUTDOWN_SECONDS),
        ):
            if not _belongs_to(pid, data):
                break
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)
            if wait_for_end(pid, seconds):
                break
    end_orphans(data, seconds=0.5)
    if server and not server.socket_folder.is_relative_to(data.parent):
        # A long path made this folder in /tmp necessary. After a crash it is not empty, and is used again.
        with contextlib.suppress(OSError):
            server.socket_folder.rmdir()


def _wait_for_launch(data: Path) -> None:
    """Waits until a launched server has a lock file, without which it cannot be told to stop. The process that launched
    it may have been killed before that."""
    deadline = time.monotonic() + _LAUNCH_SECONDS
    while not postmaster_of(data) and processes_of(data) and time.monotonic() < deadline:
        if not any(_is_about_to_serve(pid, data) for pid in processes_of(data)):
            return  # dead servers leave only children behind
        time.sleep(_LAUNCH_POLL_SECONDS)


def end_orphans(data: Path, *, seconds: float) -> None:
    """Kills the children of a dead postmaster. They end by themselves, but only after their current computation.

    While one of them holds the shared memory, no new server can start.
    """
    deadline = time.monotonic() + seconds
    for pid in processes_of(data):
        if not wait_for_end(pid, deadline - time.monotonic()) and _belongs_to(pid, data):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            wait_for_end(pid, _IMMEDIATE_SHUTDOWN_SECONDS)


def data_folders(place: Path) -> list[Path]:
    """Returns the data directories of a place, the newest major version last. Each is named by its major version."""
    try:
        found = [
            folder
            for folder in place.iterdir()
            if folder.name.isdigit() and (folder / "PG_VERSION").is_file()
        ]
    except FileNotFoundError:
        return []
    return sorted(found, key=lambda folder: int(folder.name))


def prune_logs(place: Path) -> None:
    """Removes old log files. PostgreSQL starts a new one when one is full, and never removes any."""
    with contextlib.suppress(OSError):
        files = sorted((place / LOG_FOLDER).glob("postgresql-*.log"))
        for file in files[:-LOG_FILES_KEPT]:
            file.unlink(missing_ok=True)


def watch_server(place: Path, watch_lock: int) -> None:
    """Waits until no process uses the server, and then stops it.

    Every user holds a shared lock on one file, which the kernel drops at any death, kill -9 included. A process that
    comes during the shutdown waits for the same lock, then finds no server and starts one. `watch_lock` is inherited,
    so that two watchers never run at the same time. It is released before the users' lock, so that a process that waits
    for that lock sees this watcher gone.
    """
    signal.signal(signal.SIGALRM, lambda *_: prune_logs(place))
    signal.setitimer(signal.ITIMER_REAL, _LOG_CHECK_SECONDS, _LOG_CHECK_SECONDS)
    users = os.open(place / USERS_LOCK, os.O_RDWR | os.O_CLOEXEC)
    fcntl.flock(users, fcntl.LOCK_EX)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if _is_still(place / USERS_LOCK, users):
        for data in data_folders(place):
            stop(data)
    os.close(watch_lock)
    os.close(users)


def _is_still(path: Path, descriptor: int) -> bool:
    """Returns False if the folder was removed and made again. A server there then belongs to another watcher."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    watch_server(Path(sys.argv[1]), int(sys.argv[2]))
