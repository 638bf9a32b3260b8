"""Draws a small series without axes, such as a failure rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tenax.drawing.markup import document, element, number

MAX_POINTS = 300
_MARGIN = 3.0


def draw_sparkline(
    values: Sequence[float | None],
    *,
    name: str,
    unit: str = "",
    most: float | None = None,
    width: float = 120,
    height: float = 28,
    standalone: bool = False,
) -> str:
    """Draws the values from left to right, from 0 to `most` or the highest. None is a gap. A long series is thinned to its highest values."""
    shown = _thinned(values)
    top = max([most or 0.0, *(value for value in shown if value is not None)]) or 1.0
    step = (width - 2 * _MARGIN) / max(len(shown) - 1, 1)
    places = [
        None
        if value is None
        else (_MARGIN + index * step, height - _MARGIN - (height - 2 * _MARGIN) * max(value, 0.0) / top)
        for index, value in enumerate(shown)
    ]
    words = sparkline_words(values, name=name, unit=unit)
    return document(
        _parts(places, height),
        width=width, height=height, words=words, class_="tx-sparkline", standalone=standalone, image=True,
    )  # fmt: skip


def sparkline_words(values: Sequence[float | None], *, name: str, unit: str = "") -> str:
    """Describes a series: its first, last and highest value."""
    known = [value for value in values if value is not None]
    if not known:
        return f"{name}: no values"
    first, last, highest = (f"{value:.4g}{unit}" for value in (known[0], known[-1], max(known)))
    return f"{name}: from {first} to {last}, at most {highest}"


def _thinned(values: Sequence[float | None]) -> list[float | None]:
    size = -(-len(values) // MAX_POINTS) or 1
    groups = (values[start : start + size] for start in range(0, len(values), size))
    return [max((value for value in group if value is not None), default=None) for group in groups]


def _parts(places: Sequence[tuple[float, float] | None], height: float) -> Iterator[str]:
    bottom = number(height - _MARGIN)
    run: list[tuple[float, float]] = []
    for place in (*places, None):
        if place is not None:
            run.append(place)
            continue
        if run:
            path = " L".join(f"{number(x)} {number(y)}" for x, y in run)
            area = f"M{number(run[0][0])} {bottom} L{path} L{number(run[-1][0])} {bottom} z"
            yield element("path", d=area, class_="tx-trend-area")
            yield element("path", d=f"M{path}", class_="tx-trend")
        run = []
    known = [place for place in places if place is not None]
    if known:
        yield element("circle", cx=known[-1][0], cy=known[-1][1], r=2.5, class_="tx-trend-last")
