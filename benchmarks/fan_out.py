"""Fan-outs: an item beside an execution of its own, and ten times as many items, in time and in the server's memory.

One item in twenty fails once; all the others succeed at their first attempt.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import workflows
from benchmarks.arena import Arena, Round
from benchmarks.contestants import Contestant, InProcess, OverHttp, start_server
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import ratios
from tenax.embed import open_engine
from tenax.model.wire import Submission
from tenax.sdk.client import Client
from tenax.settings import load_settings

MEASURE = "fan-out"
ITEM_OF_EXECUTION = Mark("at most", 1.5)
LINEAR = Mark("at most", 1.2)
MEMORY = Mark("at most", 200)
_PATIENCE = 600.0
_BATCH = 500
_MEGABYTE = 1024 * 1024


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    alone: list[float] = []
    few: list[float] = []
    for n in plan.each_round(MEASURE, warm_up=True):
        for name, values, took in (
            ("separate executions", alone, await _separate(arena, plan.items)),
            ("items of one fan-out", few, await _in_process(arena, plan.items)),
        ):
            plan.say(f"{MEASURE} round {n}: {plan.items:,} {name}: {1e6 * took:,.0f} µs each")
            if n > 0:
                values.append(1e6 * took)
    figures = [
        Figure(MEASURE, f"{plan.items:,} executions, each", "µs", tuple(alone)),
        Figure(MEASURE, f"{plan.items:,} items of one fan-out, each", "µs", tuple(few)),
        Figure(MEASURE, "an item / an execution", "", ratios(few, alone), ITEM_OF_EXECUTION),
    ]
    return [*figures, *await _large(arena, plan, few)]


async def _large(arena: Arena, plan: Plan, few: list[float]) -> list[Figure]:
    """Ten times the items: in-process, and over HTTP with the memory of the server."""
    many = 1e6 * await _in_process(arena, 10 * plan.items)
    plan.say(f"{MEASURE}: {10 * plan.items:,} items: {many:,.0f} µs each")
    _, little = await _over_http(arena, plan.items)
    took, grown = await _over_http(arena, 10 * plan.items)
    plan.say(
        f"{MEASURE}: {10 * plan.items:,} items over HTTP: {1e6 * took:,.0f} µs each, {grown:,.0f} MB more"
    )
    few_first = sorted(few)[len(few) // 2]
    return [
        Figure(MEASURE, f"{10 * plan.items:,} items, each", "µs", (many,)),
        Figure(
            MEASURE, f"an item of {10 * plan.items:,} / of {plan.items:,}", "", (many / few_first,), LINEAR
        ),
        Figure(MEASURE, f"{10 * plan.items:,} items over HTTP, each", "µs", (1e6 * took,)),
        Figure(MEASURE, f"the server's memory above idle, {plan.items:,} items", "MB", (little,)),
        Figure(MEASURE, f"the server's memory above idle, {10 * plan.items:,} items", "MB", (grown,), MEMORY),
    ]


async def _separate(arena: Arena, count: int) -> float:
    async with arena.round() as round_:
        async with open_engine(load_settings({"database_url": round_.url}, env={})) as engine:
            for start in range(0, count, _BATCH):
                numbers = range(start, min(start + _BATCH, count))
                await engine.submit(
                    [Submission(source=workflows.FAILS_SOME, input={"n": n}) for n in numbers]
                )
        return await _worked_off(round_, InProcess(2), count)


async def _in_process(arena: Arena, count: int) -> float:
    async with arena.round() as round_:
        async with open_engine(load_settings({"database_url": round_.url}, env={})) as engine:
            await engine.submit([_fan(count)])
        took = await _worked_off(round_, InProcess(2), 1)
        await _check(round_, count)
        return took / count


async def _over_http(arena: Arena, count: int) -> tuple[float, float]:
    """Seconds for each item, and the megabytes that the server grew by."""
    async with arena.round() as round_:
        server, url = await start_server(round_)
        idle = _memory(server.pid, "VmRSS")
        async with Client(url) as client:
            await client.submit_many([_fan(count)])
        took = await _worked_off(round_, OverHttp(2), 1)
        await _check(round_, count)
        return took / count, (_memory(server.pid, "VmHWM") - idle) / _MEGABYTE


def _fan(count: int) -> Submission:
    return Submission(source=workflows.FAN_OUT, input={"numbers": list(range(count))})


async def _worked_off(round_: Round, contestant: Contestant, executions: int) -> float:
    """Seconds from the first lease to the last end, for each execution."""
    await contestant.work(round_)
    ended = await round_.until_none_open(_PATIENCE)
    completed = await round_.connection.fetchval(
        "select count(*) from tenax.execution where state = 'completed'"
    )
    assert completed == executions, f"{completed} of {executions} executions completed"
    started = await round_.connection.fetchval(
        """select extract(epoch from min(at)) from tenax.log where events @> '[{"type": "action_started"}]'"""
    )
    return (ended - float(started)) / executions


async def _check(round_: Round, count: int) -> None:
    """Every item is there, in its place; those that failed once, and only those, ran twice."""
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


def _memory(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return float(line.split()[1]) * 1024
    raise AssertionError(f"no {name} of process {pid}")
