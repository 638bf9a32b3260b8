"""Recovery at start-up, and one sweep: with no history, and with much of it. The open executions alone should count."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable

from benchmarks import workflows
from benchmarks.arena import Arena, Round
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import median, ratios
from tenax.engine.engine import Engine
from tenax.model.outcome import Outcome
from tenax.model.wire import LeaseRequest, Report, Submission
from tenax.settings import load_settings
from tenax.store.connect import Database

MEASURE = "recovery"
ACTIVE = 2_000
HISTORY_COSTS = Mark("at most", 1.2)
_LEASED = 500
_TRIES = 15
_BATCH = 500

# One execution that has ended, with all that is kept of it, as often as wanted.
_MULTIPLY = """
with one as materialized (select * from tenax.execution where id = $1),
     copies as materialized (select nextval('tenax.execution_id') as id, n from generate_series(1, $2::integer) as n),
     executions as (
         insert into tenax.execution
                (id, plan_id, state, open_steps, input, result, created_at, finished_at, lane)
         select c.id, o.plan_id, o.state, o.open_steps, o.input, o.result,
                o.created_at - make_interval(secs => c.n), o.finished_at - make_interval(secs => c.n), o.lane
           from one o cross join copies c),
     steps as (
         insert into tenax.step (execution_id, step, state, waiting_for, attempts, result)
         select c.id, s.step, s.state, s.waiting_for, s.attempts, s.result
           from tenax.step s cross join copies c
          where s.execution_id = $1)
insert into tenax.log (execution_id, at, events)
select c.id, l.at - make_interval(secs => c.n), l.events
  from tenax.log l cross join copies c
 where l.execution_id = $1
"""


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    started: dict[int, list[float]] = {0: [], plan.history: []}
    swept: dict[int, list[float]] = {0: [], plan.history: []}
    for n in plan.each_round(MEASURE, warm_up=False, most=3):
        for finished in (0, plan.history):
            start, sweep = await _round(arena, finished)
            started[finished].append(1000 * start)
            swept[finished].append(1000 * sweep)
            plan.say(
                f"{MEASURE} round {n}: {ACTIVE:,} active, {finished:,} finished:"
                f" start-up {1000 * start:.0f} ms, a sweep {1000 * sweep:.0f} ms"
            )
    return [*_figures("start-up", started), *_figures("one sweep", swept)]


def _figures(what: str, found: dict[int, list[float]]) -> list[Figure]:
    none, many = found
    rows = [
        Figure(MEASURE, f"{what}, {ACTIVE:,} active and {finished:,} finished", "ms", tuple(values))
        for finished, values in found.items()
    ]
    ratio = ratios(found[many], found[none])
    return [*rows, Figure(MEASURE, f"{what}, {many:,} finished / none", "", ratio, HISTORY_COSTS)]


async def _round(arena: Arena, finished: int) -> tuple[float, float]:
    """Seconds of a start-up, and of a sweep: each the median of several."""
    async with arena.round() as round_:
        settings = load_settings({"database_url": round_.url}, env={})
        async with Database.open(settings) as database:
            await _fill(Engine(database, settings), round_, finished)
            await round_.settle()

            async def start() -> None:
                await Engine(database, settings).prepare()

            return await _median_of(start), await _median_of(Engine(database, settings).housekeeping.sweep)


async def _fill(engine: Engine, round_: Round, finished: int) -> None:
    """The history, and then what is open: some of it leased, some with its first step done, most of it queued."""
    await engine.prepare()
    [model] = await engine.submit([Submission(source=workflows.HISTORY)])
    while reports := await _lease(engine, 1):
        await engine.report(reports)
    if finished:
        await round_.connection.execute(_MULTIPLY, model.id, finished)
    for _ in range(0, ACTIVE, _BATCH):
        await engine.submit([Submission(source=workflows.HISTORY)] * _BATCH)
    await engine.report(await _lease(engine, _LEASED))
    await _lease(engine, _LEASED)
    count = await round_.connection.fetchval("select count(*) from tenax.execution where state = 'completed'")
    assert count == finished + 1, f"{count} executions have ended"


async def _lease(engine: Engine, slots: int) -> list[Report]:
    """What can be leased now, already as the reports that it succeeded."""
    request = LeaseRequest("bench", str(uuid.uuid4()), slots, ("python",))
    return [
        Report(a.execution_id, a.item_id, a.attempt, a.token, Outcome("succeeded"), a.step)
        for a in await engine.dispatcher.lease_now(request)
    ]


async def _median_of(work: Callable[[], Awaitable[None]]) -> float:
    took: list[float] = []
    for _ in range(_TRIES):
        begun = time.perf_counter()
        await work()
        took.append(time.perf_counter() - begun)
    return median(took)
