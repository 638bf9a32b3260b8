"""Measures single submissions of a task, beside the same execution from the text of a file: in-process and over HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import benchmarks
from benchmarks.arena import Arena, Round
from benchmarks.contestants import start_server
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import ratios
from benchmarks.tasks import counted
from tenax.app.application import Tenax
from tenax.model.wire import Submission

MEASURE = "single tasks"
FILE = """
name: bench-counted
input: {number: {required: true}}
workflow:
  - {step: run, type: python, task: "benchmarks.tasks:counted", args: "{{ input }}"}
"""
FOLDER = str(Path(benchmarks.__file__).parents[1])
FROM_FILE, AS_TASK = "from a file", "as a task"
OF_FILE = Mark("at least", 0.95)
_TURNS = 20  # turns of each kind in a round
_IN_A_TURN = 400  # submissions
_AT_ONCE = 20  # submissions under way

Rates = dict[tuple[str, str], list[float]]


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    rates: Rates = {(way, kind): [] for way in ("in-process", "over HTTP") for kind in (FROM_FILE, AS_TASK)}

    def figures() -> list[Figure]:
        found = [Figure(MEASURE, f"{way}, {kind}", "/s", tuple(one)) for (way, kind), one in rates.items()]
        for way in ("in-process", "over HTTP"):
            quotients = ratios(rates[way, AS_TASK], rates[way, FROM_FILE])
            found.append(Figure(MEASURE, f"{way}: {AS_TASK} / {FROM_FILE}", "", quotients, OF_FILE))
        return found

    for n in plan.each_round(MEASURE, warm_up=True, figures=figures):
        async with arena.round() as round_:
            for key, rate in (await _round(round_)).items():
                plan.say(
                    f"{MEASURE} {'warm-up' if n == 0 else f'round {n}'}: {', '.join(key)}: {rate:,.0f}/s"
                )
                if n > 0:
                    rates[key].append(rate)
    return figures()


async def _round(round_: Round) -> dict[tuple[str, str], float]:
    """Returns the submissions per second."""
    home = str(round_.gate.parent)
    async with Tenax(round_.url, home=home) as app:
        found = {("in-process", kind): rate for kind, rate in (await _rates(app)).items()}
    _, url = await start_server(round_)
    async with Tenax(url, home=home) as app:
        return found | {("over HTTP", kind): rate for kind, rate in (await _rates(app)).items()}


async def _rates(app: Tenax) -> dict[str, float]:
    """Measures both kinds in turns, so that both have the same tables."""

    async def from_file(number: int) -> None:
        await app.client.submit(Submission(source=FILE, input={"number": number}, base_dir=FOLDER))

    async def as_task(number: int) -> None:
        await counted.submit(number)

    kinds: dict[str, Callable[[int], Awaitable[None]]] = {FROM_FILE: from_file, AS_TASK: as_task}
    seconds = dict.fromkeys(kinds, 0.0)
    for turn in range(_TURNS + 1):  # the first turn warms up
        for kind, submit in kinds.items():
            begun = time.perf_counter()
            await asyncio.gather(*(_some(submit) for _ in range(_AT_ONCE)))
            seconds[kind] += time.perf_counter() - begun if turn else 0
    return {kind: _TURNS * _IN_A_TURN / taken for kind, taken in seconds.items()}


async def _some(submit: Callable[[int], Awaitable[None]]) -> None:
    for number in range(_IN_A_TURN // _AT_ONCE):
        await submit(number)
