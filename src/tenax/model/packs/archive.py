"""Writes and reads the content of a pack as an uncompressed tar archive, in a stream that the caller opened.

Only regular files are accepted. So no archive can lead a reader out of the folder into which it unpacks.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, BinaryIO, NamedTuple

from tenax.errors import InvalidInput, TooLarge
from tenax.model.packs.names import path_fault, shown_path

MAX_FILES = 10_000  # files in one pack
CHUNK = 1 << 20
"""Bytes of a file that are read at once, and of an archive that are stored in one row."""
MAX_CHUNKS = 1_000_000  # chunks of one archive; the number of a chunk is below it
_OVERHEAD = 2_000
"""Bytes that an archive needs for each file beside its content."""
_KINDS = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
}


class PackedFile(NamedTuple):
    """Is a file of a pack, before it is put into an archive."""

    path: str
    executable: bool
    content: bytes


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """Is a file of an archive. Its content must be read before the next file is asked for."""

    path: str
    executable: bool
    size: int
    content: IO[bytes]

    def pieces(self) -> Iterator[bytes]:
        """Yields the content in pieces. Raises InvalidInput if the archive ends before."""
        left = self.size
        while left:
            try:
                piece = self.content.read(min(left, CHUNK))
            except (tarfile.TarError, EOFError, ValueError) as error:
                raise _broken(str(error)) from None
            if not piece:
                raise _broken("it ends in the middle of a file")
            left -= len(piece)
            yield piece


class ContentHash:
    """Computes the identity of a pack: the hash of the paths, the contents and the executable bits of its files."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, path: str, digest: str, *, executable: bool) -> None:
        """Adds a file. `digest` is the SHA-256 of its content, in hexadecimal."""
        self._lines.append(f"{path}\0{'x' if executable else '-'}\0{digest}\n")

    def hexdigest(self) -> str:
        return hashlib.sha256("".join(("tenax-pack-1\n", *sorted(self._lines))).encode()).hexdigest()


def largest_archive(size: int) -> int:
    """Returns the most bytes of an archive whose files have `size` bytes together."""
    return size + MAX_FILES * _OVERHEAD + CHUNK


def write_archive(files: Iterable[PackedFile]) -> bytes:
    """Returns the archive of these files. The same files give the same bytes."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for one in sorted(files):
            info = tarfile.TarInfo(one.path)
            info.size, info.mode = len(one.content), 0o755 if one.executable else 0o644
            archive.addfile(info, io.BytesIO(one.content))
    return target.getvalue()


def read_archive(stream: BinaryIO, most: int) -> Iterator[ArchivedFile]:
    """Yields the files of an archive. `most` is the limit of the bytes of all files together.

    Raises InvalidInput if the archive holds anything but files with plain paths, and TooLarge if it holds too much.
    """
    taken: set[str] = set()
    folders: set[str] = set()
    size = 0
    for member, content in _members(stream):
        path = member.name.removeprefix("./")
        if member.isdir():
            if path not in ("", "."):
                _check_path(path)
            continue
        _check_file(member, path)
        size += member.size
        if len(taken) >= MAX_FILES:
            raise TooLarge(f"a pack has at most {MAX_FILES:,} files")
        if size > most:
            raise too_large(most)
        above = {path[:end] for end, letter in enumerate(path) if letter == "/"}
        if path in taken or path in folders or taken & above:
            raise InvalidInput(f"the pack has {shown_path(path)} twice, as a file or as a folder")
        taken.add(path)
        folders |= above
        yield ArchivedFile(path, bool(member.mode & 0o100), member.size, content)


def too_large(most: int) -> TooLarge:
    return TooLarge(
        f"a pack has at most {most:,} bytes in its files (max_pack)",
        remedy="leave data out of the pack, or raise max_pack (TENAX_MAX_PACK) on the server",
    )


def _members(stream: BinaryIO) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    try:
        with tarfile.open(fileobj=stream, mode="r|", errorlevel=2) as archive:
            while (member := archive.next()) is not None:
                archive.members.clear()  # type: ignore[attr-defined]  # otherwise the archive keeps every header
                yield member, archive.extractfile(member) or io.BytesIO() if member.isreg() else io.BytesIO()
    except (tarfile.TarError, EOFError, ValueError, OverflowError, UnicodeError) as error:
        raise _broken(str(error)) from None


def _check_file(member: tarfile.TarInfo, path: str) -> None:
    _check_path(path)
    if not member.isreg() or member.issparse():
        kind = _KINDS.get(member.type, "something other than a file")
        raise InvalidInput(
            f"{shown_path(path)} is {kind}: a pack holds only files",
            remedy="put the file itself into the pack",
        )


def _check_path(path: str) -> None:
    if (fault := path_fault(path)) is not None:
        raise InvalidInput(f"the path {shown_path(path)} {fault}")


def _broken(why: str) -> InvalidInput:
    return InvalidInput(
        f"the pack is not a readable archive: {why[:200]}",
        remedy="send an uncompressed tar: `tenax pack install FOLDER`, or `tar -C FOLDER -cf - .`",
    )
