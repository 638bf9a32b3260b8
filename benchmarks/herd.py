"""Measures very many retries that are due at the same instant: the time until the last has started, and the wait of new work.

One execution is run until it waits for its retry after a real failed attempt, and is then copied with all of its rows. One statement sets
the due time of all copies. For pgqueuer, as many scheduled jobs are set to one instant by one statement too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks import workflows
from benchmarks.arena import Arena, Round
from benchmarks.children import ChildFailed
from benchmarks.contestants import Contestant, InProcess, OverHttp
from benchmarks.driven import leased
from benchmarks.filling import multiply
from benchmarks.peers.registry import PGQUEUER, ReadyPeer, ready
from benchmarks.peers.rounds import fill, work
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import Tail, ratios
from benchmarks.waiting import FAILED
from tenax.embed import open_engine
from tenax.model.wire import Submission
from tenax.settings import load_settings

MEASURE = "herd"
RATE = 20.0
OF_PGQUEUER = Mark("at most", 1.0)
NEW_WORK = {"p50": None, "p99": Mark("at most", 250)}
LEAD = 10.0
"""Seconds between setting the instant and the instant itself. All processes start and are idle in this time."""
_APART = 0.001
_PER_SECOND = 10_000
"""Retries per second. New work is submitted for as long as the retries would take at this rate."""
_PATIENCE = 300.0

_SET_TENAX = "update tenax.item set available_at = to_timestamp($1) where state = 'retrying'"
_SET_PGQUEUER = "update pgqueuer set execute_after = to_timestamp($1)"
_STARTS = """
select extract(epoch from min(at))::double precision as first, extract(epoch from max(at))::double precision as last, count(*)
  from tenax.event where type = 'action_started' and attempt = 2
"""
_NEW = """
select (input ->> 'submitted')::double precision as submitted, (result ->> 'only')::double precision as waited
  from tenax.execution where state = 'completed' and input ? 'submitted'
"""


@dataclass(frozen=True, slots=True)
class Herd:
    seconds: float
    """Seconds from the instant to the last start."""
    new: Tail | None = None
    """The wait of new work for its start, if there was any."""


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    contestants: Mapping[str, Contestant] = {"in-process": InProcess(2), "over HTTP": OverHttp(2)}
    peers = await ready([PGQUEUER], lambda words: plan.say(f"{MEASURE}: {words}"))
    herds: dict[str, list[Herd]] = {name: [] for name in (*contestants, *(peer.name for peer in peers))}

    def figures() -> list[Figure]:
        return list(_figures(herds, plan.crowd))

    for n in plan.each_round(MEASURE, warm_up=False, most=3, figures=figures):
        for name, contestant in contestants.items():
            herds[name].append(await _tenax(arena, plan, contestant))
            _say(plan, n, name, herds[name][-1])
        for peer in peers:
            herds[peer.name].append(await _pgqueuer(arena, plan, peer))
            _say(plan, n, peer.name, herds[peer.name][-1])
    return figures()


def _say(plan: Plan, n: int, name: str, herd: Herd) -> None:
    new = f", new work p50 {herd.new.p50:,.1f} ms, p99 {herd.new.p99:,.1f} ms" if herd.new else ""
    plan.say(
        f"{MEASURE} round {n}: {name}: the last of {plan.crowd:,} started after {herd.seconds:.2f} s{new}"
    )


def _figures(herds: Mapping[str, Sequence[Herd]], crowd: int) -> Iterator[Figure]:
    seconds = {name: [herd.seconds for herd in found] for name, found in herds.items()}
    for name, found in seconds.items():
        yield Figure(MEASURE, f"{crowd:,} due at once, {name}: the last started after", "s", tuple(found))
    if PGQUEUER.name in seconds:
        for name, mark in (("in-process", OF_PGQUEUER), ("over HTTP", None)):
            yield Figure(
                MEASURE, f"{name} / pgqueuer", "", ratios(seconds[name], seconds[PGQUEUER.name]), mark
            )
    for name, all_of_it in herds.items():
        tails = [herd.new for herd in all_of_it if herd.new]
        for part, limit in NEW_WORK.items() if tails else ():
            waits = tuple(getattr(tail, part) for tail in tails)
            yield Figure(MEASURE, f"new work at {RATE:g}/s meanwhile, {name}, {part}", "ms", waits, limit)


async def _tenax(arena: Arena, plan: Plan, contestant: Contestant) -> Herd:
    async with arena.round() as round_:
        await _retrying(round_, plan)
        due = await _set(round_, _SET_TENAX)
        await round_.settle()
        seconds = due - time.time() + plan.crowd / _PER_SECOND
        await contestant.steady(round_, "STAMPED", rate=RATE, seconds=seconds)
        await round_.until_none_open(_PATIENCE)
        first, last, count = await round_.connection.fetchrow(_STARTS, timeout=_PATIENCE)
        assert count == plan.crowd, f"{count} of {plan.crowd} retries started"
        assert first >= due, "a retry started before its time"
        return Herd(last - due, Tail.of_seconds(await _waits(round_, due, last)))


async def _retrying(round_: Round, plan: Plan) -> None:
    async with open_engine(load_settings({"database_url": round_.url}, env={})) as engine:
        [model] = await engine.submit([Submission(source=workflows.WAITING)])
        await engine.report(await leased(engine, 1, outcome=FAILED))
    await multiply(round_.connection, model.id, plan.crowd - 1, apart=_APART, say=lambda _: None)


async def _set(round_: Round, statement: str) -> float:
    due = time.time() + LEAD
    await round_.connection.execute(statement, due, timeout=_PATIENCE)
    return due


async def _waits(round_: Round, due: float, last: float) -> list[float]:
    """Returns the waits of the new work that was submitted while the retries ran."""
    new = [(row["submitted"], row["waited"]) for row in await round_.connection.fetch(_NEW)]
    if not any(submitted + waited < due for submitted, waited in new):
        raise ChildFailed(
            f"{MEASURE}: the workers were not ready within {LEAD:g} s: is the machine overloaded?"
        )
    return [waited for submitted, waited in new if due <= submitted <= last]


async def _pgqueuer(arena: Arena, plan: Plan, peer: ReadyPeer) -> Herd:
    async with arena.round() as round_:
        await fill(round_, peer, "scheduled", plan.crowd)
        due = 0.0

        async def prepare() -> None:
            nonlocal due
            due = await _set(round_, _SET_PGQUEUER)

        played = await work(round_, peer, "scheduled", plan.crowd, prepare)
        assert played.first >= due, "a job started before its time"
        return Herd(played.last - due)
