"""Makes a data directory, and starts PostgreSQL on it."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from tenax.errors import Unreachable
from tenax.store.embedded.binaries import OTHER_DATABASE, Installation
from tenax.store.embedded.location import ClusterPlace
from tenax.store.embedded.postmaster import (
    LOG_FOLDER,
    PORT,
    answers,
    end_orphans,
    is_ready,
    prune_logs,
    read_lock_file,
    stop,
    wait_for_end,
)

_log = logging.getLogger("tenax.store")

ROLE = DATABASE = "tenax"

_UNFINISHED = "unfinished-"
_SLOW_START_SECONDS = 120.0
"""Seconds after which a start is reported as slow. It is not stopped: a recovery that is stopped begins again."""
_START_POLL_SECONDS = 0.01  # between two looks at a server that starts
_PROGRAM_SECONDS = 300.0  # limit for one of PostgreSQL's programs
_OWN_CONFIGURATION = """\
# Tenax writes tenax.conf anew at every start. Settings of your own go below this line: the last one counts.
include 'tenax.conf'
"""
_CONFIGURATION = {
    "max_connections": "100",
    "shared_buffers": "128MB",
    "jit": "off",
    "timezone": "UTC",
    "autovacuum_naptime": "15s",
    "logging_collector": "on",
    "log_destination": "stderr",
    "log_filename": "postgresql-%Y%m%d-%H%M%S.log",
    "log_rotation_age": "1d",
    "log_rotation_size": "10MB",
    "log_line_prefix": "%m [%p] %a ",
    "log_timezone": "UTC",
}
# The caller's environment must not affect the server (PGDATA, LD_LIBRARY_PATH, locales). A session keeps up to 64 MiB of the memory that it
# has used. A batch needs megabytes, and the kernel would have to clear returned memory again for each batch.
_ENVIRONMENT = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TOP_PAD_": str(1 << 20),
}


def create_data(place: ClusterPlace, installation: Installation, options: Mapping[str, str]) -> Path:
    """Makes a data directory with the role and the database. It gets its name only when it is complete."""
    for leftover in place.folder.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    unfinished = place.own_folder(f"{_UNFINISHED}{uuid.uuid4().hex}")
    try:
        initdb = [str(installation.program("initdb")), "-D", str(unfinished), "-U", ROLE]
        initdb += [
            "--encoding=UTF8",
            "--locale=C",
            "--auth-local=trust",
            "--auth-host=reject",
            "--no-instructions",
        ]
        if options.get("fsync") == "off":
            initdb.append("--no-sync")
        _run(place, initdb, "make the database")
        _write(place, unfinished / "postgresql.conf", _OWN_CONFIGURATION)
        _write(place, unfinished / "tenax.conf", _configuration(place, options))
        single = [str(installation.program("postgres")), "--single", "-D", str(unfinished), "postgres"]
        _run(place, single, "make the database", f"CREATE DATABASE {DATABASE}\n")
        data = place.folder / str(installation.major)
        unfinished.rename(data)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return data


def start(place: ClusterPlace, installation: Installation, data: Path, options: Mapping[str, str]) -> None:
    """Starts the server and waits until it accepts queries. Remains of an earlier server are removed first."""
    stop(data)
    end_orphans(data, seconds=5)
    if (server := read_lock_file(data)) and answers(server.socket_folder):
        raise Unreachable(
            f"PostgreSQL runs in {data}, but not for this process to see or to stop (in another container?)",
            remedy="stop it where it runs, or set TENAX_HOME to another folder",
        )
    _remove_stale_locks(place, data)
    prune_logs(place.folder)
    _write(place, data / "tenax.conf", _configuration(place, options))
    place.own_folder(LOG_FOLDER)
    log = place.folder / "start.log"
    _write(place, log, "")
    pid = _launch(place, _command(place, installation, data), log)
    notice = _SlowStartNotice(data)
    while not is_ready(data):
        if wait_for_end(pid, _START_POLL_SECONDS):
            raise _failure(place, "start PostgreSQL", _last_words(place, log))
        notice.say_if_slow()


class _SlowStartNotice:
    """Reports once that a start takes long."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._said_at = time.monotonic() + _SLOW_START_SECONDS

    def say_if_slow(self) -> None:
        if time.monotonic() >= self._said_at:
            self._said_at = float("inf")
            _log.warning(
                "PostgreSQL in %s is not ready after %g s, and is waited for: after a crash it first recovers. See %s",
                self._data,
                _SLOW_START_SECONDS,
                self._data.parent / LOG_FOLDER,
            )


def _remove_stale_locks(place: ClusterPlace, data: Path) -> None:
    """Removes lock files. Call it only if no server runs. PostgreSQL believes a lock file whose process id is in use
    again, or not yet reaped."""
    for file in (data / "postmaster.pid", *place.socket_folder().glob(f".s.PGSQL.{PORT}*")):
        file.unlink(missing_ok=True)


def wait_until_ready(data: Path) -> bool:
    """Waits for a server that another process started, as long as it lives. Returns False if it ends first."""
    notice = _SlowStartNotice(data)
    while True:
        server = read_lock_file(data)
        if server is None or server.status == "stopping" or not answers(server.socket_folder):
            return False
        if is_ready(data):
            return True
        notice.say_if_slow()
        time.sleep(_START_POLL_SECONDS)


def _command(place: ClusterPlace, installation: Installation, data: Path) -> list[str]:
    # These settings keep others out. On the command line no file can override them.
    guards = {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": str(place.socket_folder()),
        "unix_socket_permissions": "0700",
    }
    flags = [part for name, value in guards.items() for part in ("-c", f"{name}={value}")]
    return [str(installation.program("postgres")), "-D", str(data), *flags]


def _launch(place: ClusterPlace, command: Sequence[str], log: Path) -> int:
    """Starts a command in the background without a parent: it outlives this process, and leaves no zombie
    when it ends."""
    with log.open("ab") as output:
        shell = subprocess.run(
            ["/bin/sh", "-c", '"$@" >&2 & echo $!', "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            cwd="/",
            env=_ENVIRONMENT,
            umask=0o077,
            start_new_session=True,
            check=True,
            **place.account.for_process(),
        )
    return int(shell.stdout)


def _run(place: ClusterPlace, command: Sequence[str], what: str, text: str = "") -> None:
    try:
        ended = subprocess.run(
            command,
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd="/",
            env=_ENVIRONMENT,
            umask=0o077,
            check=False,
            timeout=_PROGRAM_SECONDS,
            **place.account.for_process(),
        )
    except subprocess.TimeoutExpired:
        raise _failure(
            place, what, f"{Path(command[0]).name} did not end within {_PROGRAM_SECONDS:g} s"
        ) from None
    if ended.returncode != 0 or "ERROR:" in ended.stdout or "FATAL:" in ended.stdout:
        raise _failure(place, what, "\n".join(ended.stdout.strip().splitlines()[-5:]))


def _failure(place: ClusterPlace, what: str, said: str) -> Unreachable:
    if "No space left on device" in said:
        return disk_full(place.folder)
    message = f"cannot {what} in {place.folder}:\n{said}"
    return Unreachable(message, remedy=f"look into {place.folder / LOG_FOLDER}; or {OTHER_DATABASE}")


def disk_full(folder: Path) -> Unreachable:
    return Unreachable(
        f"the disk that holds {folder} is full",
        remedy="free some space there, or set TENAX_HOME to a folder on another disk",
    )


def _last_words(place: ClusterPlace, log: Path) -> str:
    """Returns the end of the output of the start, and of the server's own log, which contain the reason."""
    files = [log, *sorted((place.folder / LOG_FOLDER).glob("postgresql-*.log"))[-1:]]
    lines = [line for file in files for line in file.read_text("utf-8", "replace").splitlines()[-5:]]
    return "\n".join(line for line in lines if " HINT: " not in line and "redirecting log output" not in line)


def _configuration(place: ClusterPlace, options: Mapping[str, str]) -> str:
    values = {**_CONFIGURATION, "log_directory": str(place.folder / LOG_FOLDER), **options}
    quoted = {name: value.replace("'", "''") for name, value in values.items()}
    return "".join(f"{name} = '{value}'\n" for name, value in quoted.items())


def _write(place: ClusterPlace, file: Path, text: str) -> None:
    """Replaces a file as a whole, so that a crash never leaves half of one.

    Under root, the folder may belong to PostgreSQL's account, which could place a link there. So the draft must be new,
    has a name that cannot be guessed, and is given away by its descriptor.
    """
    draft = file.with_name(f".{file.name}.{secrets.token_hex(16)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8") as output:  # noqa: PTH123 it is a descriptor
            output.write(text)
            output.flush()
            os.fsync(descriptor)
            place.account.give(descriptor)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
