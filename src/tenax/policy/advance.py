"""Advances a graph when steps end. The cost depends on what has changed and not on the size of the graph."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tenax.policy.plan import Plan

EndState = Literal["completed", "failed", "skipped"]


@dataclass(slots=True)
class Ending:
    """Is the end of a step, which will not run any more."""

    step: str
    state: EndState


@dataclass(slots=True)
class Progress:
    """Holds the consequences of ended steps: the steps that may start, the steps that nothing can start any more, and changed counters."""

    ready: list[str] = field(default_factory=list)
    unreachable: dict[str, str] = field(default_factory=dict)
    """Unreachable steps, each with the failed step that cut it off."""
    waiting: dict[str, int] = field(default_factory=dict)
    """The number of steps that each affected join still waits for."""


def touched_by(plan: Plan, endings: Iterable[Ending]) -> Generator[None, None, set[str]]:
    """Finds the steps whose stored counters or states `advance` must see: joins behind these endings, and everything
    that they cut off. Yields after each step."""
    found: set[str] = set()
    cut_off: set[str] = set()
    for ending in endings:
        if ending.state == "failed":
            _descendants(plan, ending.step, cut_off)
        else:
            found.update(
                name for name in plan.steps[ending.step].dependents if len(plan.steps[name].step.needs) > 1
            )
        yield
    return found | cut_off


def advance(
    plan: Plan, endings: Iterable[Ending], waiting: Mapping[str, int], closed: Iterable[str]
) -> Generator[None, None, Progress]:
    """Finds the consequences of these endings, and yields after each.

    `waiting` has the counters stored so far: a join that is not in it is untouched. `closed` has the steps that are cut
    off already.
    """
    progress = Progress()
    closed = frozenset(closed)
    shut = set(closed)
    for ending in endings:
        yield
        if ending.state == "failed":
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


def _descendants(plan: Plan, start: str, seen: set[str]) -> list[str]:
    """Finds the steps behind one, without those seen before and the steps that only they lead to. Adds
    them to `seen`."""
    found: list[str] = []
    frontier = [start]
    while frontier:
        for name in plan.steps[frontier.pop()].dependents:
            if name not in seen:
                seen.add(name)
                found.append(name)
                frontier.append(name)
    return found
