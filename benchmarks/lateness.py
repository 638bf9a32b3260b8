"""Measures how late retries start, from the events: `action_started` of the next attempt, minus the promised `available_at`."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks import workflows
from benchmarks.arena import Arena, Round
from benchmarks.contestants import Contestant, InProcess, OverHttp
from benchmarks.load import steady_count
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import Tail
from benchmarks.worked import seconds_worked

MEASURE = "lateness"
RATE = 10.0
LIGHT = {"p50": Mark("at most", 5), "p99": Mark("at most", 15)}
BURST = {"p50": None, "p99": Mark("at most", 60)}
BURST_SECONDS = Mark("at most", 2.5)

_LATENESS = """
select extract(epoch from s.at - (r.data ->> 'available_at')::timestamptz)::double precision as late
  from tenax.event r
  join tenax.event s on s.execution_id = r.execution_id and s.type = 'action_started' and s.attempt = r.attempt + 1
 where r.type = 'step_retry'
"""


@dataclass(frozen=True, slots=True)
class Burst:
    """Describes a round of many jobs that fail twice at the same time."""

    seconds: float
    late: Tail


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    contestants: tuple[Contestant, ...] = (InProcess(1), OverHttp(2))
    light: dict[str, list[Tail]] = {contestant.name: [] for contestant in contestants}
    bursts: dict[str, list[Burst]] = {contestant.name: [] for contestant in contestants}

    def figures() -> list[Figure]:
        return [*_light_figures(light), *_burst_figures(bursts, plan.burst)]

    for n in plan.each_round(MEASURE, warm_up=False, most=3, figures=figures):
        for contestant in contestants:
            tail = await _light(arena, plan, contestant)
            plan.say(
                f"{MEASURE} round {n}: {contestant.name}, light: p50 {tail.p50:.2f} ms, p99 {tail.p99:.2f} ms"
            )
            light[contestant.name].append(tail)
            burst = await _burst(arena, plan, contestant)
            plan.say(
                f"{MEASURE} round {n}: {contestant.name}, {plan.burst:,} jobs failing twice: {burst.seconds:.2f} s,"
                f" late p50 {burst.late.p50:.1f} ms, p99 {burst.late.p99:.1f} ms"
            )
            bursts[contestant.name].append(burst)
    return figures()


def _light_figures(light: dict[str, list[Tail]]) -> list[Figure]:
    return [
        Figure(
            MEASURE,
            f"1 s retry at {RATE:g}/s, {name}, {part}",
            "ms",
            tuple(getattr(tail, part) for tail in tails),
            mark,
        )
        for name, tails in light.items()
        for part, mark in LIGHT.items()
    ]


def _burst_figures(bursts: dict[str, list[Burst]], jobs: int) -> list[Figure]:
    figures = []
    for name, found in bursts.items():
        what = f"{jobs:,} jobs failing twice, {name}"
        figures.append(
            Figure(
                MEASURE,
                f"{what}: done in",
                "s",
                tuple(burst.seconds for burst in found),
                BURST_SECONDS,
                note="the floor is 2.0",
            )
        )
        for part, mark in BURST.items():
            late = tuple(getattr(burst.late, part) for burst in found)
            figures.append(Figure(MEASURE, f"{what}: late, {part}", "ms", late, mark))
    return figures


async def _light(arena: Arena, plan: Plan, contestant: Contestant) -> Tail:
    async with arena.round() as round_:
        await contestant.steady(round_, "FAILS_ONCE", rate=RATE, seconds=plan.seconds)
        await round_.until_none_open(60)
        return await late_retries(round_, retries=steady_count(RATE, plan.seconds))


async def _burst(arena: Arena, plan: Plan, contestant: Contestant) -> Burst:
    async with arena.round() as round_:
        await contestant.fill(round_, workflows.FAILS_TWICE, plan.burst)
        seconds = await seconds_worked(round_, contestant, plan.burst, 120)
        return Burst(seconds, await late_retries(round_, retries=2 * plan.burst))


async def late_retries(round_: Round, *, retries: int) -> Tail:
    """Returns the lateness of all retries of the round. Raises an error if their number is not the expected one."""
    found = [row["late"] for row in await round_.connection.fetch(_LATENESS)]
    assert len(found) == retries, f"{len(found)} retries where {retries} were expected"
    assert min(found) >= 0, "a retry started before its time"
    return Tail.of_seconds(found)
