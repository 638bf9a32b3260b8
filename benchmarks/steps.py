"""Measures executions of five steps in sequence: steps per second, beside executions of one step."""

from __future__ import annotations

from benchmarks import workflows
from benchmarks.arena import Arena
from benchmarks.contestants import Contestant, InProcess, OverHttp
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import ratios
from benchmarks.worked import seconds_worked

MEASURE = "steps"
STEPS = 5
OF_ONE_STEP = Mark("at least", 0.7)
_PATIENCE = 120.0


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    contestants: tuple[Contestant, ...] = (InProcess(2), OverHttp(2))
    one: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    five: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    for n in plan.each_round(MEASURE, warm_up=True, most=3, figures=lambda: _figures(one, five)):
        for contestant in contestants:
            name = contestant.name
            alone = await _rate(arena, contestant, workflows.NOOP, plan.steps, 1)
            chain = await _rate(arena, contestant, workflows.FIVE_STEPS, plan.steps // STEPS, STEPS)
            plan.say(f"{MEASURE} round {n}: {name}: {chain:,.0f} steps/s in fives, {alone:,.0f}/s alone")
            if n > 0:
                one[name].append(alone)
                five[name].append(chain)
    return _figures(one, five)


def _figures(one: dict[str, list[float]], five: dict[str, list[float]]) -> list[Figure]:
    figures = []
    for name, chain in five.items():
        mark = OF_ONE_STEP if name.startswith("in-process") else None
        figures += [
            Figure(MEASURE, f"executions of one step, {name}", "/s", tuple(one[name])),
            Figure(MEASURE, f"steps in executions of five, {name}", "/s", tuple(chain)),
            Figure(
                MEASURE, f"a step in five / an execution of one, {name}", "", ratios(chain, one[name]), mark
            ),
        ]
    return figures


async def _rate(arena: Arena, contestant: Contestant, source: str, executions: int, steps: int) -> float:
    """Returns the steps per second."""
    async with arena.round() as round_:
        await contestant.fill(round_, source, executions)
        return executions * steps / await seconds_worked(round_, contestant, executions, _PATIENCE)
