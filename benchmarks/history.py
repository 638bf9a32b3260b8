"""Measures whether ten million old events with their finished executions make Tenax slower."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks import operator_views, workflows
from benchmarks.arena import Arena, Round
from benchmarks.driven import Rates, leased
from benchmarks.filling import multiply
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.side_by_side import beside, in_turn
from benchmarks.stats import median, percentile, ratios
from benchmarks.waiting import FAILED
from tenax.embed import open_engine
from tenax.engine.engine import Engine
from tenax.model.wire import Submission
from tenax.settings import load_settings
from tenax.store.connect import Database

MEASURE = "history"
LOOK = Mark("at most", 20)
STARTS_ALIKE = Mark("at most", 1.15)
_LOOKS = 200
_WARM_UP = 50
"""Reads that are not counted, because the engine's own first statements run at the same time."""
_STARTS = 15
_OPEN = 2_000
"""Open executions in both databases, which the engine examines when it starts."""
_APART = 0.5
_OF_ONE = "select count(*) from tenax.event where execution_id = $1"

Verb = Callable[[Engine, int], Awaitable[Any]]
_VERBS: dict[str, Verb] = {
    "explain": lambda engine, execution_id: engine.explain(execution_id),
    "events": lambda engine, execution_id: engine.events(execution_id),
}


@dataclass(slots=True)
class Found:
    none: list[Rates] = field(default_factory=list)
    many: list[Rates] = field(default_factory=list)
    starts: dict[str, list[float]] = field(default_factory=lambda: {"none": [], "many": []})
    looks: dict[str, list[list[float]]] = field(default_factory=lambda: {verb: [] for verb in _VERBS})
    """The milliseconds of each read, by kind and round."""
    views: operator_views.Looks = field(default_factory=dict)
    """The milliseconds of each look at a view of operators."""


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    found = Found()
    what = f"{plan.events:,} old events"
    async with arena.round() as empty, _filled(arena, plan) as (full, ids):
        await _open_some(empty)
        for n in plan.each_round(MEASURE, warm_up=True, most=3, figures=lambda: _figures(found, what)):
            await in_turn(plan, MEASURE, n, ((empty, "none", found.none), (full, what, found.many)))
            looks = {verb: await _looks(full, call, ids) for verb, call in _VERBS.items()}
            views = await operator_views.look(full.connection, ids)
            starts = {"none": await _start_milliseconds(empty), "many": await _start_milliseconds(full)}
            plan.say(_in_words(n, looks, starts))
            if n > 0:
                for verb, took in looks.items():
                    found.looks[verb].append(took)
                for name, longest in views.items():
                    found.views.setdefault(name, []).extend(longest)
                for side, milliseconds in starts.items():
                    found.starts[side].append(milliseconds)
    return _figures(found, what)


def _in_words(n: int, looks: dict[str, list[float]], starts: dict[str, float]) -> str:
    times = [f"{verb} {median(took):.1f} ms, at worst {max(took):.1f}" for verb, took in looks.items()]
    return f"{MEASURE} round {n}: {', '.join(times)}; start-up {starts['many']:.0f} ms, with none {starts['none']:.0f}"


def _figures(found: Found, what: str) -> list[Figure]:
    figures = beside(MEASURE, what, "none", found.many, found.none)
    for verb, rounds in found.looks.items():
        for part, percent in (("p50", 50), ("the worst", 100)):
            values = tuple(percentile(one, percent) for one in rounds)
            figures.append(
                Figure(MEASURE, f"{verb} of one execution of {what}, {part} of {_LOOKS}", "ms", values, LOOK)
            )
    figures += operator_views.figures(MEASURE, what, found.views)
    none, many = found.starts["none"], found.starts["many"]
    return [
        *figures,
        Figure(MEASURE, "start-up, none", "ms", tuple(none)),
        Figure(MEASURE, f"start-up, {what}", "ms", tuple(many)),
        Figure(MEASURE, f"start-up, {what} / none", "", ratios(many, none), STARTS_ALIKE),
    ]


@contextlib.asynccontextmanager
async def _filled(arena: Arena, plan: Plan) -> AsyncIterator[tuple[Round, Sequence[int]]]:
    """Fills a database with copies of an execution that was retried once and completed, until it has the wanted number of events.

    Gives the database and the ids of the copies.
    """
    async with arena.round() as round_:
        async with open_engine(load_settings({"database_url": round_.url}, env={})) as engine:
            [model] = await engine.submit([Submission(source=workflows.RETRIED)])
            await engine.report(await leased(engine, 1, outcome=FAILED))
            for _ in range(2):
                await engine.report(await leased(engine, 1))
        await _open_some(round_)
        each = await round_.connection.fetchval(_OF_ONE, model.id)
        ids = await multiply(round_.connection, model.id, -(-plan.events // each), apart=_APART, say=plan.say)
        await operator_views.pretend_real(round_.connection)
        copied = await round_.connection.fetchval(_OF_ONE, ids[-1])
        assert copied == each, f"a copy has {copied} events, the original {each}"
        yield round_, ids


async def _open_some(round_: Round) -> None:
    """Submits executions that stay open, since they wait for a retry tomorrow."""
    async with open_engine(load_settings({"database_url": round_.url}, env={})) as engine:
        await engine.submit([Submission(source=workflows.WAITING)] * _OPEN)
        left = _OPEN
        while left:
            reports = await leased(engine, left, outcome=FAILED)
            await engine.report(reports)
            left -= len(reports)


async def _looks(round_: Round, call: Verb, ids: Sequence[int]) -> list[float]:
    """Returns the milliseconds of each read. Each read is of a random execution."""
    took: list[float] = []
    async with open_engine(load_settings({"database_url": round_.url}, env={})) as engine:
        for execution_id in random.sample(ids, _WARM_UP):
            await call(engine, execution_id)
        for execution_id in random.sample(ids, _LOOKS):
            begun = time.perf_counter()
            answer = await call(engine, execution_id)
            took.append(1000 * (time.perf_counter() - begun))
            assert answer, f"execution {execution_id} has nothing to show"
    return took


async def _start_milliseconds(round_: Round) -> float:
    settings = load_settings({"database_url": round_.url}, env={})
    took: list[float] = []
    async with Database.open(settings) as database:
        for _ in range(_STARTS):
            begun = time.perf_counter()
            await Engine(database, settings).prepare()
            took.append(1000 * (time.perf_counter() - begun))
    return median(took)
