"""Draws the graph of a workflow as text, Mermaid or SVG, with the states of the steps if it has run.

The same graph always gives the same drawing. Apart from sorting, the time is linear in the steps and edges. There is no recursion.
"""

from __future__ import annotations

import html
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tenax.drawing.graph_words import State, printable_line, words_of
from tenax.model.definition.workflow import Workflow
from tenax.policy.graph import fallbacks_of, topological_order

States = Mapping[str, State]
"""The states of steps by their name."""


@dataclass(frozen=True, slots=True)
class Colours:
    """Holds the colours of a box. Dark text on `fill` is readable, and the status is also written as a word."""

    fill: str
    stroke: str


UNKNOWN = Colours("#ffffff", "#57606a")
COLOURS: Mapping[str, Colours] = {
    "pending": Colours("#f6f8fa", "#8c959f"),
    "queued": Colours("#ddf4ff", "#54aeff"),
    "running": Colours("#b6e3ff", "#0969da"),
    "retrying": Colours("#fff8c5", "#bf8700"),
    "held": Colours("#fbefff", "#8250df"),
    "completed": Colours("#dafbe1", "#1a7f37"),
    "failed": Colours("#ffcecb", "#cf222e"),
    "skipped": Colours("#eaeef2", "#8c959f"),
    "unreachable": Colours("#ffebe9", "#ff8182"),
    "cancelled": Colours("#eedfff", "#a475f9"),
    "paused": Colours("#fbefff", "#8250df"),
}
INK, LINE = "#1f2328", "#6e7781"
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


# The drawing as SVG: a column for each layer, from left to right.

_NAME_CHAR, _DETAIL_CHAR = 8.0, 6.8
"""The widths of a letter in pixels: 0.6 of a monospaced font's size, and a little room."""
_BOX_HEIGHT, _ROW, _LANE, _GAP, _MARGIN, _TITLE = 44, 64, 20, 64, 24, 40
_MAX_NAME = 40

_Point = tuple[str, int]
"""A step and a layer: its own layer, which has its box, or a later one, which its lane crosses on the way to a step that needs it."""


def draw_svg(drawing: Drawing) -> str:
    """Draws SVG that needs nothing else: no scripts, fonts or styles. It is pure ASCII."""
    lanes = _lanes(drawing)
    heights = _heights(drawing, lanes)
    columns, right = _columns(drawing)
    top, bottom = min(heights.values(), default=0), max(heights.values(), default=0)
    shift = _MARGIN + _TITLE + _BOX_HEIGHT / 2 - top
    placed = {place: round(y + shift) for place, y in heights.items()}
    width = max(right, 2 * _MARGIN + len(drawing.title) * 10)
    height = round(bottom + shift + _BOX_HEIGHT / 2 + _MARGIN)
    lines = [
        _opening(drawing.title, width, height),
        f'<g fill="none" stroke="{LINE}" stroke-width="1.5">',
        *_trunks(drawing, lanes, placed, columns),
        *_arrows(drawing, placed, columns),
        "</g>",
        *(_box(node, columns[node.layer], placed[node.name, node.layer]) for node in drawing.nodes.values()),
        "</svg>",
    ]
    return "\n".join(lines).encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n"


def _opening(title: str, width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' role="img" font-family="ui-monospace, Menlo, Consolas, monospace">\n'
        f"<title>{_xml(title)}</title>\n"
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>\n'
        '<rect width="100%" height="100%" fill="#ffffff"/>\n'
        f'<text x="{_MARGIN}" y="{_MARGIN + 16}" font-size="16" font-weight="bold" fill="{INK}">{_xml(title)}</text>'
    )


def _lanes(drawing: Drawing) -> dict[str, int]:
    """Returns the last layer that the lane of a step crosses, for each step that is needed beyond the next layer.

    Without a lane, such an arrow would run behind the boxes in between, and seem to belong to them. All arrows of a step share its
    lane. The number of lanes is limited, so that the drawing stays linear. The arrows of the other steps go straight.
    """
    farthest: dict[str, int] = {}
    edges = 0
    for node in drawing.nodes.values():
        for need in node.needs:
            farthest[need] = max(farthest.get(need, 0), node.layer - 1)
            edges += 1
    room = 1000 + 4 * (len(drawing.nodes) + edges)
    lanes = {}
    for name, last in farthest.items():
        length = last - drawing.nodes[name].layer
        if 0 < length <= room:
            room -= length
            lanes[name] = last
    return lanes


def _heights(drawing: Drawing, lanes: Mapping[str, int]) -> dict[_Point, float]:
    """Returns the height of each point: near the middle of the points that lead to it, and without overlaps."""
    layers: list[list[_Point]] = [[] for _ in range(_layer_count(drawing))]
    for node in drawing.nodes.values():
        layers[node.layer].append((node.name, node.layer))
        for layer in range(node.layer + 1, lanes.get(node.name, 0) + 1):
            layers[layer].append((node.name, layer))
    heights: dict[_Point, float] = {}
    for layer, places in enumerate(layers):
        wished = {place: _wish(drawing, heights, place) for place in places}
        places.sort(
            key=wished.__getitem__
        )  # the sort is stable: points with the same wish stay in the order of the file
        free = -float("inf")
        for place in places:
            half = (_ROW if drawing.nodes[place[0]].layer == layer else _LANE) / 2
            heights[place] = max(wished[place], free + half)
            free = heights[place] + half
        # Overlaps were only resolved downwards, so the layer as a whole moves back to the middle of its wishes.
        back = sum(heights[place] - wished[place] for place in places) / len(places)
        for place in places:
            heights[place] -= back
    return heights


def _layer_count(drawing: Drawing) -> int:
    return 1 + max((node.layer for node in drawing.nodes.values()), default=-1)


def _wish(drawing: Drawing, heights: Mapping[_Point, float], place: _Point) -> float:
    name, layer = place
    node = drawing.nodes[name]
    if layer > node.layer:
        return heights[name, layer - 1]
    before = [heights[_origin(drawing, heights, need, layer)] for need in node.needs]
    return sum(before) / len(before) if before else 0.0


def _origin(drawing: Drawing, heights: Mapping[_Point, float], need: str, layer: int) -> _Point:
    """Returns where the arrow into a step of this layer begins: at the lane of the needed step, or at its box."""
    lane = (need, layer - 1)
    return lane if lane in heights else (need, drawing.nodes[need].layer)


def _columns(drawing: Drawing) -> tuple[list[tuple[int, int]], int]:
    """Returns the left edge and the width of each layer's boxes, and the right edge of the drawing."""
    widths = [0.0] * _layer_count(drawing)
    for node in drawing.nodes.values():
        name, details = len(_shown(node.name)), len(", ".join(node.details))
        widths[node.layer] = max(widths[node.layer], 24 + max(name * _NAME_CHAR, details * _DETAIL_CHAR))
    columns = []
    left = _MARGIN
    for width in widths:
        columns.append((left, round(width)))
        left += round(width) + _GAP
    return columns, left - (_GAP if columns else 0) + _MARGIN


def _trunks(
    drawing: Drawing, lanes: Mapping[str, int], placed: Mapping[_Point, int], columns: list[tuple[int, int]]
) -> Iterator[str]:
    for name, last in lanes.items():
        first = drawing.nodes[name].layer
        x, y = sum(columns[first]), placed[name, first]
        path = [f"M{x} {y}"]
        for layer in range(first + 1, last + 1):
            left, width = columns[layer]
            path.append(f"{_curve(x, y, left, placed[name, layer])} H{left + width}")
            x, y = left + width, placed[name, layer]
        yield f'<path d="{" ".join(path)}"/>'


def _arrows(drawing: Drawing, placed: Mapping[_Point, int], columns: list[tuple[int, int]]) -> Iterator[str]:
    for node in drawing.nodes.values():
        left, y = columns[node.layer][0], placed[node.name, node.layer]
        for need in node.needs:
            origin = _origin(drawing, placed, need, node.layer)
            x = sum(columns[origin[1]])
            path = f"M{x} {placed[origin]} {_curve(x, placed[origin], left, y)}"
            dashes = ' stroke-dasharray="5 4"' if need == node.stands_in_for else ""
            yield f'<path d="{path}" marker-end="url(#arrow)"{dashes}/>'
            if dashes:
                yield _arrow_label((x + left) // 2, (placed[origin] + y) // 2)


def _arrow_label(x: int, y: int) -> str:
    return (
        f'<text x="{x}" y="{y - 5}" font-size="9" text-anchor="middle" fill="{INK}" stroke="none">'
        f"{ON_FAILURE}</text>"
    )


def _curve(x: int, y: int, to_x: int, to_y: int) -> str:
    middle = (x + to_x) // 2
    return f"C{middle} {y} {middle} {to_y} {to_x} {to_y}"


def _box(node: DrawnStep, column: tuple[int, int], y: int) -> str:
    left, width = column
    colours = COLOURS.get(node.status or "", UNKNOWN)
    top = y - _BOX_HEIGHT // 2
    return (
        f"<g><title>{_xml(node.name)}</title>"
        f'<rect x="{left}" y="{top}" width="{width}" height="{_BOX_HEIGHT}" rx="{20 if node.goal else 6}"'
        f' fill="{colours.fill}" stroke="{colours.stroke}" stroke-width="{3 if node.goal else 1.5}"/>'
        f'<text x="{left + 12}" y="{top + 18}" font-size="13" font-weight="bold" fill="{INK}">'
        f"{_xml(_shown(node.name))}</text>"
        f'<text x="{left + 12}" y="{top + 35}" font-size="11" fill="{INK}">{_xml(", ".join(node.details))}</text></g>'
    )


def _shown(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 3]}..."


def _xml(text: str) -> str:
    return html.escape(printable_line(text))
