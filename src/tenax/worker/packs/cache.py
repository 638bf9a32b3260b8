"""Gives attempts the folders of packs. A pack that is not there yet is fetched once, however many attempts wait for it."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from functools import cached_property
from pathlib import Path

from tenax.model.packs.archive import largest_archive
from tenax.worker.packs.fetch import FetchChunk, download
from tenax.worker.packs.kept_folders import KeptFolders, Lock
from tenax.worker.packs.unpack import DamagedPack, unpack

CACHE_SIZE = 1_000_000_000
"""Bytes of the packs that a worker keeps, unless the setting `pack_cache` says otherwise."""
TRIES = 2
"""Number of times that a pack is fetched. If it arrives damaged each time, the attempt fails."""


class PackCache:
    """Keeps the packs of one worker. Without a `folder`, they are in a temporary one, which is removed at the end."""

    def __init__(self, fetch: FetchChunk, folder: Path | None = None, most: int = CACHE_SIZE) -> None:
        self._fetch = fetch
        self._folder = folder
        self._most = most
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._under_way: dict[str, asyncio.Task[None]] = {}

    @contextlib.asynccontextmanager
    async def using(self, content: str) -> AsyncIterator[Path]:
        """Gives the folder of a content, which stays until the block ends.

        Raises NotFound if the server has no such content, and DamagedPack if it does not arrive whole.
        """
        lock = await self._lock(content)
        try:
            yield self._kept.folder_of(content)
        finally:
            lock.release()

    async def close(self) -> None:
        for fetching in self._under_way.values():
            fetching.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        if self._temporary is not None:
            await asyncio.to_thread(self._temporary.cleanup)

    @cached_property
    def _kept(self) -> KeptFolders:
        if self._folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="tenax-packs-")
            return KeptFolders(Path(self._temporary.name), self._most)
        return KeptFolders(self._folder, self._most)

    async def _lock(self, content: str) -> Lock:
        while (lock := await asyncio.to_thread(self._kept.use, content)) is None:
            fetching = self._under_way.get(content)
            if fetching is None:
                fetching = self._under_way[content] = asyncio.create_task(self._bring(content))
                fetching.add_done_callback(lambda done: self._note_done(content, done))
            await asyncio.shield(fetching)
        return lock

    def _note_done(self, content: str, done: asyncio.Task[None]) -> None:
        del self._under_way[content]
        if not done.cancelled():
            done.exception()  # every attempt that waited for it may be gone

    async def _bring(self, content: str) -> None:
        for left in reversed(range(TRIES)):
            try:
                await self._bring_once(content)
            except DamagedPack:
                if not left:
                    raise
            else:
                return

    async def _bring_once(self, content: str) -> None:
        unfinished = await asyncio.to_thread(self._kept.unfinished)
        try:
            archive, unpacked = unfinished / "pack.tar", unfinished / "pack"
            await download(self._fetch, content, archive, largest_archive(self._most))
            await asyncio.to_thread(unpack, archive, unpacked, content, self._most)
            await asyncio.to_thread(self._kept.keep, unpacked, content)
        finally:
            await asyncio.to_thread(self._kept.discard, unfinished)
