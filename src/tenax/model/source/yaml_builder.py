"""Builds nodes with places from the events of a YAML parser.

Nothing recurses, and no tag makes an object. A text that passes a limit is refused before its aliases are expanded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from tenax.errors import Finding, InvalidDefinition
from tenax.model.source.findings import MOST_FINDINGS, Path, format_path, more_to_come, shorten
from tenax.model.source.yaml_scalars import TEXT_TAG, read_scalar, unknown_tag_message

MAX_BYTES = 8 * 1024 * 1024
"""The most bytes of the text, and of all texts in it after aliases are expanded."""
MAX_VALUES = 500_000
"""The most values, with keys, after aliases are expanded. A step has twenty to forty, so ten thousand steps fit."""
MAX_DEPTH = 50

_COLLECTION_TAGS = frozenset({"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq", "!"})


@dataclass(slots=True)
class Node:
    """Holds one value of the text with its place. An alias is the same node as the value that it names."""

    value: Any
    line: int
    column: int
    text: str | None = None
    """The text of a scalar as it was written."""
    children: dict[str, Node] | list[Node] | None = None
    keys: dict[str, tuple[int, int]] | None = None
    """The places of the keys of a mapping."""
    size: int = 1
    length: int = 0
    depth: int = 0
    broken: bool = False
    """True if the value was reported as unreadable. It is not reported again."""


@dataclass(slots=True)
class _Frame:
    """Holds a collection that is still open."""

    node: Node
    anchor: str | None
    flow: bool
    key: str | None = None
    key_place: tuple[int, int] | None = None
    """The place of the last key, until its value follows."""
    merging: bool = False
    merges: list[Node] | None = None


class Builder:
    """Builds the nodes from the parser's events."""

    def __init__(self, filename: str | None, before: Builder | None = None) -> None:
        """`before` built the document before this one. The limits hold for all documents of a text together."""
        self.filename = filename
        self.findings: list[Finding] = []
        self.root: Node | None = None
        self._frames: list[_Frame] = []
        self._anchors: dict[str, Node] = {}
        self._documents = 0
        self._values = 0 if before is None else before.counted[0]
        self._length = 0 if before is None else before.counted[1]

    @property
    def counted(self) -> tuple[int, int]:
        """The values and the bytes so far, those of the documents before included."""
        return self._values, self._length

    def feed(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._close()
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._open(event)
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    self._refuse(event, "a second document (`---`) begins here; a file holds one workflow")
            case _:
                pass

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        text: str = event.value
        node = Node(text, *_place(event), text, length=len(text))
        frame = self._frames[-1] if self._frames else None
        is_key = frame is not None and frame.node.keys is not None and frame.key_place is None
        plain = event.implicit[0]
        if is_key:
            assert frame is not None
            frame.merging = plain and text == "<<"
            if event.tag not in (None, TEXT_TAG, "!"):
                self._find(node, unknown_tag_message(event.tag))
        elif plain or event.tag is not None:
            try:
                node.value = read_scalar(text, event.tag)
            except ValueError as error:
                self._find(node, str(error))
                node.broken = True
        if not text.isascii() or "\0" in text:
            self._check_characters(node, text)
        self._finish(node, event.anchor)

    def _check_characters(self, node: Node, text: str) -> None:
        if "\0" in text:
            self._find(node, "the character U+0000 (\\0) cannot be stored as text; remove it")
        elif any("\ud800" <= character <= "\udfff" for character in text):
            self._find(node, "half of a surrogate pair (\\ud800 to \\udfff) is not text; remove it")
        else:
            return
        node.broken = True

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if len(self._frames) >= MAX_DEPTH:
            self._refuse(event, f"nested deeper than {MAX_DEPTH} levels")
        node = Node(None, *_place(event), depth=1)
        if isinstance(event, yaml.MappingStartEvent):
            node.value, node.children, node.keys = {}, {}, {}
        else:
            node.value, node.children = [], []
        if event.tag is not None and event.tag not in _COLLECTION_TAGS:
            self._find(node, unknown_tag_message(event.tag))
            node.broken = True
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)
        self._frames.append(_Frame(node, event.anchor, bool(event.flow_style)))

    def _close(self) -> None:
        frame = self._frames.pop()
        if frame.merges is not None:
            self._merge(frame.node, frame.merges)
        self._finish(frame.node, frame.anchor)

    def _alias(self, event: yaml.AliasEvent) -> None:
        name = event.anchor or ""
        target = self._anchors.get(name)
        if target is None:
            inside = any(frame.anchor == name for frame in self._frames)
            known = "stands inside what it names" if inside else "names no anchor (`&`) before it"
            self._refuse(event, f"the alias `*{shorten(name)}` {known}")
        if len(self._frames) + target.depth > MAX_DEPTH:
            self._refuse(event, f"nested deeper than {MAX_DEPTH} levels once aliases are expanded")
        place = _place(event)
        self._count(place, target.size, target.length)
        self._attach(target, place)

    def _finish(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        place = (node.line, node.column)
        self._count(place, 1, len(node.text or ""))
        self._attach(node, place)

    def _attach(self, node: Node, place: tuple[int, int]) -> None:
        """Adds a finished node to its parent: as the root, an element, a key, or the value of a key."""
        if not self._frames:
            self.root = node
            return
        frame = self._frames[-1]
        parent = frame.node
        if isinstance(parent.children, list):
            parent.children.append(node)
            parent.value.append(node.value)
            _grow(parent, node)
        elif frame.key_place is None:
            self._take_key(frame, node, place)
        else:
            self._take_value(frame, node)

    def _count(self, place: tuple[int, int], values: int, length: int) -> None:
        """Counts the values and bytes so far. An alias counts for everything that it stands for."""
        self._values += values
        self._length += length
        if self._values > MAX_VALUES:
            self._refuse_at(
                place, f"more than {MAX_VALUES:,} values once aliases are expanded; pass data as input"
            )
        if self._length > MAX_BYTES:
            self._refuse_at(
                place, f"more than {MAX_BYTES // 1024**2} MB once aliases are expanded; pass data as input"
            )

    def _take_key(self, frame: _Frame, node: Node, place: tuple[int, int]) -> None:
        frame.key_place = place
        frame.key = None
        if node.text is None:
            message = "a key must be text"
            if frame.flow:
                message += '; if this is a template, quote it: "{{ ... }}"'
            frame.node.broken = True
            self._find(node, message)
        elif not node.text:
            frame.node.broken = True
            self._find(node, "an empty key; a key must be text")
        elif frame.node.keys and node.text in frame.node.keys:
            first = frame.node.keys[node.text][0]
            self._find(
                node,
                f"the key `{shorten(node.text)}` is given twice, first on line {first}; keep one",
                node.text,
            )
        else:
            frame.key = node.text

    def _take_value(self, frame: _Frame, node: Node) -> None:
        key, place = frame.key, frame.key_place
        frame.key = frame.key_place = None
        if key is None or place is None:
            return
        if frame.merging:
            frame.merging = False
            frame.merges = [*(frame.merges or ()), node]
        else:
            _put(frame.node, key, node, place)

    def _merge(self, node: Node, merges: list[Node]) -> None:
        """Carries out `<<`. The mapping's own keys win over merged keys, and earlier merged mappings win over later ones."""
        sources = [
            s
            for merged in merges
            for s in (merged.children if isinstance(merged.children, list) else [merged])
        ]
        for source in sources:
            if source.keys is None or not isinstance(source.children, dict):
                self._find(source, "`<<` takes a mapping, or a list of mappings")
                continue
            for key, child in source.children.items():
                if key not in node.value:
                    _put(node, key, child, source.keys[key])

    def _path(self) -> Path:
        path: list[str | int] = []
        for frame in self._frames:
            if isinstance(frame.node.children, list):
                path.append(len(frame.node.children))
            elif frame.key is not None:
                path.append(frame.key)
        return tuple(path)

    def _find(self, node: Node, message: str, *below: str) -> None:
        self._record((node.line, node.column), message, (*self._path(), *below))
        if len(self.findings) >= MOST_FINDINGS:
            raise InvalidDefinition([*self.findings, more_to_come(self.filename)])

    def _record(self, place: tuple[int, int], message: str, path: Path) -> None:
        line, column = place
        self.findings.append(
            Finding(message, path=format_path(path), file=self.filename, line=line, column=column)
        )

    def _refuse(self, event: yaml.Event, message: str) -> NoReturn:
        self._refuse_at(_place(event), message)

    def _refuse_at(self, place: tuple[int, int], message: str) -> NoReturn:
        """Ends the reading, because the rest cannot be trusted or would cost too much."""
        path = self._path()
        self._record(place, message, path if len(path) <= 5 else ())
        raise InvalidDefinition(self.findings)


def _put(mapping: Node, key: str, child: Node, place: tuple[int, int]) -> None:
    assert isinstance(mapping.children, dict)
    assert mapping.keys is not None
    mapping.children[key] = child
    mapping.value[key] = child.value
    mapping.keys[key] = place
    mapping.length += len(key)
    _grow(mapping, child)


def _grow(parent: Node, child: Node) -> None:
    parent.size += child.size
    parent.length += child.length
    parent.depth = max(parent.depth, child.depth + 1)


def _place(event: yaml.Event) -> tuple[int, int]:
    """Returns the line and the column of an event, counted from 1."""
    assert event.start_mark is not None  # every event of a parser has its mark
    return event.start_mark.line + 1, event.start_mark.column + 1
