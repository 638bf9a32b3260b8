"""Measures recovery at start-up and one sweep, without and with much history. Only the open executions should count."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from benchmarks import workflows
from benchmarks.arena import Arena, Round
from benchmarks.driven import leased
from benchmarks.filling import multiply
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import median, ratios
from tenax.embed import open_engine
from tenax.engine.engine import Engine
from tenax.model.wire import Submission
from tenax.settings import load_settings
from tenax.store.connect import Database

MEASURE = "recovery"
ACTIVE = 2_000
HISTORY_COSTS = Mark("at most", 1.2)
_LEASED = 500
_TRIES = 15
_BATCH = 500
_APART = 1.0


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    started: dict[int, list[float]] = {0: [], plan.history: []}
    swept: dict[int, list[float]] = {0: [], plan.history: []}

    def figures() -> list[Figure]:
        return [*_figures("start-up", started), *_figures("one sweep", swept)]

    async with arena.round() as empty, arena.round() as full:
        await _fill(empty, plan, 0)
        await _fill(full, plan, plan.history)
        for n in plan.each_round(MEASURE, warm_up=False, most=3, figures=figures):
            for round_, finished in ((empty, 0), (full, plan.history)):
                start, sweep = await _once(round_)
                started[finished].append(1000 * start)
                swept[finished].append(1000 * sweep)
                plan.say(
                    f"{MEASURE} round {n}: {ACTIVE:,} active, {finished:,} finished:"
                    f" start-up {1000 * start:.0f} ms, a sweep {1000 * sweep:.0f} ms"
                )
    return figures()


def _figures(what: str, found: dict[int, list[float]]) -> list[Figure]:
    none, many = found
    rows = [
        Figure(MEASURE, f"{what}, {ACTIVE:,} active and {finished:,} finished", "ms", tuple(values))
        for finished, values in found.items()
    ]
    ratio = ratios(found[many], found[none])
    return [*rows, Figure(MEASURE, f"{what}, {many:,} finished / none", "", ratio, HISTORY_COSTS)]


async def _once(round_: Round) -> tuple[float, float]:
    """Returns the seconds of a start-up and of a sweep, each the median of several."""
    settings = load_settings({"database_url": round_.url}, env={})
    async with Database.open(settings) as database:

        async def start() -> None:
            await Engine(database, settings).prepare()

        await start()
        return await _median_of(start), await _median_of(Engine(database, settings).maintenance.sweep)


async def _fill(round_: Round, plan: Plan, finished: int) -> None:
    """Makes the history and the open executions: some are leased, some have their first step done, and most are queued."""
    async with open_engine(load_settings({"database_url": round_.url}, env={})) as engine:
        [model] = await engine.submit([Submission(source=workflows.HISTORY)])
        for _ in range(2):
            await engine.report(await leased(engine, 1))
        if finished:
            await multiply(round_.connection, model.id, finished, apart=_APART, say=plan.say)
        for _ in range(0, ACTIVE, _BATCH):
            await engine.submit([Submission(source=workflows.HISTORY)] * _BATCH)
        await engine.report(await leased(engine, _LEASED))
        await leased(engine, _LEASED)
    await round_.settle()
    count = await round_.connection.fetchval("select count(*) from tenax.execution where state = 'completed'")
    assert count == finished + 1, f"{count} executions have ended"


async def _median_of(work: Callable[[], Awaitable[None]]) -> float:
    took: list[float] = []
    for _ in range(_TRIES):
        begun = time.perf_counter()
        await work()
        took.append(time.perf_counter() - begun)
    return median(took)
