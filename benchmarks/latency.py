"""Measures the time from the start of the submit call to the start of the task's function, at a steady rate."""

from __future__ import annotations

from benchmarks.arena import Arena
from benchmarks.contestants import Contestant, InProcess, OverHttp
from benchmarks.load import steady_count
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import Tail

MEASURE = "latency"
RATE = 50.0
MARKS = {"p50": Mark("at most", 3), "p99": Mark("at most", 15)}


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    contestants: tuple[Contestant, ...] = (InProcess(1), OverHttp(2))
    tails: dict[str, list[Tail]] = {contestant.name: [] for contestant in contestants}
    for n in plan.each_round(MEASURE, warm_up=False, most=3, figures=lambda: _figures(tails)):
        for contestant in contestants:
            tail = Tail.of_seconds(await _waits(arena, plan, contestant))
            plan.say(f"{MEASURE} round {n}: {contestant.name}: p50 {tail.p50:.2f} ms, p99 {tail.p99:.2f} ms")
            tails[contestant.name].append(tail)
    return _figures(tails)


def _figures(tails: dict[str, list[Tail]]) -> list[Figure]:
    return [
        Figure(
            MEASURE,
            f"enqueue to start at {RATE:g}/s, {name}, {part}",
            "ms",
            tuple(getattr(tail, part) for tail in found),
            mark,
        )
        for name, found in tails.items()
        for part, mark in MARKS.items()
    ]


async def _waits(arena: Arena, plan: Plan, contestant: Contestant) -> list[float]:
    """Returns the waits that the tasks returned, without those of the first second, which are the warm-up."""
    async with arena.round() as round_:
        await contestant.steady(round_, "STAMPED", rate=RATE, seconds=plan.seconds + 1)
        await round_.until_none_open(60)
        rows = await round_.connection.fetch(
            "select (result ->> 'only')::double precision as waited from tenax.execution where state = 'completed' order by id"
        )
        assert len(rows) == steady_count(RATE, plan.seconds + 1)
        return [row["waited"] for row in rows[int(RATE) :]]
