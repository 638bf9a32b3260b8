"""Reads files, JSON and `NAME=VALUE` pairs that people give to commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tenax.cli import output
from tenax.errors import UsageError
from tenax.model.source.findings import shorten
from tenax.model.source.json_source import json_or_text, parse_json
from tenax.sdk import files
from tenax.sdk.files import DefinitionFile, decode_text, folder_of

STDIN = output.STDIN
STDIN_SHOWN = "<stdin>"


def read_definition(name: str) -> DefinitionFile:
    return definition_of(read_bytes(name), name)


def definition_of(content: bytes, name: str) -> DefinitionFile:
    """Returns the definition. For a definition from stdin, other files are searched in the working folder."""
    text = decode_text(content, name)
    if name == STDIN:
        return DefinitionFile(text, STDIN_SHOWN, str(Path.cwd()))
    return DefinitionFile(text, name, folder_of(name))


def read_bytes(name: str) -> bytes:
    """Reads a file or stdin."""
    return sys.stdin.buffer.read(files.MAX_FILE_SIZE) if name == STDIN else files.read_bytes(name)


def parse_inputs(pairs: Sequence[str], file: str | None = None, *, flag: str = "--input") -> dict[str, Any]:
    """Returns the inputs of an execution: those of the file, then each `NAME=VALUE`. VALUE is JSON if it parses, else text."""
    inputs = _inputs_of_file(file) if file else {}
    seen: set[str] = set()
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(
                f"{flag} {shorten(pair)}: expected NAME=VALUE",
                remedy=f"such as {flag} url=http://localhost/",
            )
        if name.strip() in seen:
            raise UsageError(f"{flag} {shorten(name.strip())} is given twice", remedy="keep one of them")
        seen.add(name.strip())
        inputs[name.strip()] = json_or_text(value)
    return inputs


def _inputs_of_file(file: str) -> dict[str, Any]:
    inputs = parse_json(decode_text(read_bytes(file), file), file)
    if not isinstance(inputs, dict):
        raise UsageError(f"{file}: expected a JSON object of inputs")
    return inputs


def parse_result(text: str) -> Any:
    """Parses the value of `--result`: JSON if it parses, else text. A text that begins as JSON does is taken for a typing
    error, because what depends on the step would get it as a text."""
    if text.lstrip()[:1] in ("{", "[", '"'):
        return parse_json(text, "--result")
    return json_or_text(text)


def parse_policy(text: str) -> dict[str, Any]:
    """Parses the value of `--policy`: the fields of a policy that change."""
    changes = parse_json(text, "--policy")
    if not isinstance(changes, dict):
        raise UsageError(
            "--policy: expected a JSON object with the fields that change",
            remedy='such as --policy \'{"initial_delay": "10s"}\'',
        )
    return changes
