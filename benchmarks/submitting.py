"""Measures submissions over HTTP in a batch of 1,000 that name a stored workflow, beside those with the source."""

from __future__ import annotations

import time

from benchmarks import workflows
from benchmarks.arena import Arena
from benchmarks.contestants import start_server
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import ratios
from tenax.model.wire import Submission
from tenax.sdk.client import Client

MEASURE = "submitting"
BATCH = 1_000
BY_SOURCE = "with the source"
BY_NAME = "by the name of a stored workflow"
BY_NAME_OF_SOURCE = Mark("at least", 0.9)
_BATCHES = 10  # batches of each kind in a round, in turns


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    rates: dict[str, list[float]] = {BY_SOURCE: [], BY_NAME: []}

    def figures() -> list[Figure]:
        found = [Figure(MEASURE, name, "/s", tuple(values)) for name, values in rates.items()]
        quotients = ratios(rates[BY_NAME], rates[BY_SOURCE])
        return [*found, Figure(MEASURE, "by name / with the source", "", quotients, BY_NAME_OF_SOURCE)]

    for n in plan.each_round(MEASURE, warm_up=True, figures=figures):
        for name, rate in (await _round(arena)).items():
            plan.say(f"{MEASURE} {'warm-up' if n == 0 else f'round {n}'}: {name}: {rate:,.0f}/s")
            if n > 0:
                rates[name].append(rate)
    return figures()


async def _round(arena: Arena) -> dict[str, float]:
    """Returns the submissions per second. The kinds take turns, so that both have the same tables."""
    kinds = {
        BY_SOURCE: [Submission(source=workflows.NOOP)] * BATCH,
        BY_NAME: [Submission(workflow="bench-noop")] * BATCH,
    }
    seconds = dict.fromkeys(kinds, 0.0)
    async with arena.round() as round_:
        _, url = await start_server(round_)
        async with Client(url) as client:
            await client.store_workflow(workflows.NOOP)
            for name in kinds:
                await client.submit_many(kinds[name][:1])
            for _ in range(_BATCHES):
                for name, batch in kinds.items():
                    begun = time.perf_counter()
                    await client.submit_many(batch)
                    seconds[name] += time.perf_counter() - begun
    return {name: BATCH * _BATCHES / taken for name, taken in seconds.items()}
