"""Explains why no worker takes an item: which of its requirements no live worker meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenax.model.fleet.health import Health, WorkerState

NAMED = 5
"""The most idle workers that are named."""


@dataclass(frozen=True, slots=True)
class LiveWorker:
    """Describes a worker that is alive."""

    name: str
    queues: tuple[str, ...]
    runtimes: tuple[str, ...]
    labels: Mapping[str, str]
    state: WorkerState
    health: Health
    own: bool = False
    """True if the worker works for this execution alone. Queue, labels and health then do not matter."""


@dataclass(frozen=True, slots=True)
class Want:
    """Holds the requirements of an item."""

    queue: str
    runtime: str
    labels: Mapping[str, str]


def why_unserved(want: Want, live: Sequence[LiveWorker]) -> str | None:
    """Returns the reason in plain words, or None if an able worker is there."""
    if not live:
        return "no worker is live"
    with_runtime = [w for w in live if want.runtime in w.runtimes]
    if not with_runtime:
        return f"no live worker has the runtime {want.runtime} (queue {want.queue})"
    of_queue = [w for w in with_runtime if w.own or want.queue in w.queues]
    if not of_queue:
        return f"no live worker with the runtime {want.runtime} serves the queue {want.queue}"
    able = [w for w in of_queue if w.own or want.labels.items() <= w.labels.items()]
    if not able:
        labels = ", ".join(f"{name}={value}" for name, value in sorted(want.labels.items()))
        return f"no live worker of the queue {want.queue} with the runtime {want.runtime} has the labels {labels}"
    if any(w.state == "active" and (w.own or w.health != "unhealthy") for w in able):
        return None
    how = ", ".join(f"{w.name} is {w.state if w.state != 'active' else w.health}" for w in able[:NAMED])
    more = f" and {len(able) - NAMED} more" if len(able) > NAMED else ""
    return f"no worker that is able to run it takes work: {how}{more}"
