"""Takes the archive of a pack into a file beside the server, so that no archive is in memory as a whole."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import BinaryIO

from tenax.model.packs.archive import CHUNK, largest_archive, too_large


@contextlib.asynccontextmanager
async def uploaded(pieces: AsyncIterator[bytes], most: int) -> AsyncIterator[Path]:
    """Writes the pieces of an archive to a file that exists until the block ends. `most` is the limit of the pack's files."""
    with tempfile.TemporaryDirectory(prefix="tenax-pack-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "pack.tar"
        with path.open("wb") as file:
            size = 0
            async for piece in pieces:
                size += len(piece)
                if size > largest_archive(most):
                    raise too_large(most)
                await asyncio.to_thread(file.write, piece)
        yield path


def chunks_of(file: BinaryIO) -> Iterator[bytes]:
    """Yields the chunks in which an archive is stored."""
    while chunk := file.read(CHUNK):
        yield chunk
