"""Measures submissions, leases and reports beside a million waiting retries, and without them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from benchmarks import workflows
from benchmarks.arena import Arena, Round
from benchmarks.driven import Rates, leased
from benchmarks.filling import multiply
from benchmarks.plan import Plan
from benchmarks.report import Figure
from benchmarks.side_by_side import beside, in_turn
from tenax.embed import open_engine
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import Submission
from tenax.settings import load_settings

MEASURE = "waiting"
FAILED = Outcome("failed", facts=Facts(message="not yet", exception="builtins.ConnectionError"))
_APART = 0.001


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    none: list[Rates] = []
    many: list[Rates] = []

    def figures() -> list[Figure]:
        return beside(MEASURE, f"{plan.waiting:,} retries waiting", "none", many, none)

    async with arena.round() as empty, _filled(arena, plan) as full:
        for n in plan.each_round(MEASURE, warm_up=True, figures=figures):
            await in_turn(
                plan, MEASURE, n, ((empty, "none", none), (full, f"{plan.waiting:,} waiting", many))
            )
    return figures()


@contextlib.asynccontextmanager
async def _filled(arena: Arena, plan: Plan) -> AsyncIterator[Round]:
    """Fills a database with one waiting retry, made by running it, and copies of it."""
    async with arena.round() as round_:
        async with open_engine(load_settings({"database_url": round_.url}, env={})) as engine:
            [model] = await engine.submit([Submission(source=workflows.WAITING)])
            await engine.report(await leased(engine, 1, outcome=FAILED))
        await multiply(round_.connection, model.id, plan.waiting - 1, apart=_APART, say=plan.say)
        found = await round_.connection.fetchval("select count(*) from tenax.item where state = 'retrying'")
        assert found == plan.waiting, f"{found} of {plan.waiting} retries wait"
        yield round_
