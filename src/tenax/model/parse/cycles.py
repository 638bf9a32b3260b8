"""Finds circles of steps that wait for each other. Does not recurse, since a chain may be ten thousand steps long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

_MOST_SHOWN = 12
_MOST_CLOSED = 100
"""The number of circles after which the search ends. A hostile file may have very many."""


def find_cycles(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Returns circles that share no step. Each is in the order in which its steps would run, from the step that comes first in the file."""
    position = {name: index for index, name in enumerate(needs)}
    cycles: list[list[str]] = []
    in_cycle: set[str] = set()
    for trail in _closed_trails(needs):
        if in_cycle.isdisjoint(trail):
            in_cycle.update(trail)
            cycles.append(_in_running_order(trail, position))
    return cycles


def _closed_trails(needs: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Searches depth first along the needs of the steps. Yields the trail from a step back to itself."""
    seen: set[str] = set()
    closed = 0
    for root in needs:
        trail, pending, on_trail = [root], [iter(needs[root])], {root}
        if root in seen:
            continue
        seen.add(root)
        while trail:
            need = next(pending[-1], None)
            if need is None:
                on_trail.discard(trail.pop())
                pending.pop()
            elif need in on_trail:
                yield trail[trail.index(need) :]
                closed += 1
                if closed == _MOST_CLOSED:
                    return
            elif need not in seen:
                seen.add(need)
                trail.append(need)
                pending.append(iter(needs[need]))
                on_trail.add(need)


def _in_running_order(trail: Sequence[str], position: Mapping[str, int]) -> list[str]:
    cycle = list(reversed(trail))
    first = min(range(len(cycle)), key=lambda index: position[cycle[index]])
    return cycle[first:] + cycle[:first]


def show_cycle(cycle: Sequence[str]) -> str:
    """Returns a circle as text, such as `a -> b -> c -> a`. Leaves out the middle of a long one."""
    names = [*cycle, cycle[0]]
    if len(names) > _MOST_SHOWN:
        names = [*names[: _MOST_SHOWN - 3], f"({len(names) - _MOST_SHOWN + 1} more)", *names[-2:]]
    return " -> ".join(names)
