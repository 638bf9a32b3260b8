"""Describes the machine on which the figures were measured."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any

import asyncpg

from benchmarks.arena import Arena
from benchmarks.stats import median
from tenax import __version__

_COMMITS = 50


async def facts(arena: Arena) -> dict[str, Any]:
    postgres = await arena.facts()
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_GB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load_average_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "postgresql": postgres.pop("server_version"),
        "postgresql_settings": ", ".join(f"{name}={value}" for name, value in postgres.items()),
        "durable_commit_ms": round(await _commit_milliseconds(arena), 2),
        "tenax": __version__,
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    for line in cpuinfo.read_text().splitlines() if cpuinfo.exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


async def _commit_milliseconds(arena: Arena) -> float:
    """Returns the milliseconds of one small transaction: the time of the disk and of the round trip."""
    async with arena.round() as round_:
        connection: Any = await asyncpg.connect(round_.url)
        times = []
        for _ in range(_COMMITS):
            begun = time.perf_counter()
            await connection.execute("insert into bench.event (job_id, type) values (0, 'commit')")
            times.append(time.perf_counter() - begun)
        await connection.close()
        return median(times) * 1000
