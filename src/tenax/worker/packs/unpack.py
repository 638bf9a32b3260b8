"""Unpacks the archive of a pack into a folder, and checks that the content is the one that was asked for."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from tenax.errors import InvalidInput, TooLarge
from tenax.model.packs.archive import CHUNK, ContentHash, read_archive

Signature = frozenset[tuple[str, int, int, int]]
"""The path, the size, the mode and the time of the last change of each file. As long as it is the same, so is the content."""
_WRITABLE = 0o200
"""The mode of files that actions and Python have added. The files of a pack have no such bit."""


class DamagedPack(Exception):
    """The archive is not the content that was asked for."""


def unpack(archive: Path, folder: Path, content: str, most: int) -> None:
    """Unpacks an archive into a new folder. Raises DamagedPack if its content has another hash than `content`.

    The files cannot be written afterwards, since attempts share them.
    """
    found = ContentHash()
    folder.mkdir()
    try:
        with archive.open("rb") as stream:
            for one in read_archive(stream, most):
                target = folder / one.path
                target.parent.mkdir(parents=True, exist_ok=True)
                digest = hashlib.sha256()
                with target.open("xb") as file:
                    for piece in one.pieces():
                        digest.update(piece)
                        file.write(piece)
                target.chmod(0o555 if one.executable else 0o444)
                found.add(one.path, digest.hexdigest(), executable=one.executable)
    except (InvalidInput, TooLarge) as error:
        raise DamagedPack(f"the pack {content[:12]} arrived damaged: {error.message}") from None
    if found.hexdigest() != content:
        raise DamagedPack(
            f"the pack {content[:12]} arrived damaged: its checksum is {found.hexdigest()[:12]}"
        )


def content_of(folder: Path) -> str:
    """Returns the hash of the content that is in a folder now."""
    found = ContentHash()
    for path, stat in _files_of(folder):
        digest = hashlib.sha256()
        with (folder / path).open("rb") as file:
            while piece := file.read(CHUNK):
                digest.update(piece)
        found.add(path, digest.hexdigest(), executable=bool(stat.st_mode & 0o100))
    return found.hexdigest()


def signature_of(folder: Path) -> Signature:
    return frozenset((path, stat.st_size, stat.st_mode, stat.st_mtime_ns) for path, stat in _files_of(folder))


def _files_of(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yields the pack's files below a folder, of which there may be 10,000, by their paths in the pack."""
    pending = [""]
    while pending:
        below = pending.pop()
        with os.scandir(folder / below) as entries:
            for one in entries:
                if one.is_dir(follow_symlinks=False):
                    pending.append(f"{below}{one.name}/")
                elif not (found := one.stat(follow_symlinks=False)).st_mode & _WRITABLE:
                    yield below + one.name, found
