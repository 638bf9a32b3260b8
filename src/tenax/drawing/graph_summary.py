"""Summarises a graph that is too large for a page: one box for the steps of a layer, or of several layers in a row."""

from __future__ import annotations

from collections import Counter

from tenax.drawing.graph import Drawing, DrawnStep

MAX_STEPS = 400  # steps that a page draws one by one
MAX_GROUPS = 40  # boxes of a summary
_WORST_FIRST = (
    "failed", "held", "retrying", "running", "queued", "pending", "paused", "cancelled", "unreachable", "skipped",
    "completed",
)  # fmt: skip
"""The states of steps, in the order in which they give a box its colour and are told in it."""


def for_page(drawing: Drawing, *, most: int = MAX_STEPS) -> Drawing:
    """Returns the drawing, or its summary if it has more than `most` steps."""
    if len(drawing.nodes) <= most:
        return drawing
    layers = 1 + max(node.layer for node in drawing.nodes.values())
    size = -(-layers // MAX_GROUPS)
    counted: dict[int, Counter[str]] = {}
    for node in drawing.nodes.values():
        counted.setdefault(node.layer // size, Counter())[node.status or ""] += 1
    nodes: dict[str, DrawnStep] = {}
    for group in range(-(-layers // size)):
        node = _summary(group, size, layers, counted[group], needs=tuple(nodes)[-1:])
        nodes[node.name] = node
    return Drawing(f"{drawing.title} ({len(drawing.nodes):,} steps, by layer)", nodes)


def _summary(
    group: int, size: int, layers: int, counts: Counter[str], *, needs: tuple[str, ...]
) -> DrawnStep:
    first, last = group * size + 1, min((group + 1) * size, layers)
    states = [f"{counts[state]:,} {state}" for state in _WORST_FIRST if counts[state]]
    return DrawnStep(
        name=f"layer {first:,}" if first == last else f"layers {first:,} to {last:,}",
        details=(f"{counts.total():,} step{'s' if counts.total() > 1 else ''}", *states),
        needs=needs,
        stands_in_for=None,
        layer=group,
        goal=False,
        status=next((state for state in _WORST_FIRST if counts[state]), None),
        steps=counts.total(),
    )
