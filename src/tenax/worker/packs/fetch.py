"""Fetches the contents of packs from the server, chunk by chunk, over outages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tenax.errors import TooLarge
from tenax.worker.link import Link, LinkDown
from tenax.worker.transport import Transport

FetchChunk = Callable[[str, int], Awaitable[bytes]]
"""Returns a chunk of a content by its number. It is empty after the last one."""


def fetches_over(transport: Transport, link: Link) -> FetchChunk:
    """Returns the function that fetches a chunk. It waits while the server cannot be reached."""

    async def fetch(content: str, number: int) -> bytes:
        while True:
            try:
                return await link.call(transport.pack_chunk(content, number))
            except LinkDown:
                await link.pause()

    return fetch


async def download(fetch: FetchChunk, content: str, target: Path, most: int) -> None:
    """Writes a whole archive to a file. Raises TooLarge if it has more than `most` bytes."""
    number = size = 0
    with target.open("xb") as file:
        while chunk := await fetch(content, number):
            size += len(chunk)
            if size > most:
                raise TooLarge(
                    f"the pack {content[:12]} is larger than the worker keeps: {most:,} bytes (pack_cache)",
                    remedy="raise pack_cache (TENAX_PACK_CACHE) on the worker",
                )
            await asyncio.to_thread(file.write, chunk)
            number += 1
