"""Measures how soon a large graph starts, and whether a step costs more in a large graph than in a small one."""

from __future__ import annotations

import time
import uuid

from benchmarks.arena import Arena
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import ratios
from tenax.embed import open_engine
from tenax.engine.engine import Engine
from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import LeaseRequest, Report, Submission
from tenax.settings import load_settings

MEASURE = "graph"
SMALL, LARGE = 1_000, 10_000
STARTS_WITHIN = Mark("at most", 5.0)
STEP_OF_LARGE = Mark("at most", 1.5)
_STEPS_TAKEN = 250
"""Steps that are measured. In the small graph too, so many have other steps behind them."""
_SLOTS = 50


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    started: list[float] = []
    small: list[float] = []
    large: list[float] = []

    def figures() -> list[Figure]:
        return [
            Figure(
                MEASURE,
                f"{LARGE:,} steps: from submit to the first lease",
                "s",
                tuple(started),
                STARTS_WITHIN,
            ),
            Figure(MEASURE, f"a step of {SMALL:,}", "ms", tuple(small)),
            Figure(MEASURE, f"a step of {LARGE:,}", "ms", tuple(large)),
            Figure(MEASURE, f"a step of {LARGE:,} / of {SMALL:,}", "", ratios(large, small), STEP_OF_LARGE),
        ]

    for n in plan.each_round(MEASURE, warm_up=False, most=3, figures=figures):
        first, each = await _run(arena, LARGE, n)
        started.append(first)
        large.append(1e3 * each)
        small.append(1e3 * (await _run(arena, SMALL, n))[1])
        plan.say(f"{MEASURE} round {n}: {LARGE:,} steps start in {started[-1]:.2f} s")
    return figures()


async def _run(arena: Arena, count: int, n: int) -> tuple[float, float]:
    """Returns the seconds from the submission to the first lease, and those of each later step."""
    async with (
        arena.round() as round_,
        open_engine(load_settings({"database_url": round_.url}, env={})) as engine,
    ):
        source, begun = _tree(count, n), time.perf_counter()
        await engine.submit([Submission(source=source)])
        first = await _lease(engine)
        started = time.perf_counter() - begun
        await engine.report(first)
        return started, await _take_steps(engine)


def _tree(count: int, round_: int) -> str:
    """Makes a graph with three steps behind each step, and a second need for most. It is new to the engine in each round."""
    lines = [f"name: bench-tree-{round_}", "workflow:"]
    for n in range(count):
        needs = sorted({(n - 1) // 3, (n - 1) // 7}) if n else []
        names = ", ".join(f"s{need}" for need in needs)
        lines.append(f"  - {{step: s{n}, type: python, task: 'benchmarks.tasks:noop', needs: [{names}]}}")
    return "\n".join(lines) + "\n"


async def _lease(engine: Engine) -> list[Report]:
    """Leases all ready items. Returns reports of their success."""
    request = LeaseRequest("bench", str(uuid.uuid4()), _SLOTS, ("python",), wait=10)
    return [
        Report(a.execution_id, a.item_id, a.attempt, a.token, Outcome("succeeded"), a.step)
        for a in await engine.lease(request)
    ]


async def _take_steps(engine: Engine) -> float:
    """Returns the seconds of each of the next steps, until it is leased and reported and its successors are queued."""
    taken, begun = 0, time.perf_counter()
    while taken < _STEPS_TAKEN:
        reports = await _lease(engine)
        await engine.report(reports)
        taken += len(reports)
    return (time.perf_counter() - begun) / taken
