"""A workflow's graph for people's eyes: as text, as Mermaid, as SVG; with the steps' states where it has run.

The same graph always gives the same drawing, in time linear in its steps and edges (but for sorting), without recursion.
"""

from __future__ import annotations

import html
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tenax.drawing.graph_words import State, plain, words_of
from tenax.model.definition.workflow import Workflow
from tenax.policy.graph import fallbacks_of, topological_order

States = Mapping[str, State]
"""By the name of a step."""


@dataclass(frozen=True, slots=True)
class Colours:
    """Dark text on `fill` is readable for each of them, and the status stands there as a word as well."""

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
"""What stands at the arrow to a fallback."""


@dataclass(frozen=True, slots=True)
class Node:
    """One step as it is drawn."""

    name: str
    details: tuple[str, ...]
    """Its type, its items, its status and its attempts, what comes when it fails, and whether it is a goal."""
    needs: tuple[str, ...]
    stands_in_for: str | None
    """The one of its needs for which it is the fallback."""
    layer: int
    """The length of the longest way to it: a step stands behind all that it needs."""
    goal: bool
    status: str | None


@dataclass(frozen=True, slots=True)
class Drawing:
    title: str
    nodes: Mapping[str, Node]
    """In the order of the file."""


def drawing_of(
    workflow: Workflow, *, title: str | None = None, goals: Collection[str] = (), states: States | None = None
) -> Drawing:
    """`goals`: those to be marked, besides those that the states of an execution tell."""
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
        nodes[step.name] = Node(
            name=step.name,
            details=tuple(plain(detail) for detail in words_of(step, state, goal=goal)),
            needs=tuple(dict.fromkeys(step.needs)),
            stands_in_for=replaced.get(step.name),
            layer=layers[step.name],
            goal=goal,
            status=state["status"] if state else None,
        )
    return Drawing(plain(title or workflow.name), nodes)


def draw_text(drawing: Drawing) -> str:
    """A line for each step, layer by layer. The steps of one layer do not wait for each other."""
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
            plain(node.name).ljust(name_width),
            ", ".join(node.details).ljust(details_width),
            after,
        )
        lines.append("  ".join(columns).rstrip())
    return "\n".join(lines) + "\n"


def _need_words(node: Node, need: str) -> str:
    return f"{plain(need)} ({ON_FAILURE})" if need == node.stands_in_for else plain(need)


def draw_mermaid(drawing: Drawing) -> str:
    """A flowchart. Steps get numbers as their ids: a name such as `end` would mean something to Mermaid."""
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


def _mermaid_arrow(node: Node, need: str) -> str:
    return f"-.->|{ON_FAILURE}|" if need == node.stands_in_for else "-->"


def _mermaid(text: str) -> str:
    """Only what surely means nothing within a label; the rest as Mermaid's own `#NUMBER;`."""
    return "".join(c if c.isalnum() or c in " _-.,():" else f"#{ord(c)};" for c in plain(text))


# The drawing as SVG: a column for each layer, from left to right.

_NAME_CHAR, _DETAIL_CHAR = 8.0, 6.8
"""The widths of a letter: 0.6 of a monospaced font's size, and a little room."""
_BOX_HEIGHT, _ROW, _LANE, _GAP, _MARGIN, _TITLE = 44, 64, 20, 64, 24, 40
_LONGEST_NAME = 40

_Place = tuple[str, int]
"""A step and a layer: its own, where its box is; or a later one, which its lane crosses on the way to what needs it."""


def draw_svg(drawing: Drawing) -> str:
    """One file with nothing outside itself: no scripts, no fonts, no styles from elsewhere. Only ASCII."""
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
    """For each step that one beyond the next layer needs, the last layer that its lane crosses.

    Without a lane such an arrow would run behind the boxes between, and look like theirs. All arrows of a step share its
    lane. There is room for so many as keep the drawing linear; the arrows of the other steps go straight.
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


def _heights(drawing: Drawing, lanes: Mapping[str, int]) -> dict[_Place, float]:
    """Each place near the middle of what leads to it, in their order, none upon another."""
    layers: list[list[_Place]] = [[] for _ in range(_layer_count(drawing))]
    for node in drawing.nodes.values():
        layers[node.layer].append((node.name, node.layer))
        for layer in range(node.layer + 1, lanes.get(node.name, 0) + 1):
            layers[layer].append((node.name, layer))
    heights: dict[_Place, float] = {}
    for layer, places in enumerate(layers):
        wished = {place: _wish(drawing, heights, place) for place in places}
        places.sort(key=wished.__getitem__)  # stable: else in the order of the file
        free = -float("inf")
        for place in places:
            half = (_ROW if drawing.nodes[place[0]].layer == layer else _LANE) / 2
            heights[place] = max(wished[place], free + half)
            free = heights[place] + half
        # Only downwards was room made: the layer as a whole goes back to the middle of its wishes.
        back = sum(heights[place] - wished[place] for place in places) / len(places)
        for place in places:
            heights[place] -= back
    return heights


def _layer_count(drawing: Drawing) -> int:
    return 1 + max((node.layer for node in drawing.nodes.values()), default=-1)


def _wish(drawing: Drawing, heights: Mapping[_Place, float], place: _Place) -> float:
    name, layer = place
    node = drawing.nodes[name]
    if layer > node.layer:
        return heights[name, layer - 1]
    before = [heights[_origin(drawing, heights, need, layer)] for need in node.needs]
    return sum(before) / len(before) if before else 0.0


def _origin(drawing: Drawing, heights: Mapping[_Place, float], need: str, layer: int) -> _Place:
    """Where the arrow into a step of this layer begins: at the lane of what it needs, or at its box."""
    lane = (need, layer - 1)
    return lane if lane in heights else (need, drawing.nodes[need].layer)


def _columns(drawing: Drawing) -> tuple[list[tuple[int, int]], int]:
    """The left and the width of each layer's boxes, and where the drawing ends."""
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
    drawing: Drawing, lanes: Mapping[str, int], placed: Mapping[_Place, int], columns: list[tuple[int, int]]
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


def _arrows(drawing: Drawing, placed: Mapping[_Place, int], columns: list[tuple[int, int]]) -> Iterator[str]:
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


def _box(node: Node, column: tuple[int, int], y: int) -> str:
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
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."


def _xml(text: str) -> str:
    return html.escape(plain(text))
