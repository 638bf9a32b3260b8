"""Starts and stops a private PostgreSQL. The first process that needs it starts it, processes share it, and it stops with the last of
them.

Three file locks hold this together. The kernel drops them at any death, so that nothing is ever left to clean up by
hand. `start.lock` lets one process start the server at a time. `users.lock` is shared by all users. `watch.lock`
belongs to the watcher, a small process that waits until the users' lock is free, and then stops the server. Locks are
always taken in this order: start, users, watch.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from tenax.errors import Unreachable
from tenax.store.embedded import postmaster
from tenax.store.embedded.binaries import OTHER_DATABASE, Installation, choose, copied, wheel_installations
from tenax.store.embedded.cluster import DATABASE, ROLE, create_data, disk_full, start, wait_until_ready
from tenax.store.embedded.location import SYSTEM_HOME, ClusterPlace, existing_place, find_place

_START_LOCK = "start.lock"
_WATCH_LOCK = "watch.lock"
_LOCK_SECONDS = 180.0  # limit of the wait for a file lock
_LOCK_POLL_SECONDS = 0.01  # between two tries to lock a file
_WATCHER_END_SECONDS = 1.0  # seconds that a watcher gets to release its lock


@dataclass(frozen=True, slots=True)
class EmbeddedStatus:
    """The state of the server, found without changing anything."""

    place: Path
    data: Path | None
    major: int | None
    pid: int | None
    ready: bool
    url: str | None


class EmbeddedPostgres:
    """One process's hold on the PostgreSQL of a home. The server runs at least as long as any process holds it."""

    def __init__(
        self,
        home: Path,
        *,
        installations: Sequence[Installation] | None = None,
        options: Mapping[str, str] | None = None,
        system_home: Path = SYSTEM_HOME,
    ) -> None:
        """`installations` replaces the wheel's programs. `options` are settings of PostgreSQL, applied
        when it starts."""
        self.home = home
        self._installations = installations
        self._options = dict(options or {})
        self._system_home = system_home
        self._place: ClusterPlace | None = None
        self._users: int | None = None
        self._one_at_a_time = (
            threading.RLock()
        )  # the revival of a pool and a check of the watcher run in threads

    def acquire(self) -> str:
        """Holds the server, starts it if necessary, and returns its URL. This blocks, the very first time for some
        seconds."""
        with self._one_at_a_time, self._in_plain_words():
            already_held = self._still_held()
            if not already_held:
                self._let_go()
            if self._place is None or not self._place.folder.is_dir():
                self._place = find_place(self.home, self._system_home)
            with _locked(self._place, _START_LOCK, fcntl.LOCK_EX):
                try:
                    return self._hold(self._place)
                except BaseException:
                    if not already_held:
                        self.release()
                    raise

    def ensure_running(self) -> str:
        """Returns the URL of a running server, for a holder that has lost the connection. This is cheap if the server
        runs."""
        with self._one_at_a_time:
            place = self._place
            if (
                place is not None
                and self._still_held()
                and _is_watched(place)
                and (data := place.data)
                and (server := postmaster.is_ready(data))
            ):
                return _url_of(server)
            return self.acquire()

    def look_after(self) -> None:
        """Replaces a watcher that was killed. A holder calls it from time to time. It is cheap: it tries one lock.
        Without a watcher the server would outlive its last holder if that one was killed too."""
        with self._one_at_a_time:
            if self._place is not None and self._still_held() and not _is_watched(self._place):
                self.acquire()

    def release(self) -> None:
        """Releases the hold. The last process to do so stops the server, and returns when it has ended."""
        with self._one_at_a_time:
            if self._users is None or self._place is None:
                return
            self._let_go()
            with contextlib.suppress(FileNotFoundError):  # the whole home may have been removed
                _stop_if_last(self._place)

    def status(self) -> EmbeddedStatus:
        with self._in_plain_words():
            place = existing_place(self.home)
            data = next(reversed(postmaster.data_folders(place)), None)
            server = postmaster.is_ready(data) if data is not None else None
            return EmbeddedStatus(
                place=place,
                data=data,
                major=int(data.name) if data else None,
                pid=postmaster.postmaster_of(data) if data else None,
                ready=server is not None,
                url=None if server is None else _url_of(server),
            )

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _hold(self, place: ClusterPlace) -> str:
        if self._users is None:
            self._users = _lock(place, postmaster.USERS_LOCK, fcntl.LOCK_SH)
        # The watcher comes first: this process may be killed while the server starts.
        _ensure_watcher(place)
        data = self._bring_up(place)
        server = postmaster.read_lock_file(data)
        if server is None:
            raise Unreachable(f"PostgreSQL in {data} stopped a moment ago", remedy="try again")
        return _url_of(server)

    def _still_held(self) -> bool:
        """Returns whether the hold is still valid. It is not if the home was removed: a lock on a deleted file does not
        protect the next server."""
        return (
            self._users is not None
            and self._place is not None
            and _is_at(self._place.folder / postmaster.USERS_LOCK, self._users)
        )

    def _let_go(self) -> None:
        users, self._users = self._users, None
        if users is not None:
            os.close(users)

    def _bring_up(self, place: ClusterPlace) -> Path:
        """Returns the data directory of a running server, and starts it if necessary. Call it only under the start
        lock."""
        data = place.data
        # The socket is asked before the process id: the process of a server in another container is not visible from
        # here.
        if data and wait_until_ready(data):
            return data
        installation = choose(self._installations or wheel_installations(), data)
        if place.account.switch:
            durable = self._options.get("fsync") != "off"
            installation = copied(installation, place.folder / "binaries", durable=durable)
        data = data or create_data(place, installation, self._options)
        start(place, installation, data, self._options)
        return data

    @contextlib.contextmanager
    def _in_plain_words(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise disk_full(self._place.folder if self._place else self.home) from error
            raise Unreachable(
                f"the embedded PostgreSQL cannot use {os.fsdecode(error.filename or self.home)}: {error.strerror or error}",
                remedy=f"let this user write there, set TENAX_HOME to a folder of your own, or {OTHER_DATABASE}",
            ) from error


def _url_of(server: postmaster.LockFile) -> str:
    return f"postgresql://{ROLE}@/{DATABASE}?host={quote(str(server.socket_folder))}"


def _lock(place: ClusterPlace, name: str, how: int) -> int:
    """Locks a file of the place. The lock is dropped when the descriptor is closed, and by the kernel when this process
    dies."""
    path = place.folder / name
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        descriptor = _open(place, path)
        if _try_lock(descriptor, how) and _is_at(path, descriptor):
            return descriptor
        os.close(descriptor)
        if time.monotonic() > deadline:
            raise Unreachable(
                f"{path} has been locked for {_LOCK_SECONDS:g} s by a process that starts or stops PostgreSQL",
                remedy=f"see which process hangs: fuser -v {path}",
            )
        time.sleep(_LOCK_POLL_SECONDS)


def _open(place: ClusterPlace, path: Path) -> int:
    """Opens a lock file. It belongs to the owner of the place, even if root made it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    owner = place.folder.stat()
    if os.geteuid() == 0 and os.fstat(descriptor).st_uid != owner.st_uid:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def _try_lock(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _locked(place: ClusterPlace, name: str, how: int) -> Iterator[None]:
    descriptor = _lock(place, name, how)
    try:
        yield
    finally:
        os.close(descriptor)


def _is_watched(place: ClusterPlace) -> bool:
    """Returns whether a watcher runs. It asks with a shared lock, so that two processes that ask at once do not take
    each other for the watcher."""
    try:
        descriptor = os.open(place.folder / _WATCH_LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _ensure_watcher(place: ClusterPlace) -> None:
    """Starts a watcher unless one runs. It inherits its lock, so that the place is never seen without a watcher in
    between."""
    descriptor = _open(place, place.folder / _WATCH_LOCK)
    try:
        if not _try_lock(descriptor, fcntl.LOCK_EX):
            return
        script = Path(postmaster.__file__)
        shell = subprocess.run(
            [
                *("/bin/sh", "-c", '"$@" >/dev/null & echo $!', "sh"),
                *(sys.executable, "-I", "-S", script, place.folder, str(descriptor)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            pass_fds=(descriptor,),
            start_new_session=True,
            check=True,
        )
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, shell.stdout, 0)
    finally:
        os.close(descriptor)


def _stop_if_last(place: ClusterPlace) -> None:
    if not _alone(place):
        return
    with contextlib.suppress(ValueError, FileNotFoundError):
        watcher = int((place.folder / _WATCH_LOCK).read_text())
        postmaster.wait_for_end(watcher, _WATCHER_END_SECONDS)


def _alone(place: ClusterPlace) -> bool:
    """Returns whether no process uses the server any more. The server has ended then.

    If a watcher was faster, this waits for the watcher and checks again, since the watcher may be about to end.
    """
    deadline = time.monotonic() + _LOCK_SECONDS
    descriptor = os.open(place.folder / postmaster.USERS_LOCK, os.O_RDWR | os.O_CLOEXEC)
    try:
        while not _try_lock(descriptor, fcntl.LOCK_EX):
            if _try_lock(descriptor, fcntl.LOCK_SH) or time.monotonic() > deadline:
                return False
            time.sleep(_LOCK_POLL_SECONDS)
        for data in postmaster.data_folders(place.folder):
            postmaster.stop(data)
        return True
    finally:
        os.close(descriptor)
