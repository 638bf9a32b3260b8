"""Measures how long small executions take beside a large fan-out, and alone."""

from __future__ import annotations

import asyncio

from benchmarks import workflows
from benchmarks.arena import Arena, Round
from benchmarks.contestants import start_server
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import median, percentile, ratios
from tenax.model.wire import Submission
from tenax.sdk.client import Client

MEASURE = "fairness"
SMALL = 100
BATCHES = 5
WORKERS, SLOTS = 2, 10
BESIDE_OF_ALONE = Mark("at most", 2.0)
_PATIENCE = 120.0
_POLL_SECONDS = 0.02

_TIMES = """
select extract(epoch from finished_at - created_at)::double precision as took,
       extract(epoch from finished_at - min(created_at) over ())::double precision as since_first
  from tenax.execution
 where id = any($1::bigint[]) and state = 'completed'
"""
_ENDED = "select coalesce(sum(ended), 0) as ended from tenax.fan"


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    alone: list[list[float]] = []
    beside: list[list[float]] = []
    rates: list[float] = []
    crowd = f"beside {plan.crowd:,} items"

    def figures() -> list[Figure]:
        return [
            *_figures("alone", alone),
            *_figures(crowd, beside),
            Figure(MEASURE, f"{SMALL} executions done in, {crowd} / alone", "", _ratio(beside, alone, 0), BESIDE_OF_ALONE),
            Figure(MEASURE, f"an execution, p50, {crowd} / alone", "", _ratio(beside, alone, 1)),
            Figure(MEASURE, "items of the fan-out meanwhile", "/s", tuple(rates)),
        ]  # fmt: skip

    for n in plan.each_round(MEASURE, warm_up=False, most=3, figures=figures):
        first, second, rate = await _round(arena, plan)
        alone.append(first)
        beside.append(second)
        rates.append(rate)
        plan.say(
            f"{MEASURE} round {n}: {SMALL} executions: {first[0]:.0f} ms alone, {second[0]:.0f} ms beside {plan.crowd:,} items"
        )
    return figures()


def _figures(where: str, found: list[list[float]]) -> list[Figure]:
    names = (f"{SMALL} executions done in", "an execution, p50", "an execution, p95")
    return [
        Figure(MEASURE, f"{name}, {where}", "ms", tuple(one[n] for one in found))
        for n, name in enumerate(names)
    ]


def _ratio(beside: list[list[float]], alone: list[list[float]], part: int) -> tuple[float, ...]:
    return ratios([one[part] for one in beside], [one[part] for one in alone])


async def _round(arena: Arena, plan: Plan) -> tuple[list[float], list[float], float]:
    """Returns the times of small batches alone and beside the fan-out, and its items per second meanwhile."""
    async with arena.round() as round_:
        _, url = await start_server(round_)
        for _ in range(WORKERS):
            command = ("tenax", "worker", "benchmarks.tasks", "--slots", str(SLOTS))
            await round_.children.start("worker", *command, TENAX_SERVER=url)
        await round_.all_registered(WORKERS)
        async with Client(url) as client:
            await _batch(round_, client)  # the warm-up, which stores the definition
            alone = await _batches(round_, client)
            [crowd] = await client.submit_many([_wide(plan.crowd)])
            await _until_it_runs(round_)
            begun, ended = asyncio.get_running_loop().time(), await _ended(round_)
            beside = await _batches(round_, client)
            ended, took = await _ended(round_) - ended, asyncio.get_running_loop().time() - begun
            left = plan.crowd - await _ended(round_)
            assert left > 0, f"the fan-out of {plan.crowd:,} ended too soon: nothing was beside it"
            await client.cancel(crowd.id, reason="measured")
        return alone, beside, ended / took


def _wide(count: int) -> Submission:
    return Submission(source=workflows.WIDE, input={"numbers": list(range(count))})


async def _batches(round_: Round, client: Client) -> list[float]:
    """Runs several batches. Returns the median time of a batch, and the median and p95 of an execution, in ms."""
    whole: list[float] = []
    each: list[float] = []
    for _ in range(BATCHES):
        took, single = await _batch(round_, client)
        whole.append(took)
        each += single
    return [1000 * value for value in (median(whole), percentile(each, 50), percentile(each, 95))]


async def _batch(round_: Round, client: Client) -> tuple[float, list[float]]:
    """Returns the seconds from the submission of a batch to the end of its last execution, and to the end of each."""
    ids = [one.id for one in await client.submit_many([Submission(source=workflows.SHORT)] * SMALL)]
    async with asyncio.timeout(_PATIENCE):
        while len(rows := await round_.connection.fetch(_TIMES, ids)) < SMALL:
            round_.children.check()
            await asyncio.sleep(_POLL_SECONDS)
    return max(row["since_first"] for row in rows), [row["took"] for row in rows]


async def _until_it_runs(round_: Round) -> None:
    async with asyncio.timeout(_PATIENCE):
        while await _ended(round_) == 0:
            round_.children.check()
            await asyncio.sleep(_POLL_SECONDS)


async def _ended(round_: Round) -> int:
    return int(await round_.connection.fetchval(_ENDED))
