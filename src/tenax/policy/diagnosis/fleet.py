"""Diagnoses a worker that gets no work, and a queue that does not move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from tenax.model.diagnosis import Diagnosis, Door, Remedy
from tenax.model.durations import format_duration
from tenax.model.fleet.queue_limits import rate_words
from tenax.model.fleet.views import Queue, Worker, WorkerInFull
from tenax.policy.diagnosis.words import for_time, in_time, number_of
from tenax.policy.dispatch.why_unserved import LiveWorker, Want, why_unserved


class ReadyKind(NamedTuple):
    """Counts ready items of a queue that ask for the same runtime and labels."""

    queue: str
    runtime: str
    labels: Mapping[str, str]
    items: int
    since: datetime


class QueueFacts(NamedTuple):
    """The state of a queue: its counts, the kinds of its ready items, and how much of its rate is left."""

    queue: Queue
    kinds: Sequence[ReadyKind]
    tokens: float | None
    next_at: str | None
    """When the next retry is due."""


def diagnose_worker(worker: WorkerInFull, kinds: Sequence[ReadyKind], now: str, lease: float) -> Diagnosis:
    """Diagnoses a worker. `kinds` has the ready work of its queues. A worker that was not heard of for `lease` seconds
    is not live."""
    doors = [*_state(worker, now), *_heartbeat(worker, lease), *_health(worker, now), *_slots(worker)]
    if not doors:
        doors = list(_work(worker, kinds))
    about, evidence = f"worker {worker.name}", list(_worker_evidence(worker))
    if not doors:
        sentence = (
            f"Worker {worker.name} gets work: it uses {worker.queue_depth} of its {worker.slots} slots."
        )
        return Diagnosis(about=about, sentence=sentence, evidence=evidence)
    return _behind(doors, about, f"Worker {worker.name} gets no work", "That ends", now, evidence)


def _behind(
    doors: Sequence[Door], about: str, state: str, opening: str, now: str, evidence: Sequence[str]
) -> Diagnosis:
    """Returns the diagnosis of a worker or a queue behind closed doors. The first door explains it."""
    first = doors[0]
    return Diagnosis(
        about=about,
        sentence=f"{state}: {first.reason}.",
        doors=list(doors),
        next=f"{opening} {in_time(first.opens_at, now)}." if first.opens_at is not None else None,
        remedies=first.remedies,
        evidence=list(evidence),
    )


def _state(worker: Worker, now: str) -> Iterator[Door]:
    if worker.state == "active":
        return
    since = f" {for_time(worker.state_since, now)}" if worker.state_since is not None else ""
    by = f" by {worker.state_actor}" if worker.state_actor is not None else ""
    why = f": {worker.state_reason}" if worker.state_reason else ""
    if worker.state == "gone":
        age = format_duration(round(worker.heartbeat_age, 1))
        reason, remedies = f"it is gone; its last heartbeat came {age} ago", [Remedy(words="start it again")]
    else:
        reason = f"it has been {worker.state}{since}{by}{why}"
        remedies = [Remedy(words="give it work again", command=["workers", "resume", worker.name])]
    yield Door(door="state", subject=f"worker {worker.name}", reason=reason, remedies=remedies)


def _heartbeat(worker: Worker, lease: float) -> Iterator[Door]:
    if worker.state == "gone" or worker.heartbeat_age < lease:
        return
    age, limit = format_duration(round(worker.heartbeat_age, 1)), format_duration(lease)
    yield Door(
        door="heartbeat",
        subject=f"worker {worker.name}",
        reason=f"its last heartbeat came {age} ago, and after {limit} it counts as lost",
        remedies=[Remedy(words="look at its process, its machine and its network")],
    )


def _health(worker: WorkerInFull, now: str) -> Iterator[Door]:
    if worker.health != "unhealthy":
        return
    column = next((one for one in worker.columns if one.column == worker.health_column), None)
    which = f"{worker.health_column}"
    if column is not None:
        which = f"{column.column} is {_shown(column.value)}, and {_shown(column.unhealthy_at)} is too much"
    probe = (
        f"; it gets one item as a probe {in_time(worker.probe_at, now)}"
        if worker.probe_at is not None
        else ""
    )
    yield Door(
        door="health",
        subject=f"worker {worker.name}",
        reason=f"it is unhealthy ({which}){probe}",
        opens_at=worker.probe_at,
        remedies=[Remedy(words="forget its failures", command=["workers", "resume", worker.name])],
    )


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _slots(worker: WorkerInFull) -> Iterator[Door]:
    if worker.queue_depth < worker.slots:
        return
    oldest = min(worker.leases, key=lambda lease: lease.started_at, default=None)
    example = (
        f" (the longest: step {oldest.step} of execution {oldest.execution_id})" if oldest is not None else ""
    )
    yield Door(
        door="slots",
        subject=f"worker {worker.name}",
        reason=f"all of its slots ({worker.slots}) are in use{example}",
        remedies=[Remedy(words="see what it runs", command=["workers", "show", worker.name])],
    )


def _work(worker: Worker, kinds: Sequence[ReadyKind]) -> Iterator[Door]:
    """Yields the door of a worker that takes work: there is none for it."""
    if worker.queue_depth > 0:
        return
    subject, queues = f"worker {worker.name}", ", ".join(worker.queues)
    if worker.serves is not None:
        reason = f"it serves only execution {worker.serves} with its children, which have nothing ready"
        yield Door(door="work", subject=subject, reason=reason)
        return
    served = [kind for kind in kinds if kind.queue in worker.queues]
    if not served:
        yield Door(door="work", subject=subject, reason=f"nothing is ready in its queues ({queues})")
        return
    own = [_live(worker)]
    reasons = [why_unserved(Want(kind.queue, kind.runtime, kind.labels), own) for kind in served]
    if None not in reasons:
        items = sum(kind.items for kind in served)
        ready = number_of(items, "item is", "items are")
        reason = (
            f"{ready} ready in its queues ({queues}), but it is able to run none of them: {_asked(served[0])}"
        )
        yield Door(door="work", subject=subject, reason=reason)


def _asked(kind: ReadyKind) -> str:
    labels = ", ".join(f"{name}={value}" for name, value in sorted(kind.labels.items()))
    return f"they ask for the runtime {kind.runtime}{f' and the labels {labels}' if labels else ''}"


def _live(worker: Worker) -> LiveWorker:
    return LiveWorker(
        worker.name,
        tuple(worker.queues),
        tuple(worker.runtimes),
        worker.labels,
        worker.state,
        worker.health,
        own=worker.serves is not None,
    )


def _worker_evidence(worker: WorkerInFull) -> Iterator[str]:
    labels = ", ".join(f"{name}={value}" for name, value in sorted(worker.labels.items()))
    yield f"queues: {', '.join(worker.queues)}; runtimes: {', '.join(worker.runtimes)}{f'; labels: {labels}' if labels else ''}"
    yield f"state {worker.state}, health {worker.health}, last heartbeat {format_duration(round(worker.heartbeat_age, 1))} ago"
    yield f"slots: {worker.queue_depth} of {worker.slots} in use"


def diagnose_queue(facts: QueueFacts, workers: Sequence[Worker], now: str) -> Diagnosis:
    """Diagnoses a queue. `workers` has all live workers."""
    queue = facts.queue
    serving = [one for one in workers if queue.queue in one.queues]
    about = f"queue {queue.queue}"
    doors = [
        *_queue_limits(facts),
        *_unserved(facts, serving, workers),
        *_full(queue, facts, serving),
        *_queue_work(facts, now),
    ]
    evidence = [
        f"items: {queue.ready:,} ready, {queue.running:,} running, {queue.blocked:,} at limits, {queue.waiting:,} to retry",
        *(
            f"worker {one.name}: {one.state}, {one.health}, {one.queue_depth} of {one.slots} slots"
            for one in serving[:10]
        ),
    ]
    if not doors:
        running, ready = (
            number_of(queue.running, "item runs", "items run"),
            number_of(queue.ready, "is", "are"),
        )
        sentence = f"Queue {queue.queue} moves: {running}, and {ready} ready."
        return Diagnosis(about=about, sentence=sentence, evidence=evidence)
    return _behind(doors, about, f"Queue {queue.queue} does not move", "It goes on", now, evidence)


def _queue_limits(facts: QueueFacts) -> Iterator[Door]:
    queue = facts.queue
    subject = f"queue {queue.queue}"
    if queue.paused_by is not None:
        why = f": {queue.paused_why}" if queue.paused_why else ""
        go_on = [Remedy(words="let it go on", command=["queues", "resume", queue.queue])]
        reason = f"it is paused by {queue.paused_by}{why}"
        yield Door(door="pause", subject=subject, reason=reason, remedies=go_on)
    if not queue.ready + queue.blocked:
        return
    change = [Remedy(words="change its limits", command=["queues", "limit", queue.queue])]
    if queue.concurrency is not None and queue.running >= queue.concurrency:
        reason = (
            f"{number_of(queue.running, 'item runs', 'items run')}, and its limit is {queue.concurrency:,}"
        )
        yield Door(door="limit", subject=subject, reason=reason, remedies=change)
    elif queue.rate is not None and facts.tokens is not None and facts.tokens < 1:
        reason = f"its rate, {rate_words(queue.rate)}, is used up for now"
        yield Door(door="limit", subject=subject, reason=reason, remedies=change)
    elif queue.blocked and not queue.ready:
        waiting = number_of(queue.blocked, "item waits", "items wait")
        reason = f"{waiting} at the concurrency limits of their steps"
        yield Door(door="limit", subject=subject, reason=reason)


def _unserved(facts: QueueFacts, serving: Sequence[Worker], workers: Sequence[Worker]) -> Iterator[Door]:
    """Yields a door for each kind of ready work that no live worker takes."""
    queue = facts.queue
    live = [_live(worker) for worker in workers if worker in serving or worker.serves is None]
    for kind in facts.kinds:
        why = why_unserved(Want(kind.queue, kind.runtime, kind.labels), live)
        if why is None:
            continue
        paused = [one.name for one in serving if one.state == "paused"]
        start = ["worker", "--queue", queue.queue]
        remedy = (
            Remedy(words="give the worker work again", command=["workers", "resume", paused[0]])
            if paused
            else Remedy(words="start a worker that is able to run them", command=start)
        )
        reason = f"{number_of(kind.items, 'item is', 'items are')} ready, and {why}"
        yield Door(door="worker", subject=f"queue {queue.queue}", reason=reason, remedies=[remedy])


def _full(queue: Queue, facts: QueueFacts, serving: Sequence[Worker]) -> Iterator[Door]:
    """Yields the door of ready work whose workers have no free slot."""
    active = [one for one in serving if one.state == "active"]
    if facts.kinds and active and all(one.queue_depth >= one.slots for one in active):
        slots = sum(one.slots for one in active)
        reason = f"all slots ({slots:,}) of its workers are in use"
        more = Remedy(words="start more workers", command=["worker", "--queue", queue.queue])
        yield Door(door="slots", subject=f"queue {queue.queue}", reason=reason, remedies=[more])


def _queue_work(facts: QueueFacts, now: str) -> Iterator[Door]:
    queue = facts.queue
    if queue.ready or queue.running or queue.blocked:
        return
    subject = f"queue {queue.queue}"
    if queue.waiting and facts.next_at is not None:
        waiting = number_of(queue.waiting, "item waits", "items wait")
        reason = (
            f"nothing is ready; {waiting} for a retry, the first one is due {in_time(facts.next_at, now)}"
        )
        yield Door(door="due", subject=subject, reason=reason, opens_at=facts.next_at)
    else:
        yield Door(door="work", subject=subject, reason="it has no work")
