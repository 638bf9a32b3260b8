"""Tells what ready work waits for: a worker that is able to run it, room under a limit, or a release from a hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from tenax.model.events import timestamp
from tenax.model.execution_views import Event, HeldWork
from tenax.model.fleet.queue_limits import rate_words
from tenax.model.fleet.views import IdleWorker
from tenax.model.views import Limited, Standing, Unserved
from tenax.policy.dispatch.why_unserved import NAMED, LiveWorker, Want, why_unserved
from tenax.settings import Settings
from tenax.store.connect import Connection
from tenax.store.dispatch.ready_work import ReadyWork, ready_work_among, ready_work_of
from tenax.store.fleet import queues, worker_health
from tenax.store.fleet.worker_health import WorkerRow

NOTHING = Standing()
DECIDES_HOLDS = ("retry_held", "item_held", "compensation_retry")
"""The events whose decision may be to hold an item."""


async def steps_waiting_at(tx: Connection, settings: Settings, execution_id: int) -> dict[str, Standing]:
    """Returns, for each step with ready work, what that work waits for, if anything."""
    found: dict[str, Standing] = {}
    for work, standing in await _judged(tx, settings, await ready_work_of(tx, execution_id)):
        known = found.get(work.step, NOTHING)
        found[work.step] = Standing(
            unserved=known.unserved or standing.unserved, limited=known.limited or standing.limited
        )
    return found


async def items_waiting_at(tx: Connection, settings: Settings, items: Sequence[int]) -> dict[int, Standing]:
    """Returns, by execution, what these work items wait for if they are ready. No execution has two of them."""
    judged = await _judged(tx, settings, await ready_work_among(tx, items) if items else [])
    return {work.execution_id: standing for work, standing in judged}


async def _judged(
    tx: Connection, settings: Settings, ready: Sequence[ReadyWork]
) -> list[tuple[ReadyWork, Standing]]:
    if not ready:
        return []
    lease = settings.lease
    rows = await worker_health.load_workers(tx, settings.health_window, lease)
    live = [row for row in rows if row.heartbeat_age < lease]
    own = any(row.serves is not None for row in live)
    lines = {
        id_: await queues.find_ancestors(tx, id_) for id_ in {work.execution_id for work in ready} if own
    }
    judged: list[tuple[ReadyWork, Standing]] = []
    for work in ready:
        line = lines.get(work.execution_id, set())
        here = [row for row in live if row.serves is None or row.serves in line]
        judged.append((work, Standing(unserved=_unserved(work, here), limited=_limited(work))))
    return judged


def _unserved(work: ReadyWork, here: Sequence[WorkerRow]) -> Unserved | None:
    want = Want(work.queue, work.runtime, work.labels)
    why = why_unserved(want, [_server(row) for row in here])
    if why is None:
        return None
    idle = [
        IdleWorker(name=row.name, state=row.state, state_actor=row.state_actor, health=row.health)
        for row in here
        if why_unserved(want, [LiveWorker(*_able(row), "active", "healthy", own=row.serves is not None)])
        is None
    ]
    return Unserved(
        reason=why,
        since=timestamp(work.since),
        queue=work.queue,
        labels=work.labels,
        idle=idle[:NAMED],
    )


def _able(row: WorkerRow) -> tuple[str, tuple[str, ...], tuple[str, ...], dict[str, str]]:
    return row.name, tuple(row.queues), tuple(row.runtimes), row.labels


def _server(row: WorkerRow) -> LiveWorker:
    return LiveWorker(*_able(row), row.state, row.health, own=row.serves is not None)


def _limited(work: ReadyWork) -> Limited | None:
    """Returns the first limit that is reached. A paused queue is at the limit of nothing."""
    if work.paused_by is not None:
        why = f": {work.paused_why}" if work.paused_why else ""
        reason = f"the queue {work.queue} is paused by {work.paused_by}{why}"
        return replace(_at(work, reason, queue=work.queue), paused=True)
    if work.action is not None and _is_full(work.action_running, work.action_most):
        name, _ = _read_limit(work.action)
        reason = f"{work.action_running} of {work.action_most} of `{name}` run (concurrency)"
        return _at(work, reason, held_by=work.action_held_by)
    if work.key is not None and _is_full(work.key_running, work.key_most):
        name, key = _read_limit(work.key)
        reason = f"{work.key_running} of {work.key_most} of `{name}` with the key {key!r} run (concurrency)"
        return _at(work, reason, held_by=work.key_held_by)
    if _is_full(work.queue_running, work.queue_most):
        reason = f"{work.queue_running} of {work.queue_most} of the queue {work.queue} run"
        return _at(work, reason, queue=work.queue)
    if work.rate is not None and work.tokens is not None and work.tokens + 1e-9 < 1:
        reason = f"the rate of the queue {work.queue}, {rate_words(work.rate)}, is used up"
        return _at(work, reason, queue=work.queue)
    return None


def _at(work: ReadyWork, reason: str, *, queue: str | None = None, held_by: Sequence[int] = ()) -> Limited:
    return Limited(reason=reason, since=timestamp(work.since), queue=queue, held_by=list(held_by))


def _is_full(running: int | None, most: int | None) -> bool:
    return running is not None and most is not None and running >= most


def _read_limit(limit: str) -> tuple[str, str]:
    """Returns the name that users know a limit by, and its key: `send` and `acme` for `step:mails/send:acme`."""
    _, name, *key = limit.split(":", 2)
    return name.rpartition("/")[2], "".join(key)


async def held_steps(tx: Connection, execution_id: int, events: Iterable[Event]) -> dict[str, HeldWork]:
    """Returns the held work of an execution by step, with the rule and the reason of the last decision to hold."""
    last = {e.step: e.data["decision"] for e in events if e.type in DECIDES_HOLDS and "decision" in e.data}
    found: dict[str, HeldWork] = {}
    for step, held in (await queues.find_held_work(tx, execution_id)).items():
        decision = last.get(step, {})
        reason = decision.get("reason") or held.reason
        found[step] = replace(held, rule=decision.get("rule"), reason=reason)
    return found
