"""Where a graph goes on when steps end. Costs what has changed, not the size of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tenax.policy.plan import Plan

EndState = Literal["completed", "failed", "skipped"]


@dataclass(slots=True)
class Ending:
    """A step that will not run any more."""

    step: str
    state: EndState


@dataclass(slots=True)
class Progress:
    """What follows: steps whose needs are met, steps that nothing can start any more, counters that changed."""

    ready: list[str] = field(default_factory=list)
    unreachable: dict[str, str] = field(default_factory=dict)
    """Each with the failed step that cut it off."""
    waiting: dict[str, int] = field(default_factory=dict)
    """How many steps each touched join still waits for."""


def touched_by(plan: Plan, ending: Ending) -> Iterable[str]:
    """The steps whose stored counters or states `advance` must see: joins behind it, or all that it cuts off."""
    if ending.state == "failed":
        return _descendants(plan, ending.step, frozenset())
    return (d for d in plan.steps[ending.step].dependents if len(plan.steps[d].step.needs) > 1)


def advance(
    plan: Plan, endings: Iterable[Ending], waiting: Mapping[str, int], closed: frozenset[str]
) -> Progress:
    """`waiting`: the counters stored so far (a join not in it is untouched). `closed`: steps already cut off."""
    progress = Progress()
    for ending in endings:
        if ending.state == "failed":
            shut = closed | progress.unreachable.keys()
            for name in _descendants(plan, ending.step, shut):
                progress.unreachable[name] = ending.step
            continue
        for name in plan.steps[ending.step].dependents:
            needs = len(plan.steps[name].step.needs)
            left = progress.waiting.get(name, waiting.get(name, needs)) - 1
            progress.waiting[name] = left
            if left == 0 and name not in closed and name not in progress.unreachable:
                progress.ready.append(name)
    progress.ready = [name for name in progress.ready if name not in progress.unreachable]
    return progress


def _descendants(plan: Plan, start: str, closed: Iterable[str]) -> list[str]:
    seen = set(closed)
    found: list[str] = []
    frontier = [start]
    while frontier:
        for name in plan.steps[frontier.pop()].dependents:
            if name not in seen:
                seen.add(name)
                found.append(name)
                frontier.append(name)
    return found
