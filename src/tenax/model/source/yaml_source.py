"""Reads a YAML or JSON text as plain data, and remembers the place of each value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from tenax.errors import Finding, InvalidDefinition
from tenax.model.source.findings import Path
from tenax.model.source.yaml_builder import MAX_BYTES, Builder, Node

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlSource:
    """Holds the data of a text, the places of its keys and values, and its syntax errors."""

    def __init__(self, root: Node, findings: list[Finding], filename: str | None) -> None:
        self.root = root
        self.findings = findings
        self.filename = filename

    @property
    def data(self) -> Any:
        return self.root.value

    def place(self, path: Path) -> tuple[int, int] | None:
        """Returns the line and the column of the key at `path`, or of an element of a list. Both count from 1.

        A path to a missing key gives the place of the value that should have it. A path into an unreadable value gives None.
        """
        node, place = self.root, (self.root.line, self.root.column)
        for key in path:
            if node.broken:
                return None
            child = _child(node, key)
            if child is None:
                return place
            place = (
                node.keys[key]
                if node.keys is not None and isinstance(key, str)
                else (child.line, child.column)
            )
            node = child
        return None if node.broken else place

    def written(self, path: Path) -> str | None:
        """Returns the scalar at `path` as it was written, before it was read as a number or a boolean."""
        node = self._node(path)
        return None if node is None else node.text

    def value(self, path: Path) -> Any:
        """Returns the plain data at `path`, or None."""
        node = self._node(path)
        return None if node is None else node.value

    def size(self, path: Path) -> int:
        """Returns the number of values at `path` and below."""
        node = self._node(path)
        return 0 if node is None else node.size

    def _node(self, path: Path) -> Node | None:
        node: Node | None = self.root
        for key in path:
            node = _child(node, key) if node is not None else None
        return node


def _child(node: Node, key: str | int) -> Node | None:
    if isinstance(node.children, dict) and isinstance(key, str):
        return node.children.get(key)
    if isinstance(node.children, list) and isinstance(key, int) and key < len(node.children):
        return node.children[key]
    return None


def read_source(text: str | bytes, *, filename: str | None = None) -> YamlSource:
    """Reads one document. Raises InvalidDefinition if nothing of it can be checked further."""
    content = _decode(text, filename)
    builder = Builder(filename)
    for event in _events(content, filename, builder.findings):
        builder.feed(event)
    if _is_empty(builder):
        raise InvalidDefinition(
            [Finding("the file is empty: a workflow has at least `name` and `workflow`", file=filename)]
        )
    assert builder.root is not None
    return YamlSource(builder.root, builder.findings, filename)


def read_documents(text: str | bytes, *, filename: str | None = None) -> list[YamlSource]:
    """Reads all documents of a text, without the empty ones. Raises InvalidDefinition if the text cannot be read."""
    content = _decode(text, filename)
    builders = [Builder(filename)]
    for event in _events(content, filename, builders[0].findings):
        if isinstance(event, yaml.DocumentStartEvent):
            builders.append(Builder(filename, before=builders[-1]))
        builders[-1].feed(event)
    return [
        YamlSource(builder.root, builder.findings, filename)
        for builder in builders
        if builder.root is not None and not _is_empty(builder)
    ]


def _is_empty(builder: Builder) -> bool:
    return builder.root is None or (builder.root.value is None and not builder.root.broken)


def _events(content: str, filename: str | None, findings: list[Finding]) -> Iterator[yaml.Event]:
    """Yields the events of the parser. Its errors become findings after those that were found before."""
    try:
        # The C parser lacks type hints; its events are those of yaml.events.
        yield from yaml.parse(content, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise InvalidDefinition([*findings, _syntax_error(error, content, filename)]) from None
    except yaml.reader.ReaderError as error:
        raise InvalidDefinition([_unacceptable_character(error, content, filename)]) from None


def _decode(text: str | bytes, filename: str | None) -> str:
    if len(text) > MAX_BYTES:
        raise InvalidDefinition([_too_large(filename)])
    try:
        encoded = text.encode() if isinstance(text, str) else bytes(text)
        content = encoded.decode()
    except UnicodeDecodeError as error:
        before = encoded[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        message = f"not UTF-8: the byte 0x{encoded[error.start]:02x} cannot be read; save the file as UTF-8"
        raise InvalidDefinition([Finding(message, file=filename, line=line, column=column)]) from None
    except UnicodeEncodeError as error:
        line, column = _place_of_offset(str(text), error.start)
        message = "half of a surrogate pair, which is not text; save the file as UTF-8"
        raise InvalidDefinition([Finding(message, file=filename, line=line, column=column)]) from None
    if len(encoded) > MAX_BYTES:
        raise InvalidDefinition([_too_large(filename)])
    return content.removeprefix("\N{BOM}")


def _too_large(filename: str | None) -> Finding:
    return Finding(
        f"larger than {MAX_BYTES // 1024**2} MB: a definition holds steps, not data; pass data as input",
        file=filename,
    )


def _place_of_offset(content: str, offset: int) -> tuple[int, int]:
    before = content[:offset]
    return before.count("\n") + 1, offset - before.rfind("\n")


def _syntax_error(error: yaml.MarkedYAMLError, content: str, filename: str | None) -> Finding:
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return Finding(f"not valid YAML: {error.problem or error.context}", file=filename)
    lines = content.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    problem = error.problem or "unreadable"
    if error.context:
        problem = f"{problem} ({error.context})"
    if "\t" in line[: mark.column + 1]:
        problem = "a tab where only spaces may indent; replace it with spaces"
    elif "{{" in line:
        problem += '; a value with {{ }} must be quoted: "{{ ... }}"'
    return Finding(f"not valid YAML: {problem}", file=filename, line=mark.line + 1, column=mark.column + 1)


def _unacceptable_character(error: yaml.reader.ReaderError, content: str, filename: str | None) -> Finding:
    # libyaml counts bytes, the parser in Python counts characters.
    counts_bytes = _Loader is not yaml.SafeLoader
    offset = (
        len(content.encode()[: error.position].decode(errors="ignore")) if counts_bytes else error.position
    )
    line, column = _place_of_offset(content, offset)
    code = error.character if isinstance(error.character, int) else ord(error.character)
    message = f"not valid YAML: the character U+{code:04X} is not allowed; remove it"
    return Finding(message, file=filename, line=line, column=column)
