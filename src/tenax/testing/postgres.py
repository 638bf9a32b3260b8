"""Runs the embedded PostgreSQL of a test run, in a folder that does not outlive the run."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from pathlib import Path

from tenax.store.embedded.location import existing_place
from tenax.store.embedded.server import EmbeddedPostgres

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 -- the folders in it are new, with random names
_MIN_FREE = 2**30  # bytes that must be free in memory before databases are put there
_PREFIX = "tenax-pytest"
_LONGEST = 40
"""Characters of a folder for temporary files. The path of a socket in it must fit."""
_OPTIONS = {
    # Nothing here outlives the run, so nothing needs to survive a power cut.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # Files of emptied tables stay until the next checkpoint.
    "checkpoint_timeout": "30s",
    # Statistics collected at random times would give the statements of a test other plans in each run.
    "autovacuum": "off",
    "max_connections": "300",
}


def choose_folder() -> Path:
    """Names a folder for this run, and makes nothing. The name has the id of this process, by which leftovers are found."""
    return _parent() / f"{_PREFIX}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def _parent() -> Path:
    if os.access(_IN_MEMORY, os.W_OK) and shutil.disk_usage(_IN_MEMORY).free > _MIN_FREE:
        return _IN_MEMORY
    chosen = tempfile.gettempdir()
    return Path(chosen if len(os.fsencode(chosen)) <= _LONGEST else "/tmp")  # noqa: S108 -- the folder is new, with a random name


def remove_folder(folder: Path) -> None:
    """Removes the folder of a run, and the files of PostgreSQL if root had to put them elsewhere."""
    if not folder.exists():
        return
    place = existing_place(folder)
    if not place.is_relative_to(folder.resolve()):
        shutil.rmtree(place, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers() -> None:
    """Removes the folders of runs that were killed."""
    for folder in _parent().glob(f"{_PREFIX}-*-*"):
        pid = folder.name.removeprefix(f"{_PREFIX}-").partition("-")[0]
        if pid.isdigit() and not _is_alive(int(pid)):
            remove_folder(folder)


def start_postgres(folder: Path) -> EmbeddedPostgres:
    """Holds the PostgreSQL of the run, which its processes share: the first one starts it, and it stops with the last one."""
    folder.mkdir(mode=0o755, exist_ok=True)
    folder.chmod(0o755)  # under root, PostgreSQL runs as another account
    server = EmbeddedPostgres(folder, options=_OPTIONS)
    server.acquire()
    return server


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
