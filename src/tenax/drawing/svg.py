"""Draws the graph of a workflow as SVG, with a column for each layer from left to right."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping

from tenax.drawing.colours import COLOURS, INK, LINE, UNKNOWN
from tenax.drawing.graph import ON_FAILURE, Drawing, DrawnStep
from tenax.drawing.graph_words import printable_line

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
