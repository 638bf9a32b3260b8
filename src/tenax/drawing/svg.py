"""Draws the graph of a workflow as SVG, with a column for each layer from left to right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tenax.drawing.colours import COLOURS, INK, LINE, UNKNOWN
from tenax.drawing.graph import ON_FAILURE, Drawing, DrawnStep
from tenax.drawing.links import Link, Target, no_link
from tenax.drawing.markup import document, element, escaped, label, linked, rect

_NAME_CHAR, _DETAIL_CHAR = 8.0, 6.8
"""The widths of a letter in pixels: 0.6 of a monospaced font's size, and a little room."""
_BOX_HEIGHT, _ROW, _LANE, _GAP, _MARGIN, _TITLE = 44, 64, 20, 64, 24, 40
_MAX_NAME = 40


_Point = tuple[str, int]
"""A step and a layer: its own layer, which has its box, or a later one, which its lane crosses on the way to a step that needs it."""


def draw_svg(drawing: Drawing) -> str:
    """Draws SVG that needs nothing else: no scripts, fonts or styles. It is pure ASCII."""
    placed = _place(drawing)
    lines = [
        _opening(drawing.title, placed.width, placed.height),
        f'<g fill="none" stroke="{LINE}" stroke-width="1.5">',
        *(_edge(edge) for edge in placed.edges),
        "</g>",
        *(_box(node, placed) for node in drawing.nodes.values()),
        "</svg>",
    ]
    return "\n".join(lines).encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n"


def draw_graph(drawing: Drawing, *, link: Link = no_link) -> str:
    """Draws SVG for a page that has the stylesheet of drawings. `link` gives the address of each step."""
    placed = _place(drawing)
    parts = [
        _ARROW,
        label(_MARGIN, _MARGIN + 16, drawing.title, class_="tx-name"),
        *(_page_edge(edge) for edge in placed.edges),
        *(_page_box(node, placed, link) for node in drawing.nodes.values()),
    ]
    words = f"Graph of {drawing.title}"
    return document(
        parts, width=placed.width, height=placed.height, words=words, class_="tx-graph", standalone=False
    )


@dataclass(frozen=True, slots=True)
class _Edge:
    path: str
    arrow: bool = True
    fallback: tuple[int, int] | None = None
    """Where its label is, if it leads to a fallback."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """Holds the places of a graph's boxes and arrows."""

    columns: Sequence[tuple[int, int]]
    """The left edge and the width of each layer's boxes."""
    heights: Mapping[_Point, int]
    edges: Sequence[_Edge]
    width: int
    height: int

    def box(self, node: DrawnStep) -> tuple[int, int, int]:
        """Returns the left edge, the top and the width of a box."""
        left, width = self.columns[node.layer]
        return left, self.heights[node.name, node.layer] - _BOX_HEIGHT // 2, width


def _place(drawing: Drawing) -> _Placed:
    lanes = _lanes(drawing)
    heights = _heights(drawing, lanes)
    columns, right = _columns(drawing)
    top, bottom = min(heights.values(), default=0), max(heights.values(), default=0)
    shift = _MARGIN + _TITLE + _BOX_HEIGHT / 2 - top
    placed = {place: round(y + shift) for place, y in heights.items()}
    width = max(right, 2 * _MARGIN + len(drawing.title) * 10)
    height = round(bottom + shift + _BOX_HEIGHT / 2 + _MARGIN)
    edges = [*_trunks(drawing, lanes, placed, columns), *_arrows(drawing, placed, columns)]
    return _Placed(columns, placed, edges, width, height)


def _opening(title: str, width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' role="img" font-family="ui-monospace, Menlo, Consolas, monospace">\n'
        f"<title>{escaped(title)}</title>\n"
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>\n'
        '<rect width="100%" height="100%" fill="#ffffff"/>\n'
        f'<text x="{_MARGIN}" y="{_MARGIN + 16}" font-size="16" font-weight="bold" fill="{INK}">{escaped(title)}</text>'
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
) -> Iterator[_Edge]:
    for name, last in lanes.items():
        first = drawing.nodes[name].layer
        x, y = sum(columns[first]), placed[name, first]
        path = [f"M{x} {y}"]
        for layer in range(first + 1, last + 1):
            left, width = columns[layer]
            path.append(f"{_curve(x, y, left, placed[name, layer])} H{left + width}")
            x, y = left + width, placed[name, layer]
        yield _Edge(" ".join(path), arrow=False)


def _arrows(
    drawing: Drawing, placed: Mapping[_Point, int], columns: list[tuple[int, int]]
) -> Iterator[_Edge]:
    for node in drawing.nodes.values():
        left, y = columns[node.layer][0], placed[node.name, node.layer]
        for need in node.needs:
            origin = _origin(drawing, placed, need, node.layer)
            x = sum(columns[origin[1]])
            path = f"M{x} {placed[origin]} {_curve(x, placed[origin], left, y)}"
            middle = ((x + left) // 2, (placed[origin] + y) // 2 - 5)
            yield _Edge(path, fallback=middle if need == node.stands_in_for else None)


def _curve(x: int, y: int, to_x: int, to_y: int) -> str:
    middle = (x + to_x) // 2
    return f"C{middle} {y} {middle} {to_y} {to_x} {to_y}"


def _edge(edge: _Edge) -> str:
    end = ' marker-end="url(#arrow)"' if edge.arrow else ""
    if edge.fallback is None:
        return f'<path d="{edge.path}"{end}/>'
    x, y = edge.fallback
    return (
        f'<path d="{edge.path}"{end} stroke-dasharray="5 4"/>\n'
        f'<text x="{x}" y="{y}" font-size="9" text-anchor="middle" fill="{INK}" stroke="none">{ON_FAILURE}</text>'
    )


def _box(node: DrawnStep, placed: _Placed) -> str:
    left, top, width = placed.box(node)
    colours = COLOURS.get(node.status or "", UNKNOWN)
    return (
        f"<g><title>{escaped(node.name)}</title>"
        f'<rect x="{left}" y="{top}" width="{width}" height="{_BOX_HEIGHT}" rx="{20 if node.goal else 6}"'
        f' fill="{colours.fill}" stroke="{colours.stroke}" stroke-width="{3 if node.goal else 1.5}"/>'
        f'<text x="{left + 12}" y="{top + 18}" font-size="13" font-weight="bold" fill="{INK}">'
        f"{escaped(_shown(node.name))}</text>"
        f'<text x="{left + 12}" y="{top + 35}" font-size="11" fill="{INK}">{escaped(", ".join(node.details))}</text></g>'
    )


def _shown(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 3]}..."


_ARROW = element(
    "defs",
    '<marker id="tx-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0 L8 4 L0 8 z" class="tx-arrow"/></marker>',
)


def _page_edge(edge: _Edge) -> str:
    fallback = " tx-edge-fallback" if edge.fallback else ""
    end = "url(#tx-arrow)" if edge.arrow else None
    drawn = element("path", d=edge.path, class_=f"tx-edge{fallback}", marker_end=end)
    if edge.fallback:
        x, y = edge.fallback
        drawn += label(x, y, ON_FAILURE, class_="tx-edge-label", anchor="middle")
    return drawn


def _page_box(node: DrawnStep, placed: _Placed, link: Link) -> str:
    left, top, width = placed.box(node)
    details = ", ".join(node.details)
    drawn = rect(left, top, width, _BOX_HEIGHT, class_="tx-box", rx=20 if node.goal else 6)
    status = node.status if node.status in COLOURS else "none"
    goal = " tx-step-goal" if node.goal else ""
    href = link(Target(step=node.name)) if node.steps == 1 else None
    return (
        linked(drawn, f"{node.name}: {details}", href, class_=f"tx-step tx-step-{status}{goal}")
        + label(left + 12, top + 18, _shown(node.name), class_="tx-name", silent=True)
        + label(left + 12, top + 35, details, class_="tx-detail", silent=True)
    )
