"""Reads workflow files from disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tenax.errors import UsageError
from tenax.model.source.findings import shorten

MAX_FILE_SIZE = 64_000_000
"""Bytes that are read of a file. The reader of definitions has a smaller limit and a better message for it."""


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """Holds a workflow file as text."""

    text: str
    filename: str
    """The name as the user gave it, for messages."""
    folder: str
    """The folder of the file, in which modules, scripts and other workflow files are searched."""


def read_definition(path: str | Path) -> DefinitionFile:
    name = str(path)
    return DefinitionFile(decode_text(read_bytes(name), name), name, folder_of(name))


def folder_of(name: str) -> str:
    return str(Path(name).resolve().parent)


def read_bytes(name: str) -> bytes:
    try:
        with Path(name).open("rb") as file:
            return file.read(MAX_FILE_SIZE)
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
