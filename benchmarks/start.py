"""How long the command line takes to answer, and how much memory a worker takes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import workflows
from benchmarks.arena import Arena
from benchmarks.contestants import start_server, start_worker
from benchmarks.load import submit_all
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from tenax.sdk.client import Client

MEASURE = "start"
HELP_SECONDS = Mark("at most", 0.3)
_TRIES = 5
_JOBS = 1000


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    tries = [await asyncio.to_thread(_help) for _ in range(_TRIES)]
    plan.say(f"{MEASURE}: tenax --help: {min(tries):.3f} s")
    idle, busy = await _memory(arena)
    plan.say(f"{MEASURE}: a worker's memory: {idle:.1f} MB, after {_JOBS} jobs {busy:.1f} MB")
    return [
        Figure(MEASURE, "tenax --help", "s", (min(tries),), HELP_SECONDS, note=f"best of {_TRIES}"),
        Figure(MEASURE, "memory of a worker (RSS), idle", "MB", (idle,)),
        Figure(MEASURE, f"memory of a worker (RSS), after {_JOBS:,} jobs", "MB", (busy,)),
    ]


def _help() -> float:
    tenax = Path(sys.executable).with_name("tenax")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    begun = time.perf_counter()
    subprocess.run([tenax, "--help"], stdout=subprocess.DEVNULL, env=environment, check=True)
    return time.perf_counter() - begun


async def _memory(arena: Arena) -> tuple[float, float]:
    async with arena.round() as round_:
        _, url = await start_server(round_)
        worker = await start_worker(round_)
        await round_.all_at_gate(1)
        round_.open_gate()
        await round_.all_registered(1)
        idle = resident_megabytes(worker.pid)
        async with Client(url) as client:
            await submit_all(client.submit_many, workflows.NOOP, _JOBS, batch=100)
        await round_.until_none_open(60)
        return idle, resident_megabytes(worker.pid)


def resident_megabytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(f"process {pid} is gone")
