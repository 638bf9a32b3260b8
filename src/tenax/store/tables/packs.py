"""Stores packs: what is installed under a name, and the contents in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenax.model.json_text import decode, encode
from tenax.model.packs.manifest import Manifest
from tenax.store.connect import Connection
from tenax.store.statements import sql


@dataclass(frozen=True, slots=True)
class InstalledPack:
    manifest: Manifest
    installed_at: datetime
    installed_by: str


async def ensure_content(tx: Connection, hash_: str, chunks: int) -> bool:
    """Stores the row of a content, for its chunks. Returns False if the content is stored already, with its chunks."""
    return bool(await tx.fetchval(sql("ensure_pack_content"), hash_, chunks))


async def insert_chunk(tx: Connection, hash_: str, number: int, data: bytes) -> None:
    await tx.execute(sql("insert_pack_chunk"), hash_, number, data)


async def load_chunk(tx: Connection, hash_: str, number: int) -> bytes | None:
    """Returns a chunk, which is empty after the last one. Returns None if the content is not stored."""
    row = await tx.fetchrow(sql("load_pack_chunk"), hash_, number)
    return None if row is None else row["data"] or b""


async def put_pack(tx: Connection, manifest: Manifest, actor: str) -> str | None:
    """Makes the content the meaning of its name. Returns the content that the name meant before."""
    body = encode(manifest.as_dict())
    before: str | None = await tx.fetchval(sql("put_pack"), manifest.name, manifest.hash, body, actor)
    return before


async def remove_pack(tx: Connection, name: str) -> str | None:
    """Removes a pack. Returns its content, or None if there is no such pack."""
    removed: str | None = await tx.fetchval(sql("remove_pack"), name)
    return removed


async def list_packs(tx: Connection) -> list[InstalledPack]:
    return [_installed(row) for row in await tx.fetch(sql("list_packs"))]


async def list_names(tx: Connection) -> list[str]:
    return [row["name"] for row in await tx.fetch(sql("list_pack_names"))]


async def find_packs(tx: Connection, names: Sequence[str]) -> dict[str, str]:
    """Returns the content that each of these names means now."""
    return {row["name"]: row["hash"] for row in await tx.fetch(sql("find_packs"), list(names))}


async def load_pack(tx: Connection, name: str) -> InstalledPack | None:
    row = await tx.fetchrow(sql("load_pack"), name)
    return None if row is None else _installed(row)


async def delete_unused(tx: Connection, seconds: float) -> list[str]:
    """Deletes contents that nothing uses and that were released at least this many seconds ago. Returns their hashes."""
    return [row["hash"] for row in await tx.fetch(sql("delete_unused_packs"), seconds)]


def _installed(row: Any) -> InstalledPack:
    manifest = Manifest.from_dict(decode(row["manifest"]))
    return InstalledPack(manifest, row["installed_at"], row["installed_by"])
