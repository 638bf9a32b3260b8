"""Tests the packs that a worker keeps: fetched once, checked, shared, and dropped when there is no room."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from support.packs import packed

from tenax.errors import NotFound, TooLarge
from tenax.model.packs.archive import ContentHash, read_archive
from tenax.worker.packs.cache import PackCache
from tenax.worker.packs.unpack import DamagedPack

SCRIPT = {"run.sh": "#!/bin/sh\necho hi\n", "lib/x.txt": "x" * 1_000}


def hash_of(archive: bytes) -> str:
    found = ContentHash()
    for one in read_archive(io.BytesIO(archive), 10**9):
        digest = hashlib.sha256(b"".join(one.pieces())).hexdigest()
        found.add(one.path, digest, executable=one.executable)
    return found.hexdigest()


class Source:
    """The server's side: contents by hash, in chunks of 1,000 bytes. It counts what it is asked for."""

    def __init__(self, *archives: bytes) -> None:
        self.archives = {hash_of(archive): archive for archive in archives}
        self.asked: list[tuple[str, int]] = []

    async def fetch(self, content: str, number: int) -> bytes:
        self.asked.append((content, number))
        await asyncio.sleep(0)
        if content not in self.archives:
            raise NotFound("gone")
        return self.archives[content][number * 1_000 : (number + 1) * 1_000]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def go(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 60))  # type: ignore[arg-type]


def test_a_pack_is_fetched_once_and_unpacked_whole(tmp_path: Path) -> None:
    archive = packed(SCRIPT, executable=("run.sh",))
    source, content = Source(archive), hash_of(archive)

    async def work() -> None:
        cache = PackCache(source.fetch, tmp_path / "packs")

        async def use() -> str:
            async with cache.using(content) as folder:
                assert (folder / "lib" / "x.txt").read_text() == "x" * 1_000
                assert os.access(folder / "run.sh", os.X_OK)
                assert (folder / "run.sh").stat().st_mode & 0o222 == 0
                return str(folder)

        folders = await asyncio.gather(*(use() for _ in range(20)))
        assert set(folders) == {str(tmp_path / "packs" / content)}
        await cache.close()

    go(work)
    assert source.asked == [(content, n) for n in range(-(-len(archive) // 1_000) + 1)]
    other = Source()  # the next worker of this machine asks for nothing

    async def again() -> None:
        async with PackCache(other.fetch, tmp_path / "packs").using(content):
            pass

    go(again)
    assert other.asked == []
    assert names(tmp_path / "packs") == [content, f"{content}.lock"]


def test_a_damaged_pack_is_fetched_again_and_then_refused(tmp_path: Path) -> None:
    archive = packed(SCRIPT)
    content = hash_of(archive)
    whole, damaged = Source(archive), Source()
    damaged.archives[content] = archive.replace(b"echo hi", b"echo ho")

    async def work() -> None:
        turns = iter([damaged, whole])
        current: list[Source] = []

        async def fetch(content: str, number: int) -> bytes:
            if number == 0:
                current[:] = [next(turns)]
            return await current[0].fetch(content, number)

        async with PackCache(fetch, tmp_path / "once").using(content) as folder:
            assert (folder / "run.sh").read_text() == SCRIPT["run.sh"]
        with pytest.raises(DamagedPack, match="its checksum is"):
            async with PackCache(damaged.fetch, tmp_path / "always").using(content):
                pass
        assert names(tmp_path / "always") == []

    go(work)


def overwrite(path: Path) -> None:
    path.chmod(0o644)
    path.write_text("junk")


@pytest.mark.parametrize("damage", [Path.unlink, overwrite, lambda path: path.chmod(0o777)])
@pytest.mark.parametrize("life", ["the same worker", "the next worker"])
def test_a_pack_that_was_changed_in_the_cache_is_fetched_again(
    tmp_path: Path, damage: Callable[[Path], None], life: str
) -> None:
    archive = packed(SCRIPT)
    source, content = Source(archive), hash_of(archive)

    async def work() -> None:
        cache = PackCache(source.fetch, tmp_path)
        async with cache.using(content) as folder:
            compiled = folder / "__pycache__"
            compiled.mkdir()
            (compiled / "x.pyc").write_text("")
            (folder / "log.txt").write_text("an action should not, but may")
        asked = len(source.asked)
        async with cache.using(content):
            assert len(source.asked) == asked  # what was added is no damage
        damage(folder / "run.sh")
        if life == "the next worker":
            cache = PackCache(source.fetch, tmp_path)
        async with cache.using(content):
            assert (folder / "run.sh").read_text() == SCRIPT["run.sh"]
            assert not os.access(folder / "run.sh", os.X_OK)
        assert len(source.asked) == 2 * asked

    go(work)


def test_a_damaged_pack_that_others_use_fails_the_attempt(tmp_path: Path) -> None:
    archive = packed(SCRIPT)
    source, content = Source(archive), hash_of(archive)

    async def work() -> None:
        cache = PackCache(source.fetch, tmp_path)
        async with cache.using(content) as folder:
            overwrite(folder / "run.sh")
            with pytest.raises(DamagedPack, match="were changed, and other attempts use them"):
                async with cache.using(content):
                    pass
        async with cache.using(content):
            assert (folder / "run.sh").read_text() == SCRIPT["run.sh"]

    go(work)


@pytest.mark.parametrize("data", [b"", b"noise" * 1_000, packed({"a": "x"})[:600]])
def test_what_is_no_archive_is_damaged(tmp_path: Path, data: bytes) -> None:
    source = Source()
    source.archives["0" * 64] = data

    async def work() -> None:
        with pytest.raises(DamagedPack):
            async with PackCache(source.fetch, tmp_path / "packs").using("0" * 64):
                pass

    go(work)


def test_a_removed_content_is_not_found_and_leaves_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        cache = PackCache(Source().fetch, tmp_path / "packs")
        for _ in range(2):
            with pytest.raises(NotFound):
                async with cache.using("0" * 64):
                    pass

    go(work)
    assert names(tmp_path / "packs") == []


def test_packs_that_were_unused_for_longest_are_dropped(tmp_path: Path) -> None:
    archives = [packed({"data": str(n) * 4_000}) for n in range(4)]
    source, hashes = Source(*archives), [hash_of(one) for one in archives]
    folder = tmp_path / "packs"

    def kept() -> set[str]:
        return {path.name for path in folder.iterdir() if path.is_dir()}

    async def work() -> None:
        cache = PackCache(source.fetch, folder, 9_000)
        for at, content in enumerate(hashes[:2]):
            async with cache.using(content):
                pass
            os.utime(folder / f"{content}.lock", (at, at))
        async with cache.using(hashes[2]):
            assert kept() == set(hashes[1:3])  # the first one was unused for longest
        async with AsyncExitStack() as held:
            for content in hashes[1:3]:
                await held.enter_async_context(cache.using(content))
            async with cache.using(hashes[3]):  # those in use stay, also beyond the limit
                assert kept() == set(hashes[1:])
        async with cache.using(hashes[0]):
            assert len(kept()) == 2
            assert hashes[0] in kept()

    go(work)


def test_an_attempt_of_another_process_keeps_its_pack(tmp_path: Path) -> None:
    """Two caches on one folder stand for two processes: the locks are those of open files."""
    archives = [packed({"data": str(n) * 4_000}) for n in range(2)]
    source, (first, second) = Source(*archives), map(hash_of, archives)

    async def work() -> None:
        one, two = (PackCache(source.fetch, tmp_path / "packs", 5_000) for _ in range(2))
        async with one.using(first) as folder, two.using(second):
            assert folder.is_dir()
        async with two.using(second):
            pass

    go(work)


def test_a_pack_beyond_the_cache_is_refused(tmp_path: Path) -> None:
    archive = packed({"data": "x" * 50_000_000})
    source = Source(archive)

    async def work() -> None:
        with pytest.raises((TooLarge, DamagedPack), match=r"pack_cache|max_pack"):
            async with PackCache(source.fetch, tmp_path / "packs", 1_000).using(hash_of(archive)):
                pass

    source.fetch = _large(source)  # type: ignore[method-assign]
    go(work)
    assert names(tmp_path / "packs") == []


def _large(source: Source) -> Callable[[str, int], Awaitable[bytes]]:
    async def fetch(content: str, number: int) -> bytes:
        return source.archives[content][number * 1_000_000 : (number + 1) * 1_000_000]

    return fetch


def test_without_a_folder_nothing_is_left() -> None:
    archive = packed(SCRIPT)

    async def work() -> None:
        cache = PackCache(Source(archive).fetch)
        async with cache.using(hash_of(archive)) as folder:
            pass
        assert folder.is_dir()
        await cache.close()
        assert not folder.parent.exists()

    go(work)
