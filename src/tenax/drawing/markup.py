"""Writes SVG: elements, links, texts that fit a width, and the document around them.

A drawing for a page has classes only, since a strict content security policy refuses styles inside it. A drawing for a
file has the stylesheet inside, so that it needs nothing else.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from tenax.drawing.graph_words import printable_line
from tenax.drawing.stylesheet import stylesheet

_NARROW, _UPPER, _WIDE = 0.58, 0.7, 1.05
"""The widths of letters in units of the font's size: most of them, capitals, and those of East Asia. There is a little room in each."""
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def escaped(text: str) -> str:
    return html.escape(printable_line(text))


def number(value: float) -> str:
    """Returns a coordinate with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))


def element(name: str, content: str = "", /, **attributes: str | float | None) -> str:
    """Returns an element. `content` is markup. `class_` means `class`, and in other names `_` means `-`."""
    written = "".join(
        f' {"class" if key == "class_" else key.replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def _value(value: str | float) -> str:
    return escaped(value) if isinstance(value, str) else number(value)


def rect(x: float, y: float, width: float, height: float, *, class_: str, rx: float | None = None) -> str:
    return element("rect", x=x, y=y, width=width, height=height, rx=rx, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, *, class_: str) -> str:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def label(
    x: float,
    y: float,
    words: str,
    *,
    class_: str = "tx-text",
    anchor: str | None = None,
    silent: bool = False,
) -> str:
    """Returns a text. Screen readers leave out a silent one, which repeats the name of the part that it is on."""
    hidden = "true" if silent else None
    text = escaped(words)
    return (
        element("text", text, x=x, y=y, class_=class_, text_anchor=anchor, aria_hidden=hidden)
        if words
        else ""
    )


def linked(content: str, words: str, href: str | None, *, class_: str) -> str:
    """Returns markup with a tooltip and an accessible name. It is a link if there is an address.

    Its texts are beside it and silent. Inside, they would have to be a part of its name.
    """
    inner = f"<title>{escaped(words)}</title>{content}"
    if href is None:
        return element("g", inner, class_=class_, role="img", aria_label=words)
    return element("a", inner, href=href, class_=f"{class_} tx-link", aria_label=words)


@lru_cache(maxsize=4096)  # labels and their parts occur often
def width_of(text: str, size: float) -> float:
    """Estimates the width of a text in pixels. The server has no fonts, so drawings keep room."""
    return size * sum(_letter(c) for c in text)


def _letter(c: str) -> float:
    if c.isascii():
        return _UPPER if c.isupper() or c in "mw@%" else _NARROW
    return _WIDE if unicodedata.east_asian_width(c) in "WFA" else _UPPER


def fitted(text: str, width: float, size: float) -> str:
    """Returns the text, cut with an ellipsis if it is wider than `width` pixels. Returns "" if nothing fits."""
    shown = printable_line(text[: int(width) + 1])  # no letter is narrower than a pixel
    if len(shown) == len(text) and width_of(shown, size) <= width:
        return shown
    room = width - size * _WIDE
    for end, c in enumerate(shown):
        room -= size * _letter(c)
        if room < 0:
            return f"{shown[:end].rstrip()}{ELLIPSIS}" if end else ""
    return f"{shown}{ELLIPSIS}"


def wrapped(text: str, width: float, size: float) -> list[str]:
    """Breaks a text into lines of at most `width` pixels. A word that is wider is cut."""
    lines: list[str] = []
    for word in printable_line(text).split(" "):
        if lines and width_of(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(fitted(word, width, size))
    return lines


def document(
    parts: Iterable[str],
    *,
    width: float,
    height: float,
    words: str,
    class_: str,
    standalone: bool,
    image: bool = False,
) -> str:
    """Returns a whole drawing in ASCII. With `image` it is one picture to screen readers, else a group with parts."""
    style = f"<style>\n{stylesheet()}</style>\n" if standalone else ""
    paper = rect(0, 0, width, height, class_="tx-paper") + "\n" if standalone else ""
    body = "\n".join(part for part in parts if part)
    drawn = element(
        "svg",
        f"\n<title>{escaped(words)}</title>\n{style}{paper}{body}\n",
        xmlns="http://www.w3.org/2000/svg",
        class_=f"tx-drawing {class_}",
        width=width,
        height=height,
        viewBox=f"0 0 {number(width)} {number(height)}",
        role="img" if image else "group",
        aria_label=words,
    )
    return drawn.encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n"
