"""Whether the kernel killed something for memory: the cgroup counts it, the process itself cannot say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class OomKills:
    """The count of the worker's own cgroup (version 2) at one moment; None where it cannot be had."""

    count: int | None

    @classmethod
    def now(cls) -> OomKills:
        return cls(_count())

    def more_since(self) -> bool:
        """True where the kernel killed more since then. Another child's death may be the one counted."""
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
