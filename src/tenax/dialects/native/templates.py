"""Rewrites the names in foreign templates of the form `{{ a.b }}` as the names that templates have here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tenax.dialects.native.workflow import ForeignText
from tenax.model.source.findings import Path

Rewrite = Callable[[tuple[str, ...]], str | None]
"""Returns the expression for a dotted name, given as its parts. Returns None for a name that stays as it is."""

_BRACES = re.compile(r"\{\{-?(.*?)-?\}\}", re.DOTALL)
_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+|\[(?:'[^']*'|"[^"]*"|\d+)\])*)|.""",
    re.DOTALL | re.VERBOSE,
)
_PART = re.compile(r"""\[(?:'([^']*)'|"([^"]*)"|(\d+))\]|\.?([A-Za-z0-9_-]+)""")
_OPENING = re.compile(r"(\{\{|\{%|\{#)")
_WORDS = frozenset(
    {
        "and",
        "or",
        "not",
        "in",
        "is",
        "if",
        "else",
        "true",
        "false",
        "none",
        "True",
        "False",
        "None",
        "defined",
        "undefined",
    }
)


def rewrite_text(text: str, rewrite: Rewrite, origin: Path) -> str:
    """Rewrites the names in all templates of a text."""
    if "{{" not in text and "{%" not in text:
        return text
    made = _BRACES.sub(lambda found: "{{ " + rewrite_expression(found[1], rewrite) + " }}", text)
    return ForeignText(made, text, origin)


def rewrite_value(value: Any, rewrite: Rewrite, origin: Path) -> Any:
    """Rewrites the names in all templates of a value."""
    match value:
        case str():
            return rewrite_text(value, rewrite, origin)
        case dict():
            return {key: rewrite_value(part, rewrite, (*origin, key)) for key, part in value.items()}
        case list():
            return [rewrite_value(part, rewrite, (*origin, index)) for index, part in enumerate(value)]
        case _:
            return value


def rewrite_expression(expression: str, rewrite: Rewrite) -> str:
    """Rewrites the names of an expression. Words of the language, filters and texts in quotes stay."""
    made: list[str] = []
    for found in _TOKEN.finditer(expression.strip()):
        name = found["name"]
        if name is None or _is_no_variable(name, made):
            made.append(found[0])
            continue
        new = rewrite(parts_of(name))
        made.append(name if new is None else new)
    return "".join(made)


def _is_no_variable(name: str, before: list[str]) -> bool:
    """Tells whether a name is a word of the language, a filter, or a member of what stands before it."""
    previous = next((token for token in reversed(before) if not token.isspace()), "")
    return name in _WORDS or previous in ("|", ".") or (previous == "is" and "." not in name)


def parts_of(name: str) -> tuple[str, ...]:
    return tuple(single or double or number or plain for single, double, number, plain in _PART.findall(name))


def literal(value: Any) -> Any:
    """Returns data in which braces are no templates."""
    match value:
        case str():
            return literal_text(value)
        case dict():
            return {key: literal(part) for key, part in value.items()}
        case list():
            return [literal(part) for part in value]
        case _:
            return value


def literal_text(text: str) -> str:
    """Returns a text in which braces are no templates."""
    return _OPENING.sub(r"{{ '\1' }}", text)


def condition(text: str) -> str:
    """Returns an expression without the braces around it."""
    stripped = text.strip()
    inner = _BRACES.fullmatch(stripped)
    return inner[1].strip() if inner and "}}" not in inner[1] else stripped
