"""Measures the throughput over HTTP while 200 browsers follow pages of the dashboard, beside the same without them."""

from __future__ import annotations

from benchmarks import workflows
from benchmarks.arena import Arena
from benchmarks.contestants import OverHttp
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import ratios
from benchmarks.worked import seconds_worked

MEASURE = "watched"
ALONE = "over HTTP"
WATCHED = "over HTTP, watched by 200 browsers"
WATCHED_OF_ALONE = Mark("at least", 0.95)
_PATIENCE = 120.0
_PAGES = (
    "/overview/live",
    "/executions/live",
    "/executions/live?filter=status%3Drunning",
    "/dead-letters/live",
)


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    rates: dict[str, list[float]] = {ALONE: [], WATCHED: []}

    def figures() -> list[Figure]:
        found = [Figure(MEASURE, name, "/s", tuple(values)) for name, values in rates.items()]
        quotients = ratios(rates[WATCHED], rates[ALONE])
        return [*found, Figure(MEASURE, "watched / alone", "", quotients, WATCHED_OF_ALONE)]

    for n in plan.each_round(MEASURE, warm_up=True, figures=figures):
        for name in (ALONE, WATCHED):
            rate = await _round(arena, plan, watched=name == WATCHED)
            plan.say(f"{MEASURE} {'warm-up' if n == 0 else f'round {n}'}: {name}: {rate:,.0f}/s")
            if n > 0:
                rates[name].append(rate)
    return figures()


async def _round(arena: Arena, plan: Plan, *, watched: bool) -> float:
    contestant = OverHttp(2)
    async with arena.round() as round_:
        await contestant.fill(round_, workflows.NOOP, plan.jobs)
        if watched:
            url = (round_.gate.parent / "server").read_text()
            browsers = await round_.children.start("watchers", "benchmarks.watchers", url, *_PAGES)
            await round_.children.hears(browsers, "watching")
        return plan.jobs / await seconds_worked(round_, contestant, plan.jobs, _PATIENCE)
