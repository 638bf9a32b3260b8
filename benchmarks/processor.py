"""Reads from /proc how much of a processor core and how much memory processes take."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")


def seconds_of(pid: int) -> float:
    """Returns the processor seconds of this process alone, since its start."""
    user, system, _, _ = _times(pid)
    return user + system


def seconds_of_family(parent: int) -> float:
    """Returns the processor seconds of a process and of all its children, including ended ones."""
    alive = 0.0
    for child in _children(parent):
        with contextlib.suppress(
            FileNotFoundError
        ):  # the process has just ended, and its parent has its times
            alive += seconds_of(child)
    return alive + sum(_times(parent))


async def postmaster_of(connection: Any) -> int | None:
    """Returns the main process of this PostgreSQL. Returns None if it runs on another machine."""
    return _postmaster(await connection.fetchval("select pg_backend_pid()"))


def _postmaster(backend: int) -> int | None:
    try:
        parent = int(_fields(backend)[1])
        name = Path(f"/proc/{parent}/comm").read_text().strip()
    except FileNotFoundError:
        return None
    return parent if name in ("postgres", "postmaster") else None


def megabytes_of(pid: int, name: str = "VmRSS") -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(f"process {pid} is gone")


def _times(pid: int) -> tuple[float, float, float, float]:
    """Returns the user and system seconds of the process, and of its ended children."""
    user, system, children_user, children_system = (int(one) / _TICKS for one in _fields(pid)[11:15])
    return user, system, children_user, children_system


def _fields(pid: int) -> list[str]:
    """Returns the fields of /proc/PID/stat after the name, which may contain spaces."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _children(parent: int) -> list[int]:
    threads = Path(f"/proc/{parent}/task").iterdir()
    return [int(pid) for thread in threads for pid in (thread / "children").read_text().split()]
