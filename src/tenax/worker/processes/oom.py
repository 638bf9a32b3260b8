"""Finds out whether the kernel killed a process for lack of memory. The count of the cgroup tells; the process itself cannot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class OomKills:
    """Holds the count of the worker's own cgroup (version 2) at one moment. It is None if it cannot be read."""

    count: int | None

    @classmethod
    def now(cls) -> OomKills:
        return cls(_count())

    def more_since(self) -> bool:
        """Returns whether the kernel killed a process since then. It may have been another child of the worker."""
        now = _count()
        return self.count is not None and now is not None and now > self.count


def _count() -> int | None:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        own = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
        if own is None:
            return None
        events = (_CGROUPS / own / "memory.events").read_text().split()
        return int(events[events.index("oom_kill") + 1])
    except (OSError, ValueError, IndexError):
        return None
