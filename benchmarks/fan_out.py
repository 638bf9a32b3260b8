"""Measures fan-outs: items beside executions of their own, ten times as many items, and the server's memory.

The figures with marks are of tasks that do nothing. Once, one in twenty fails, to see that exactly those are retried.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from benchmarks import workflows
from benchmarks.arena import Arena, Round
from benchmarks.contestants import InProcess, OverHttp, start_server
from benchmarks.plan import Plan
from benchmarks.processor import megabytes_of
from benchmarks.report import Figure, Mark
from benchmarks.stats import ratios
from benchmarks.worked import seconds_worked
from tenax.embed import open_engine
from tenax.model.wire import Submission
from tenax.sdk.client import Client
from tenax.settings import load_settings

MEASURE = "fan-out"
ITEMS_OF_EXECUTIONS = Mark("at least", 0.8)
LINEAR = Mark("at most", 1.2)
MEMORY = Mark("at most", 200)
_PATIENCE = 600.0
_BATCH = 500


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    few, many = plan.items, 10 * plan.items
    found: dict[str, list[float]] = {"alone": [], "few": [], "many": []}
    work: dict[str, Callable[[], Awaitable[float]]] = {
        "alone": lambda: _separate(arena, [Submission(source=workflows.NOOP)] * few),
        "few": lambda: _fan_out(arena, workflows.FAN_OF_NOOPS, few),
        "many": lambda: _fan_out(arena, workflows.FAN_OF_NOOPS, many),
    }
    for n in plan.each_round(MEASURE, warm_up=True, most=3, figures=lambda: _figures(plan, found)):
        for name, rate in work.items():
            if n == 0 and name == "many":
                continue
            reached = await rate()
            plan.say(f"{MEASURE} round {n}: {_words(plan)[name]}: {reached:,.0f}/s")
            if n > 0:
                found[name].append(reached)
    return [*_figures(plan, found), *await _with_failures(arena, plan), *await _over_http(arena, plan)]


def _words(plan: Plan) -> dict[str, str]:
    return {
        "alone": f"{plan.items:,} executions of one step",
        "few": f"{plan.items:,} items of one fan-out",
        "many": f"{10 * plan.items:,} items of one fan-out",
    }


def _figures(plan: Plan, found: dict[str, list[float]]) -> list[Figure]:
    alone, few, many = found.values()
    linear = ratios(few, many)
    return [
        *(Figure(MEASURE, name, "/s", tuple(found[key])) for key, name in _words(plan).items()),
        Figure(MEASURE, f"{10 * plan.items:,} items / executions of one step", "", ratios(many, alone), ITEMS_OF_EXECUTIONS),
        Figure(MEASURE, f"time of an item of {10 * plan.items:,} / of {plan.items:,}", "", linear, LINEAR),
    ]  # fmt: skip


async def _with_failures(arena: Arena, plan: Plan) -> list[Figure]:
    """Runs a fan-out in which one item in twenty fails once."""
    count = plan.items
    apart = await _separate(
        arena, [Submission(source=workflows.FAILS_SOME, input={"n": n}) for n in range(count)]
    )
    together = await _fan_out(arena, workflows.FAN_OUT, count, check=_retried_what_failed)
    plan.say(f"{MEASURE}: one in twenty fails: {count:,} executions {apart:,.0f}/s, items {together:,.0f}/s")
    return [
        Figure(MEASURE, f"{count:,} executions, 5 % fail once", "/s", (apart,)),
        Figure(MEASURE, f"{count:,} items of one fan-out, 5 % fail once", "/s", (together,)),
    ]


async def _over_http(arena: Arena, plan: Plan) -> list[Figure]:
    """Runs a fan-out with a server as a process of its own, whose memory can be measured."""
    figures = []
    for count in (plan.items, 10 * plan.items):
        async with arena.round() as round_:
            server, url = await start_server(round_)
            idle = megabytes_of(server.pid)
            async with Client(url) as client:
                await client.submit_many([_fan(workflows.FAN_OF_NOOPS, count)])
            rate = count / await seconds_worked(round_, OverHttp(2), 1, _PATIENCE)
            grown = megabytes_of(server.pid, "VmHWM") - idle
        plan.say(f"{MEASURE}: {count:,} items over HTTP: {rate:,.0f}/s, {grown:,.0f} MB more")
        mark = MEMORY if count > plan.items else None
        figures += [
            Figure(MEASURE, f"{count:,} items over HTTP", "/s", (rate,)),
            Figure(MEASURE, f"the server's memory above idle, {count:,} items", "MB", (grown,), mark),
        ]
    return figures


async def _separate(arena: Arena, submissions: Sequence[Submission]) -> float:
    """Returns the executions per second."""
    async with arena.round() as round_:
        async with open_engine(load_settings({"database_url": round_.url}, env={})) as engine:
            for start in range(0, len(submissions), _BATCH):
                await engine.submit(submissions[start : start + _BATCH])
        return len(submissions) / await seconds_worked(round_, InProcess(2), len(submissions), _PATIENCE)


async def _fan_out(
    arena: Arena, source: str, count: int, check: Callable[[Round, int], Awaitable[None]] | None = None
) -> float:
    """Returns the items per second of one execution."""
    async with arena.round() as round_:
        async with open_engine(load_settings({"database_url": round_.url}, env={})) as engine:
            await engine.submit([_fan(source, count)])
        rate = count / await seconds_worked(round_, InProcess(2), 1, _PATIENCE)
        if check is not None:
            await check(round_, count)
        return rate


def _fan(source: str, count: int) -> Submission:
    return Submission(source=source, input={"numbers": list(range(count))})


async def _retried_what_failed(round_: Round, count: int) -> None:
    """Returns whether every item has its result, and exactly the items that failed once ran twice."""
    row: Any = await round_.connection.fetchrow(
        """select (select result -> 'spread' from tenax.execution)
                  = (select jsonb_agg(n) from generate_series(0, $1::integer - 1) as n) as in_order,
                  (select count(*) from tenax.item_result where attempts = 2) as twice,
                  (select count(*) from tenax.item_result where attempts = 2 and item_no % 20 <> 0) as wrongly""",
        count,
    )
    assert row["in_order"], "the results are not in the order of the list"
    assert (row["twice"], row["wrongly"]) == ((count + 19) // 20, 0), (
        "not exactly the failed items were retried"
    )
