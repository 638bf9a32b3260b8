"""Measures jobs that fail twice, with a fixed delay of 1 s: retries per second, from the first start to the last end, beside the peers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks import workflows
from benchmarks.arena import Arena
from benchmarks.contestants import Contestant, InProcess, OverHttp
from benchmarks.lateness import late_retries
from benchmarks.peers.registry import PEERS, ReadyPeer, ready
from benchmarks.peers.rounds import play
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import Tail, median, ratios
from benchmarks.worked import seconds_worked

MEASURE = "retries"
OF_THE_FASTEST_PEER = Mark("at least", 5)
IN_PROCESS = "in-process"
_RETRIES = 2
_PATIENCE = 300.0


@dataclass(frozen=True, slots=True)
class Burst:
    rate: float
    """The retries per second."""
    late: Tail


Bursts = dict[str, list[Burst]]


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    contestants: Mapping[str, Contestant] = {IN_PROCESS: InProcess(2), "over HTTP": OverHttp(2)}
    wanted = [peer for peer in PEERS if peer.retried_share]
    peers = await ready(wanted, lambda words: plan.say(f"{MEASURE}: {words}"))
    notes = dict.fromkeys(contestants, f"{plan.retried:,} jobs")
    notes |= {peer.name: peer.peer.note(_jobs(plan, peer)) for peer in peers}
    bursts: Bursts = {name: [] for name in notes}

    def figures() -> list[Figure]:
        return list(_figures(bursts, notes))

    for n in plan.each_round(MEASURE, warm_up=False, most=3, figures=figures):
        for name, contestant in contestants.items():
            _keep(bursts, plan, n, name, await _tenax(arena, plan, contestant))
        for peer in peers:
            _keep(bursts, plan, n, peer.name, await _peer(arena, plan, peer))
    return figures()


def _keep(bursts: Bursts, plan: Plan, n: int, name: str, burst: Burst) -> None:
    late = f"late p50 {burst.late.p50:,.1f} ms, p99 {burst.late.p99:,.1f} ms"
    plan.say(f"{MEASURE} round {n}: {name}: {burst.rate:,.0f}/s, {late}")
    bursts[name].append(burst)


def _figures(bursts: Mapping[str, Sequence[Burst]], notes: Mapping[str, str]) -> Iterator[Figure]:
    rates = {name: [burst.rate for burst in found] for name, found in bursts.items()}
    for name, found in rates.items():
        yield Figure(MEASURE, name, "/s", tuple(found), note=notes[name])
    for name, all_of_it in bursts.items():
        for part in ("p50", "p99"):
            late = tuple(getattr(burst.late, part) for burst in all_of_it)
            yield Figure(MEASURE, f"{name}: late, {part}", "ms", late)
    peers = {name: found for name, found in rates.items() if name not in (IN_PROCESS, "over HTTP")}
    if peers:
        fastest = max(peers, key=lambda name: median(peers[name]))
        yield Figure(
            MEASURE,
            "in-process / the fastest peer",
            "",
            ratios(rates[IN_PROCESS], peers[fastest]),
            OF_THE_FASTEST_PEER,
            fastest,
        )


async def _tenax(arena: Arena, plan: Plan, contestant: Contestant) -> Burst:
    async with arena.round() as round_:
        await contestant.fill(round_, workflows.FAILS_TWICE, plan.retried)
        seconds = await seconds_worked(round_, contestant, plan.retried, _PATIENCE)
        retries = _RETRIES * plan.retried
        return Burst(retries / seconds, await late_retries(round_, retries=retries))


async def _peer(arena: Arena, plan: Plan, peer: ReadyPeer) -> Burst:
    jobs = _jobs(plan, peer)
    played = await play(arena, peer, "fails", jobs)
    retries = _RETRIES * jobs
    assert len(played.late) == retries, (
        f"{peer.name}: {len(played.late)} retries where {retries} were expected"
    )
    return Burst(retries / played.seconds, Tail.of_seconds(played.late))


def _jobs(plan: Plan, peer: ReadyPeer) -> int:
    return int(plan.retried * peer.peer.retried_share)
