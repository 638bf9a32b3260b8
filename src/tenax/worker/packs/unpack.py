"""Unpacks the archive of a pack into a folder, and checks that the content is the one that was asked for."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tenax.errors import InvalidInput, TooLarge
from tenax.model.packs.archive import ContentHash, read_archive


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
