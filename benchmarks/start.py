"""Measures how long the command line takes to answer and to run a small file, and how much memory a worker takes."""

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
from benchmarks.processor import megabytes_of
from benchmarks.report import Figure, Mark
from tenax.cli.process.parent import environment_for_child
from tenax.sdk.client import Client

MEASURE = "start"
HELP_SECONDS = Mark("at most", 0.3)
RUN_SECONDS = Mark("at most", 2.0)
WORKER_MEGABYTES = Mark("at most", 80)
_JOBS = 1000
_FILE = """
name: bench-hello
workflow:
  - step: hello
    type: python
    task: hello:hello
"""
_TASKS = """
from tenax import task


@task
def hello() -> str:
    return "hello"
"""


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    helps: list[float] = []
    runs: list[float] = []
    memory: list[tuple[float, float]] = []
    folder = arena.folder / "start"
    folder.mkdir()
    (folder / "hello.yaml").write_text(_FILE)
    (folder / "hello.py").write_text(_TASKS)
    first = await asyncio.to_thread(_seconds, folder, "run", "hello.yaml")
    plan.say(f"{MEASURE}: the first `tenax run`, with its set-up: {first:.2f} s")
    for n in plan.each_round(MEASURE, warm_up=False, figures=lambda: _figures(helps, runs, memory)):
        helps.append(await asyncio.to_thread(_seconds, folder, "--help"))
        runs.append(await asyncio.to_thread(_seconds, folder, "run", "hello.yaml"))
        memory.append(await _memory(arena))
        plan.say(
            f"{MEASURE} round {n}: tenax --help {helps[-1]:.3f} s, tenax run {runs[-1]:.2f} s,"
            f" a worker's memory {memory[-1][0]:.1f} MB, after {_JOBS} jobs {memory[-1][1]:.1f} MB"
        )
    return _figures(helps, runs, memory)


def _figures(helps: list[float], runs: list[float], memory: list[tuple[float, float]]) -> list[Figure]:
    idle, busy = zip(*memory, strict=True)
    return [
        Figure(MEASURE, "tenax --help", "s", tuple(helps), HELP_SECONDS),
        Figure(MEASURE, "tenax run of one step, after the first set-up", "s", tuple(runs), RUN_SECONDS),
        Figure(MEASURE, "memory of a worker (RSS), idle", "MB", idle),
        Figure(MEASURE, f"memory of a worker (RSS), after {_JOBS:,} jobs", "MB", busy, WORKER_MEGABYTES),
    ]


def _seconds(folder: Path, *arguments: str) -> float:
    """Returns the seconds of a command of Tenax, with a database of its own in the folder."""
    tenax = Path(sys.executable).with_name("tenax")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    environment |= {"TENAX_HOME": str(folder / "home"), **environment_for_child()}
    begun = time.perf_counter()
    subprocess.run([tenax, *arguments], stdout=subprocess.DEVNULL, cwd=folder, env=environment, check=True)
    return time.perf_counter() - begun


async def _memory(arena: Arena) -> tuple[float, float]:
    """Returns the memory of one worker with 500 slots, when it has registered and after some work."""
    async with arena.round() as round_:
        _, url = await start_server(round_)
        worker = await start_worker(round_)
        await round_.all_at_gate(1)
        round_.open_gate()
        await round_.all_registered(1)
        idle = megabytes_of(worker.pid)
        async with Client(url) as client:
            await submit_all(client.submit_many, workflows.NOOP, _JOBS, batch=100)
        await round_.until_none_open(60)
        return idle, megabytes_of(worker.pid)
