"""Keeps unpacked packs in a folder that all workers of a machine may share, and drops those that were unused for longest.

An attempt holds a shared lock on its pack. A pack is dropped under an exclusive lock, so one in use stays.
The system frees the locks of a worker that was killed. A pack whose files have changed since is dropped and fetched again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from tenax.worker.packs.unpack import DamagedPack, Signature, content_of, signature_of

LEFT_BEHIND = 3600.0
"""Seconds after which an unfinished download belongs to a worker that was killed."""
_UNFINISHED = ".unfinished-"


class KeptFolders:
    """Gives the folders of packs that are unpacked. All methods may wait for the disk or for a lock."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self._most = most
        self._checked: dict[str, Signature] = {}

    def use(self, content: str) -> Lock | None:
        """Returns a lock on a pack that is unpacked. Returns None if it is not, or if it was damaged and is dropped now.

        Raises DamagedPack if it is damaged and cannot be dropped, because other attempts use it.
        """
        folder = self.folder_of(content)
        if not folder.is_dir():
            return None
        lock = Lock.take(self._lock_file(content), fcntl.LOCK_SH)
        if lock is None:
            return None
        is_there = folder.is_dir()
        if is_there and self._is_whole(folder):
            lock.touch()
            return lock
        lock.release()
        if is_there and not self._drop(folder) and folder.is_dir():
            raise DamagedPack(
                f"the files of the pack {content[:12]} were changed, and other attempts use them"
            )
        return None

    def _is_whole(self, folder: Path) -> bool:
        """Returns whether a folder has the content that its name says. Files that have not changed are read once."""
        try:
            found = signature_of(folder)
            if self._checked.get(folder.name) == found:
                return True
            if content_of(folder) != folder.name:
                return False
        except OSError:
            return False
        self._checked[folder.name] = found
        return True

    def folder_of(self, content: str) -> Path:
        return self._folder / content

    def unfinished(self) -> Path:
        """Returns the path of a folder for a download, which `keep` and `discard` accept."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = self._folder / f"{_UNFINISHED}{uuid4()}"
        folder.mkdir(mode=0o700)
        return folder

    def keep(self, unpacked: Path, content: str) -> None:
        """Makes an unpacked folder the one of its content, in one step. Another worker may have done so before."""
        with contextlib.suppress(OSError):
            unpacked.rename(self.folder_of(content))
        self._make_room(content)

    def discard(self, unfinished: Path) -> None:
        shutil.rmtree(unfinished, ignore_errors=True)

    def _lock_file(self, content: str) -> Path:
        return self._folder / f"{content}.lock"

    def _make_room(self, newest: str) -> None:
        """Drops the packs that were unused for longest, until the rest fits. The newest one stays."""
        left_behind = time.time() - LEFT_BEHIND
        for path in self._folder.glob(f"{_UNFINISHED}*"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < left_behind:
                    self.discard(path)
        kept = [(self._used_at(path), _size(path), path) for path in self._packs()]
        size = sum(bytes_ for _, bytes_, _ in kept)
        for _, bytes_, path in sorted(kept):
            if size <= self._most:
                return
            if path.name != newest and self._drop(path):
                size -= bytes_

    def _packs(self) -> Iterator[Path]:
        return (path for path in self._folder.iterdir() if path.is_dir() and not path.name.startswith("."))

    def _used_at(self, pack: Path) -> float:
        with contextlib.suppress(OSError):
            return self._lock_file(pack.name).stat().st_mtime
        return 0.0

    def _drop(self, pack: Path) -> bool:
        """Drops a pack unless an attempt uses it. It is moved away first, so that no half of it is ever found."""
        lock = Lock.take(self._lock_file(pack.name), fcntl.LOCK_EX | fcntl.LOCK_NB)
        if lock is None:
            return False
        try:
            away = self._folder / f"{_UNFINISHED}{uuid4()}"
            pack.rename(away)
            self._checked.pop(pack.name, None)
            self.discard(away)
            lock.remove()
        except OSError:
            return False
        finally:
            lock.release()
        return True


class Lock:
    """Is a lock on a pack, which is held until it is released."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path, kind: int) -> Lock | None:
        """Takes a lock. Returns None if there is no folder for it, or if it is taken and `kind` does not wait."""
        while True:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except FileNotFoundError:
                return None
            try:
                fcntl.flock(descriptor, kind)
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    return cls(path, descriptor)
            except BlockingIOError:
                os.close(descriptor)
                return None
            except FileNotFoundError:
                pass  # its pack was dropped while this waited
            os.close(descriptor)

    def touch(self) -> None:
        os.utime(self._descriptor)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)

    def release(self) -> None:
        os.close(self._descriptor)


def _size(folder: Path) -> int:
    size = 0
    for above, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(above, name)).st_size  # noqa: PTH118 -- a pack may have 10,000 files
    return size
