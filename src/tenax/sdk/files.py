"""Workflow files, as they are read from a disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tenax.errors import UsageError
from tenax.model.parse.findings import shorten

LARGEST_FILE = 64_000_000
"""Far beyond any definition; its reader has its own, smaller limit, and says so with more words."""


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """A workflow file as text."""

    text: str
    filename: str
    """As it was named, for messages."""
    folder: str
    """Where it is, for the modules, scripts and workflow files beside it."""


def read_definition(path: str | Path) -> DefinitionFile:
    name = str(path)
    return DefinitionFile(decode_text(read_bytes(name), name), name, folder_of(name))


def folder_of(name: str) -> str:
    return str(Path(name).resolve().parent)


def read_bytes(name: str) -> bytes:
    try:
        with Path(name).open("rb") as file:
            return file.read(LARGEST_FILE)
    except FileNotFoundError:
        raise UsageError(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{name}: this is a folder, not a file") from None
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{shorten(name)}: cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None


def decode_text(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name}: not UTF-8 text: byte {error.start} is {content[error.start]:#04x}"
        ) from None
