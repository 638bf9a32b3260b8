"""Turns the edges between steps into `needs`, `when` and `on_failure`.

In Tenax a skipped step satisfies the steps that need it. In the other systems a step that is not reached starts no other. So if
a step may not be reached, the steps after it get a condition on its state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tenax.dialects.native.names import of_step
from tenax.dialects.native.workflow import ForeignText, NativeWorkflow, Step
from tenax.model.source.findings import Path

On = Literal["completed", "failed", "any"]
_STATES: Mapping[On, str] = {
    "completed": "== 'completed'",
    "failed": "== 'failed'",
    "any": "in ['completed', 'failed']",
}


@dataclass(frozen=True, slots=True)
class Edge:
    """Leads from one step to another. The names are those of the other system."""

    source: str
    """The step before. Empty if the edge comes from the start."""
    on: On = "completed"
    when: str | None = None
    """A condition as an expression of Tenax."""
    path: Path = ()
    original: str = ""

    @property
    def is_plain(self) -> bool:
        return self.on == "completed" and self.when is None


Edges = Mapping[str, Sequence[Edge]]


class Ways:
    """Collects the edges between steps. None of them leads back to an earlier step."""

    def __init__(self) -> None:
        self.into: dict[str, list[Edge]] = {}
        self._sources: set[str] = set()

    def add(self, target: str, edge: Edge) -> bool:
        """Adds an edge. Returns False if it would lead back to an earlier step."""
        if self._leads_back(target, edge.source):
            return False
        self._sources.add(edge.source)
        self.into.setdefault(target, []).append(edge)
        return True

    def _leads_back(self, target: str, source: str) -> bool:
        """Returns whether the target runs before the source. A step from which no edge leads on runs before no other."""
        if target not in self._sources:
            return target == source
        pending, seen = [source], set()
        while pending:
            one = pending.pop()
            if one == target:
                return True
            if one not in seen:
                seen.add(one)
                pending += [edge.source for edge in self.into.get(one, ())]
        return False


def place_steps(
    workflow: NativeWorkflow,
    steps: Mapping[str, Step],
    edges: Edges,
    *,
    join: Callable[[str], bool] = lambda _: False,
) -> None:
    """Gives the steps their needs and conditions. The steps in `join` wait for all edges that lead to them, the others for
    one."""
    fallbacks = _fallbacks(steps, edges)
    for source, target in fallbacks.items():
        steps[source]["on_failure"] = {"step": steps[target]["step"]}
    for incoming in edges.values():
        for edge in incoming:
            if edge.on != "completed" and edge.source in steps:
                steps[edge.source].setdefault("on_failure", "continue")
    uncertain = _uncertain(steps, edges, fallbacks)
    for name, step in steps.items():
        incoming = [
            edge
            for edge in edges.get(name, ())
            if fallbacks.get(edge.source) != name and edge.source in steps
        ]
        if not incoming:
            _start(step, [edge for edge in edges.get(name, ()) if not edge.source])
            continue
        step["needs"] = list(dict.fromkeys(str(steps[edge.source]["step"]) for edge in incoming))
        if name in uncertain and (text := _condition(steps, incoming, uncertain, all_of=join(name))):
            _set_when(step, text, incoming)
        elif len(incoming) > 1 and not join(name):
            sentence = f"waits for all of {', '.join(step['needs'])}; there each of them starts it"
            workflow.notes.add("changed", incoming[0].path, f"`{step['step']}` {sentence}")


def _start(step: Step, ways: Sequence[Edge]) -> None:
    """Gives a first step its condition, if all edges to it have one."""
    if ways and all(edge.when for edge in ways):
        _set_when(step, " or ".join(f"({edge.when})" for edge in ways), ways)


def _set_when(step: Step, text: str, ways: Sequence[Edge]) -> None:
    own = step.get("when")
    both = f"({text}) and ({own})" if own else text
    step["when"] = ForeignText(both, _original(ways) or text, ways[0].path)


def _fallbacks(steps: Mapping[str, Step], edges: Edges) -> dict[str, str]:
    """Returns the fallback of each step: the one step that its failure leads to, if nothing else leads there."""
    targets: dict[str, list[str]] = {}
    for target, incoming in edges.items():
        for edge in incoming:
            if edge.on == "failed":
                targets.setdefault(edge.source, []).append(target)
    return {
        source: named[0]
        for source, named in targets.items()
        if source in steps and len(named) == 1 and named[0] in steps and _is_only_for(edges[named[0]])
    }


def _is_only_for(incoming: Sequence[Edge]) -> bool:
    return len(incoming) == 1 and incoming[0].when is None


def _uncertain(steps: Mapping[str, Step], edges: Edges, fallbacks: Mapping[str, str]) -> set[str]:
    """Returns the steps that may not be reached."""
    found = set(fallbacks.values())
    while True:
        more = {
            name
            for name in steps
            if name not in found
            and any(
                not edge.is_plain or edge.source in found or "on_failure" in steps.get(edge.source, {})
                for edge in edges.get(name, ())
            )
        }
        if not more:
            return found
        found |= more


def _condition(
    steps: Mapping[str, Step], incoming: Sequence[Edge], uncertain: set[str], *, all_of: bool
) -> str | None:
    parts = [_edge_words(steps, edge, uncertain, alone=len(incoming) == 1) for edge in incoming]
    if all_of:
        parts = [part for part in parts if part]
    if not parts or not all(parts):
        return None
    return (
        parts[0] if len(parts) == 1 else (" and " if all_of else " or ").join(f"({part})" for part in parts)
    )


def _edge_words(steps: Mapping[str, Step], edge: Edge, uncertain: set[str], *, alone: bool) -> str:
    source = steps[edge.source]
    words = []
    certain = edge.source not in uncertain and "on_failure" not in source
    if not (alone and edge.on == "completed" and certain):
        words.append(f"{of_step(str(source['step']), 'status')} {_STATES[edge.on]}")
    if edge.when:
        words.append(f"({edge.when})" if words else edge.when)
    return " and ".join(words)


def _original(incoming: Sequence[Edge]) -> str:
    return next((edge.original for edge in incoming if edge.original), "")
