"""No-op executions of one step per second, from the first lease to the last completion, beside the raw limit."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks import workflows
from benchmarks.arena import Arena, Round
from benchmarks.contestants import Contestant, InProcess, OverHttp
from benchmarks.plan import Plan
from benchmarks.raw import FILL
from benchmarks.report import Figure, Mark
from benchmarks.stats import ratios

MEASURE = "throughput"
IN_PROCESS_OF_RAW = Mark("at least", 0.2)
_PATIENCE = 120.0


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    contestants: Sequence[Contestant] = (InProcess(2), OverHttp(2))
    rates: dict[str, list[float]] = {}
    for n in plan.each_round(MEASURE, warm_up=True):
        _keep(rates, plan, n, _raw_name(2), await _raw(arena, plan, 2))
        for contestant in contestants:
            submitted, done = await _tenax(arena, plan, contestant)
            _keep(rates, plan, n, contestant.name, done)
            _keep(rates, plan, n, f"submit {contestant.name.partition(',')[0]}", submitted)
        _keep(rates, plan, n, _raw_name(1), await _raw(arena, plan, 1))
    return _figures(rates, [contestant.name for contestant in contestants])


def _raw_name(processes: int) -> str:
    return f"raw limit, {processes} process{'es' if processes > 1 else ''}"


def _keep(rates: dict[str, list[float]], plan: Plan, n: int, name: str, rate: float) -> None:
    plan.say(f"{MEASURE} {'warm-up' if n == 0 else f'round {n}'}: {name}: {rate:,.0f}/s")
    if n > 0:
        rates.setdefault(name, []).append(rate)


def _figures(rates: dict[str, list[float]], contestants: Sequence[str]) -> list[Figure]:
    figures = [Figure(MEASURE, name, "/s", tuple(values)) for name, values in rates.items()]
    raw = rates[_raw_name(2)]
    for name in contestants:
        mark = IN_PROCESS_OF_RAW if name.startswith("in-process") else None
        figures.append(Figure(MEASURE, f"{name} / raw limit", "", ratios(rates[name], raw), mark))
    in_process, over_http = contestants
    figures.append(
        Figure(MEASURE, f"{over_http} / in-process", "", ratios(rates[over_http], rates[in_process]))
    )
    return figures


async def _raw(arena: Arena, plan: Plan, processes: int) -> float:
    async with arena.round() as round_:
        await round_.connection.execute(FILL, plan.raw_jobs)
        await round_.settle()
        children = [await round_.children.start("raw", "benchmarks.raw") for _ in range(processes)]
        await round_.all_at_gate(processes)
        round_.open_gate()
        runs = [json.loads(await child.ended(_PATIENCE)) for child in children]
        assert sum(run["done"] for run in runs) == plan.raw_jobs
        return float(plan.raw_jobs / (max(run["last"] for run in runs) - min(run["first"] for run in runs)))


async def _tenax(arena: Arena, plan: Plan, contestant: Contestant) -> tuple[float, float]:
    """Submissions per second, and executions per second."""
    async with arena.round() as round_:
        submitted = await contestant.fill(round_, workflows.NOOP, plan.jobs)
        await contestant.work(round_)
        ended = await round_.until_none_open(_PATIENCE)
        return submitted, plan.jobs / (ended - await first_lease(round_, plan.jobs))


async def first_lease(round_: Round, jobs: int) -> float:
    """The database's time of the first lease; every job must have been completed since."""
    completed = await round_.connection.fetchval(
        "select count(*) from tenax.execution where state = 'completed'"
    )
    assert completed == jobs, f"{completed} of {jobs} executions completed"
    started = (
        """select extract(epoch from min(at)) from tenax.log where events @> '[{"type": "action_started"}]'"""
    )
    return float(await round_.connection.fetchval(started))
