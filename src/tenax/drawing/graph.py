"""Draws the graph of a workflow as text or Mermaid, with the states of the steps if it has run.

The same graph always gives the same drawing. Apart from sorting, the time is linear in the steps and edges. There is no recursion.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tenax.drawing.colours import COLOURS, INK
from tenax.drawing.graph_words import State, printable_line, words_of
from tenax.model.definition.workflow import Workflow
from tenax.policy.graph import fallbacks_of, topological_order

States = Mapping[str, State]
"""The states of steps by their name."""


ON_FAILURE = "on failure"
"""The label of the arrow to a fallback."""


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """Describes one step of the drawing."""

    name: str
    details: tuple[str, ...]
    """Its type, items, status and attempts, what replaces its failure, and whether it is a goal."""
    needs: tuple[str, ...]
    stands_in_for: str | None
    """The step for which it is the fallback, one of its needs."""
    layer: int
    """The length of the longest path to it. A step is drawn behind all of its needs."""
    goal: bool
    status: str | None
    steps: int = 1
    """The number of steps that it stands for. More than 1 in a summary."""


@dataclass(frozen=True, slots=True)
class Drawing:
    title: str
    nodes: Mapping[str, DrawnStep]
    """The steps in the order of the file."""


def drawing_of(
    workflow: Workflow, *, title: str | None = None, goals: Collection[str] = (), states: States | None = None
) -> Drawing:
    """Prepares a drawing. Marks the steps in `goals`, and those that are goals in the states of an execution."""
    marked = frozenset(goals)
    needs = {step.name: step.needs for step in workflow.steps}
    layers: dict[str, int] = {}
    for name in topological_order(workflow):
        layers[name] = 1 + max((layers[need] for need in needs[name]), default=-1)
    replaced = {fallback: name for name, fallback in fallbacks_of(workflow).items()}
    nodes = {}
    for step in workflow.steps:
        state = (states or {}).get(step.name)
        goal = step.name in marked or bool(state and state.get("goal"))
        nodes[step.name] = DrawnStep(
            name=step.name,
            details=tuple(printable_line(detail) for detail in words_of(step, state, goal=goal)),
            needs=tuple(dict.fromkeys(step.needs)),
            stands_in_for=replaced.get(step.name),
            layer=layers[step.name],
            goal=goal,
            status=state["status"] if state else None,
        )
    return Drawing(printable_line(title or workflow.name), nodes)


def draw_text(drawing: Drawing) -> str:
    """Draws a line for each step, layer by layer. The steps of one layer do not wait for each other."""
    nodes = sorted(drawing.nodes.values(), key=lambda node: node.layer)
    number_width = len(str(nodes[-1].layer + 1)) if nodes else 0
    name_width = max((len(node.name) for node in nodes), default=0)
    details_width = max((len(", ".join(node.details)) for node in nodes), default=0)
    lines = [drawing.title]
    layer = -1
    for node in nodes:
        number = str(node.layer + 1) if node.layer > layer else ""
        layer = node.layer
        after = f"after {', '.join(_need_words(node, need) for need in node.needs)}" if node.needs else ""
        columns = (
            number.rjust(number_width),
            printable_line(node.name).ljust(name_width),
            ", ".join(node.details).ljust(details_width),
            after,
        )
        lines.append("  ".join(columns).rstrip())
    return "\n".join(lines) + "\n"


def _need_words(node: DrawnStep, need: str) -> str:
    return f"{printable_line(need)} ({ON_FAILURE})" if need == node.stands_in_for else printable_line(need)


def draw_mermaid(drawing: Drawing) -> str:
    """Draws a flowchart. The ids of steps are numbers, since a name such as `end` has a meaning in Mermaid."""
    ids = {name: f"s{index}" for index, name in enumerate(drawing.nodes)}
    by_status: dict[str, list[str]] = {}
    lines = ["---", f"title: {json.dumps(drawing.title)}", "---", "flowchart LR"]
    for node in drawing.nodes.values():
        label = f'"{_mermaid(node.name)}<br/>{_mermaid(", ".join(node.details))}"'
        lines.append(f"  {ids[node.name]}([{label}])" if node.goal else f"  {ids[node.name]}[{label}]")
        if node.status is not None and node.status in COLOURS:
            by_status.setdefault(node.status, []).append(ids[node.name])
    for node in drawing.nodes.values():
        lines += [f"  {ids[need]} {_mermaid_arrow(node, need)} {ids[node.name]}" for need in node.needs]
    for status, members in by_status.items():
        colours = COLOURS[status]
        lines.append(f"  classDef {status} fill:{colours.fill},stroke:{colours.stroke},color:{INK}")
        lines.append(f"  class {','.join(members)} {status}")
    return "\n".join(lines) + "\n"


def _mermaid_arrow(node: DrawnStep, need: str) -> str:
    return f"-.->|{ON_FAILURE}|" if need == node.stands_in_for else "-->"


def _mermaid(text: str) -> str:
    """Escapes a label. Characters that may have a meaning in Mermaid become `#NUMBER;`."""
    return "".join(c if c.isalnum() or c in " _-.,():" else f"#{ord(c)};" for c in printable_line(text))
