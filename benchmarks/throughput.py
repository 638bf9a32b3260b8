"""Measures no-op executions of one step per second, from the first lease to the last completion, beside the raw limit and the peers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from benchmarks import workflows
from benchmarks.arena import Arena
from benchmarks.contestants import Contestant, InProcess, OverHttp
from benchmarks.peers.registry import PEERS, ReadyPeer, ready
from benchmarks.peers.rounds import play
from benchmarks.plan import Plan
from benchmarks.raw import FILL
from benchmarks.report import Figure, Mark
from benchmarks.stats import ratios
from benchmarks.worked import seconds_worked

MEASURE = "throughput"
SUBMIT_OVER_HTTP = "submit over HTTP, batches of 100"
MARKS = {SUBMIT_OVER_HTTP: Mark("at least", 10_000)}
RATIOS: Sequence[tuple[str, str, Mark | None]] = (
    ("in-process", "raw limit", Mark("at least", 0.45)),
    ("in-process", "pgqueuer", Mark("at least", 1.2)),
    ("in-process", "celery", None),
    ("over HTTP", "raw limit", None),
    ("over HTTP", "in-process", Mark("at least", 0.6)),
    ("over HTTP", "procrastinate", Mark("at least", 3)),
    ("over HTTP", "dbos", Mark("at least", 3)),
    ("over HTTP", "oban", Mark("at least", 3)),
)
_PATIENCE = 120.0

Rates = dict[str, list[float]]


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    rates: Rates = {}
    peers = await ready(PEERS, lambda words: plan.say(f"{MEASURE}: {words}"))
    notes = {peer.name: peer.peer.note(_jobs(plan, peer)) for peer in peers}

    def figures() -> list[Figure]:
        return list(_figures(rates, notes))

    for n in plan.each_round(MEASURE, warm_up=True, figures=figures):
        _keep(rates, plan, n, "raw limit", await _raw(arena, plan, 2))
        await _tenax(arena, plan, n, rates)
        for peer in peers:
            _keep(rates, plan, n, peer.name, await _peer(arena, plan, peer))
        _keep(rates, plan, n, "raw limit, 1 process", await _raw(arena, plan, 1))
    return figures()


def _keep(rates: Rates, plan: Plan, n: int, name: str, rate: float) -> None:
    plan.say(f"{MEASURE} {'warm-up' if n == 0 else f'round {n}'}: {name}: {rate:,.0f}/s")
    if n > 0:
        rates.setdefault(name, []).append(rate)


def _figures(rates: Mapping[str, Sequence[float]], notes: Mapping[str, str]) -> Iterator[Figure]:
    for name, values in rates.items():
        yield Figure(MEASURE, name, "/s", tuple(values), MARKS.get(name), notes.get(name, ""))
    for name, reference, mark in RATIOS:
        if reference in rates:
            yield Figure(MEASURE, f"{name} / {reference}", "", ratios(rates[name], rates[reference]), mark)


async def _raw(arena: Arena, plan: Plan, processes: int) -> float:
    async with arena.round() as round_:
        await round_.connection.execute(FILL, plan.raw_jobs)
        await round_.settle()
        children = [await round_.children.start("raw", "benchmarks.raw") for _ in range(processes)]
        await round_.all_at_gate(processes)
        round_.open_gate()
        runs = [json.loads(await child.ended(_PATIENCE)) for child in children]
        assert sum(run["done"] for run in runs) == plan.raw_jobs
        return float(plan.raw_jobs / (max(run["last"] for run in runs) - min(run["first"] for run in runs)))


async def _tenax(arena: Arena, plan: Plan, n: int, rates: Rates) -> None:
    contestants: Mapping[str, tuple[Contestant, str]] = {
        "in-process": (InProcess(2), "submit in-process, batches of 500"),
        "over HTTP": (OverHttp(2), SUBMIT_OVER_HTTP),
    }
    for name, (contestant, submit) in contestants.items():
        async with arena.round() as round_:
            submitted = await contestant.fill(round_, workflows.NOOP, plan.jobs)
            seconds = await seconds_worked(round_, contestant, plan.jobs, _PATIENCE)
        _keep(rates, plan, n, name, plan.jobs / seconds)
        _keep(rates, plan, n, submit, submitted)


async def _peer(arena: Arena, plan: Plan, peer: ReadyPeer) -> float:
    jobs = _jobs(plan, peer)
    return jobs / (await play(arena, peer, "noop", jobs)).seconds


def _jobs(plan: Plan, peer: ReadyPeer) -> int:
    return int(plan.jobs * peer.peer.share)
