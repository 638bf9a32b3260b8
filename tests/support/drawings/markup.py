"""Reads drawings as a browser would."""

import re
from xml.etree import ElementTree as ET

from tenax.drawing.stylesheet import stylesheet

SVG = "{http://www.w3.org/2000/svg}"
_DRAWN_BY_STYLE = {"style", "fill", "stroke", "font-size", "font-family", "onclick", "onload"}


def page(svg):
    """Reads a drawing for a page, and checks that it has nothing that a strict content security policy refuses."""
    root = checked(svg)
    for part in root.iter():
        assert not _DRAWN_BY_STYLE & set(part.attrib), part.attrib
        assert part.tag not in {f"{SVG}style", f"{SVG}script", f"{SVG}foreignObject"}
    return root


def checked(svg):
    """Reads a drawing: ASCII, well formed, named, with known classes, and with nothing beyond its width and height."""
    assert svg.isascii()
    root = ET.fromstring(svg)
    assert root.attrib["aria-label"] == root.findtext(f"{SVG}title")
    for part in root.iter():
        assert set(part.attrib.get("class", "").split()) <= KNOWN, part.attrib
        if "href" in part.attrib:
            assert part.attrib["aria-label"] == part.findtext(f"{SVG}title")
            assert part.find(f"{SVG}text") is None  # a text inside would have to be a part of the name
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for rect in root.iter(f"{SVG}rect"):
        left, top, right, bottom = frame(rect)
        assert -0.02 <= left <= right <= width + 0.02
        assert -0.02 <= top <= bottom <= height + 0.02
    return root


def frame(rect):
    x, y, width, height = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def with_class(root, name):
    return [part for part in root.iter() if name in part.attrib.get("class", "").split()]


def words(root):
    return [text.text for text in root.iter(f"{SVG}text")]


def titles(parts):
    return [part.findtext(f"{SVG}title") for part in parts]


_PLAIN = {
    "tx-bar",
    "tx-row",
    "tx-break",
    "tx-heat",
    "tx-delay",
    "tx-budget-bar",
    "tx-schedule",
}
"""Names of parts that need no style of their own."""
KNOWN = (
    set(re.findall(r"\.(tx-[a-z_-]+)", stylesheet()))
    | _PLAIN
    | {"tx-timeline", "tx-sparkline", "tx-step", "tx-retry", "tx-step-pending", "tx-step-none"}
)
