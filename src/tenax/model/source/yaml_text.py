"""Writes plain data as YAML that `tenax.model.source` reads back as the same data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenax.model.source.yaml_scalars import read_plain

_PLAIN = re.compile(r"[A-Za-z0-9_/.][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./()-]+)*")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_FLOW_WIDTH = 100
"""The longest list or mapping of plain values that is written in one line."""


def yaml_text(data: Mapping[str, Any]) -> str:
    """Returns a mapping as a document, with its keys in their order."""
    return "\n".join(_lines_of(data, "")) + "\n"


def _lines_of(value: Any, indent: str) -> Iterator[str]:
    """Yields the lines of a mapping or a list that is not empty, all of them indented."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _entry(f"{indent}{_key(str(key))}:", part, indent)
    else:
        for part in value:
            yield from _element(part, indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, str) and (block := _block(value, indent + "  ")) is not None:
        yield f"{head} {block[0]}"
        yield from block[1:]
    elif (flow := _flow(value)) is not None and (len(head) + len(flow) < _FLOW_WIDTH or not _is_deep(value)):
        yield f"{head} {flow}"
    else:
        yield head
        yield from _lines_of(value, indent + "  ")


def _element(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        first, *others = _lines_of(value, indent + "  ")
        yield f"{indent}- {first[len(indent) + 2 :]}"
        yield from others
    elif isinstance(value, str) and (block := _block(value, indent + "  ")) is not None:
        yield f"{indent}- {block[0]}"
        yield from block[1:]
    elif (flow := _flow(value)) is not None and len(flow) < _FLOW_WIDTH:
        yield f"{indent}- {flow}"
    elif _is_deep(value):
        yield f"{indent}-"
        yield from _lines_of(value, indent + "  ")
    else:
        yield f"{indent}- {flow}"


def _is_deep(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple) and bool(value)


def _flow(value: Any) -> str | None:
    """Returns a value in one line: a scalar, an empty collection, or a short list or mapping of scalars."""
    if not _is_deep(value):
        return (
            scalar(value)
            if not isinstance(value, Mapping | list | tuple)
            else ("{}" if isinstance(value, Mapping) else "[]")
        )
    parts = value.values() if isinstance(value, Mapping) else value
    if any(_is_deep(part) and isinstance(value, Mapping) for part in parts):
        return None
    pieces = [_flow(part) for part in parts]
    if any(piece is None or "\n" in piece for piece in pieces):
        return None
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(str(key))}: {piece}" for key, piece in zip(value, pieces, strict=True))
        return f"{{{inner}}}" if len(inner) < _FLOW_WIDTH else None
    inner = ", ".join(str(piece) for piece in pieces)
    return f"[{inner}]" if len(inner) < _FLOW_WIDTH else None


def _key(key: str) -> str:
    """Returns a key. Keys are text, also those that would be a boolean or a number as a value."""
    return str(key) if _IDENTIFIER.fullmatch(key) else _quoted(key)


def scalar(value: Any) -> str:
    """Returns one value on one line."""
    if isinstance(value, str):
        return str(value) if _is_plain(value) else _quoted(value)
    return json.dumps(value)


def _is_plain(text: str) -> bool:
    try:
        return _PLAIN.fullmatch(text) is not None and read_plain(text) == text
    except ValueError:  # a number that cannot be read
        return False


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(one) for one in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character == "\n":
        return "\\n"
    if character == "\t":
        return "\\t"
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _block(text: str, indent: str) -> Sequence[str] | None:
    """Returns a text of several lines as a literal block. Returns None if it is one line, or a block would change it."""
    lines = text.split("\n")
    ends = len(text) - len(text.rstrip("\n"))
    body = lines[: len(lines) - ends] if ends else lines
    if len(lines) < 2 or not body or not body[0].strip() or body[0][0] in " \t":
        return None
    if any(not one.isprintable() and one != "\t" for line in body for one in line):
        return None
    sign = {0: "|-", 1: "|"}.get(ends, "|+")
    return [sign, *(f"{indent}{line}" if line else "" for line in body), *("" for _ in range(ends - 1))]
