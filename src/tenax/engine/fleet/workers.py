"""Registers workers, takes their heartbeats, shows them, and applies operators' actions to them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from msgspec import structs

from tenax.engine.context import EngineContext
from tenax.engine.fleet.health_watch import facts_of, terms_of
from tenax.errors import Conflict, NotFound, UsageError
from tenax.model.events import event, timestamp
from tenax.model.events.data import OperatorData
from tenax.model.events.types import OperatorAction
from tenax.model.fleet.health import SERVER_ACTOR, WorkerState
from tenax.model.fleet.views import ColumnInfo, HealthColumn, Worker, WorkerInFull
from tenax.model.names import worker_name_fault
from tenax.model.source.findings import suggest
from tenax.model.wire import (
    OLDEST_WORKER,
    PROTOCOL,
    Heartbeat,
    HeartbeatAnswer,
    Registration,
    RegistrationAnswer,
)
from tenax.policy.dispatch.health import health_tests
from tenax.policy.transitions import check
from tenax.store.budgets.attempt_usage import note_usage
from tenax.store.fleet import worker_health, workers
from tenax.store.fleet.worker_health import WorkerRow
from tenax.store.fleet.workers import BeatAnswer, LockedWorker
from tenax.store.tables import live_items

LEASES_SHOWN = 100  # leases in the view of a worker
EVENTS_SHOWN = 20  # events in the view of a worker
_ACTIONS: Final = {"paused": "worker_pause", "draining": "worker_drain", "active": "worker_resume"}


async def register(
    context: EngineContext, who: Registration, token_id: int | None = None
) -> RegistrationAnswer:
    """Registers a worker. `token_id` is the id of its token, to which the name then belongs."""
    _check_registration(who)
    async with context.transaction() as tx:
        if not await workers.register_worker(tx, who, token_id):
            raise Conflict(
                f"the name {who.worker} belongs to the token {await workers.owner_of_worker(tx, who.worker)!r}, "
                "by which a worker has registered under it",
                remedy="give this worker a name of its own (--name or TENAX_WORKER_NAME), or the same token; "
                f"an operator gives the name to the next who asks: tenax workers release {shlex.quote(who.worker)}",
            )
    settings = context.settings
    return RegistrationAnswer(
        settings.lease,
        settings.heartbeat,
        terms_of(settings),
        PROTOCOL,
        max_checkpoint=settings.max_checkpoint,
        max_output=settings.max_output,
    )


def _check_registration(who: Registration) -> None:
    if (fault := worker_name_fault(who.worker)) is not None:
        raise UsageError(
            f"{who.worker!r} {fault}", remedy="choose another name (--name or TENAX_WORKER_NAME)"
        )
    if is_outdated(who.protocol):
        raise Conflict(
            f"worker {who.worker} speaks version {who.protocol} of the workers' protocol, and this server needs {OLDEST_WORKER} "
            "or newer",
            remedy="install the server's version of Tenax on the worker's machine (GET /v1/version says which), and start it again",
        )


def is_outdated(protocol: int) -> bool:
    """Returns whether a worker with this version of the protocol is too old to be given work."""
    return protocol < OLDEST_WORKER


async def heartbeat(context: EngineContext, beat: Heartbeat) -> HeartbeatAnswer:
    """Takes a heartbeat. The leases that it names are extended, whichever life of the worker holds them."""
    items, tokens = [held.item_id for held in beat.holding], [held.token for held in beat.holding]
    async with context.transaction() as tx:
        extended = await live_items.extend_leases(tx, items, tokens, context.terms) if items else set()
        heard = await workers.beat_worker(tx, beat)
        if beat.usage:
            await note_usage(tx, beat.usage)
        if beat.leaving:
            await workers.end_worker(tx, beat.worker, beat.life)
    if beat.usage:
        context.notifier.announce(server_steps=True)
    return _answer(beat, extended, heard)


async def heartbeats(context: EngineContext, beats: Sequence[Heartbeat]) -> list[HeartbeatAnswer | None]:
    """Takes heartbeats of many workers in one transaction. The answer None means that a heartbeat must be written
    alone, because it may have to wait for a lock."""
    answers = await _beat_together(context, _apart(beats)) if len(beats) > 1 else {}
    return [answers.get(n) for n in range(len(beats))]


def _apart(beats: Sequence[Heartbeat]) -> dict[int, Heartbeat]:
    """Selects heartbeats for one transaction: each worker and each item once, and no leaving worker. The others follow
    in their order."""
    names: set[str] = set()
    items: set[int] = set()
    apart: dict[int, Heartbeat] = {}
    for n, beat in enumerate(beats):
        held = {held.item_id for held in beat.holding}
        if not beat.leaving and beat.worker not in names and items.isdisjoint(held):
            apart[n] = beat
        names.add(beat.worker)
        items |= held
    return apart


async def _beat_together(
    context: EngineContext, beats: Mapping[int, Heartbeat]
) -> dict[int, HeartbeatAnswer]:
    held = [held for beat in beats.values() for held in beat.holding]
    items, tokens = [one.item_id for one in held], [one.token for one in held]
    async with context.transaction() as tx:
        extended = await live_items.extend_leases(tx, items, tokens, context.terms) if items else set()
        heard = await workers.beat_workers(tx, list(beats.values()))
        if told := [one for beat in beats.values() for one in beat.usage]:
            await note_usage(tx, told)
    if told:
        context.notifier.announce(server_steps=True)
    return {
        n: _answer(beat, extended, heard[beat.worker]) for n, beat in beats.items() if beat.worker in heard
    }


def _answer(beat: Heartbeat, extended: set[tuple[int, str]], heard: BeatAnswer | None) -> HeartbeatAnswer:
    revoked = tuple(held for held in beat.holding if (held.item_id, held.token) not in extended)
    if heard is None or is_outdated(
        heard.protocol
    ):  # the worker registers again, and then learns what is wrong
        return HeartbeatAnswer(revoked, known=False)
    return HeartbeatAnswer(
        revoked, superseded=heard.superseded, state=heard.state, leave=heard.leave, health=heard.health
    )


async def list_workers(context: EngineContext, *, gone: bool) -> list[Worker]:
    async with context.transaction() as tx:
        rows = await worker_health.load_workers(
            tx, context.settings.health_window, context.settings.lease, gone=gone
        )
    return [_shown(context, row) for row in rows]


async def get_worker(context: EngineContext, name: str) -> WorkerInFull:
    async with context.transaction() as tx:
        rows = await worker_health.load_workers(
            tx, context.settings.health_window, context.settings.lease, name=name, gone=True
        )
        if not rows:
            raise _no_worker(name, await workers.list_worker_names(tx))
        leases, leases_total = await workers.list_leases(tx, name, LEASES_SHOWN)
        events = await workers.list_worker_events(tx, name, EVENTS_SHOWN)
    terms = terms_of(context.settings)
    table = health_tests(facts_of(rows[0], terms), terms)
    return WorkerInFull(
        **structs.asdict(_shown(context, rows[0])),
        columns=[
            ColumnInfo(
                column=cast("HealthColumn", column.name),
                value=column.value,
                degraded_at=column.degraded_at,
                unhealthy_at=column.unhealthy_at,
                health=column.health,
            )
            for column in table
        ],
        leases=leases,
        leases_total=leases_total,
        events=events,
    )


def _shown(context: EngineContext, row: WorkerRow) -> Worker:
    terms = terms_of(context.settings)
    seen = facts_of(row, terms)
    values: dict[str, Any] = {column.name: column.value for column in health_tests(seen, terms)}
    gone = row.state == "gone"
    return Worker(
        name=row.name,
        state=row.state,
        state_reason=row.state_reason,
        state_actor=row.state_actor,
        state_since=timestamp(row.state_since),
        health=row.health,
        health_column=cast("HealthColumn | None", row.health_column),
        health_since=timestamp(row.health_since),
        version=row.version,
        runtimes=row.runtimes,
        queues=row.queues,
        labels=row.labels,
        slots=row.slots,
        serves=row.serves,
        queue_depth=row.depth if gone else seen.queue_depth,
        consecutive_failures=values["consecutive_failures"],
        failure_rate=values["failure_rate"],
        runs=row.runs,
        failures=row.failures,
        losses=row.losses,
        probe_at=timestamp(row.probe_at),
        registered_at=timestamp(row.registered_at),
        last_heartbeat=timestamp(row.last_heartbeat),
        heartbeat_age=round(seen.heartbeat_age, 3),
        reported=row.reported,
    )


async def steer(
    context: EngineContext, name: str, state: WorkerState, *, actor: str, reason: str | None
) -> bool:
    """Pauses, drains or resumes a worker. Returns False if it was in that state already."""
    async with context.transaction() as tx:
        known = await workers.lock_worker(tx, name)
        if known is None:
            raise _no_worker(name, await workers.list_worker_names(tx))
        if known.state == "gone" and known.wanted == "active" and state != "paused":
            raise Conflict(
                f"worker {name} is gone",
                remedy="a worker that starts under its name is active; `tenax workers` lists those that are here",
            )
        if known.wanted == state and not _is_news(known, state):
            return False
        if known.state == "draining" and state == "paused":
            raise Conflict(
                f"worker {name} is draining: it gets nothing new already",
                remedy="resume it first, if it is to stay",
            )
        if known.state not in (state, "gone"):
            check("worker", known.state, state)
        await workers.set_worker_state(tx, name, state, reason=reason, actor=actor)
        if state == "active":
            await worker_health.clear_workers(tx, [name])
        data = OperatorData(action=_ACTIONS[state], worker=name, actor=actor, reason=reason)
        await workers.log_action(tx, event(OperatorAction, data=data))
    context.notifier.announce(ready=True, fleet=True)
    return True


async def release_name(context: EngineContext, name: str, *, actor: str, reason: str | None) -> bool:
    """Lets the next worker that registers under the name have it, with any token. Returns False if the name was free
    already."""
    async with context.transaction() as tx:
        if await workers.lock_worker(tx, name) is None:
            raise _no_worker(name, await workers.list_worker_names(tx))
        if not await workers.release_worker_name(tx, name):
            return False
        data = OperatorData(action="worker_release", worker=name, actor=actor, reason=reason)
        await workers.log_action(tx, event(OperatorAction, data=data))
    return True


def _is_news(known: LockedWorker, state: WorkerState) -> bool:
    """Returns whether the state changes anything. To resume a sick worker clears its record, and to drain a worker that
    the server keeps drained lets it leave now."""
    if state == "active":
        return known.health != "healthy"
    return state == "draining" and known.state_actor == SERVER_ACTOR


def _no_worker(name: str, known: Sequence[str]) -> NotFound:
    return NotFound(
        f"there is no worker {name!r}{suggest(name, known)}", remedy="`tenax workers --all` lists them"
    )
