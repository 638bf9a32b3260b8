"""Installs, lists and removes packs, and gives workers their contents."""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from tenax.engine.context import EngineContext
from tenax.engine.definitions.reader_processes import TaskNotDone
from tenax.engine.packs.installed import find_action
from tenax.engine.packs.uploads import chunks_of, uploaded
from tenax.errors import InvalidInput, NotFound, UsageError
from tenax.model.events import event, timestamp
from tenax.model.events.data import OperatorData
from tenax.model.events.types import OperatorAction
from tenax.model.inputs.inputs import DefinitionLimits
from tenax.model.packs.action import ActionDefinition
from tenax.model.packs.archive import CHUNK
from tenax.model.packs.manifest import Manifest
from tenax.model.packs.names import is_action_ref
from tenax.model.packs.views import (
    ActionParameter,
    InstalledPackAnswer,
    PackActionInfo,
    PackInfo,
    RemovedPack,
)
from tenax.model.source.findings import shorten, suggest
from tenax.policy.packs.read_pack import PackLimits
from tenax.store.connect import Connection
from tenax.store.fleet import workers
from tenax.store.tables import packs
from tenax.store.tables.packs import InstalledPack

KEPT_SECONDS = 3600.0
"""Seconds for which the content of a replaced or removed pack is kept: an execution that is just being submitted may use it."""


class PackLibrary:
    """Keeps the packs that are installed."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    async def install(
        self, pieces: AsyncIterator[bytes], *, folder: str | None, actor: str
    ) -> InstalledPackAnswer:
        """Installs a pack from its archive, in the place of an earlier one of its name. `folder` is its name if its
        `pack.yaml` says none."""
        async with uploaded(pieces, self._context.settings.max_pack) as path:
            manifest = await self._read(path, folder)
            async with self._context.transaction() as tx:
                await _store_content(tx, manifest.hash, path)
                before = await packs.put_pack(tx, manifest, actor)
                if before != manifest.hash:
                    await _log(tx, "pack_install", manifest.name, manifest.hash, actor)
        return InstalledPackAnswer(
            name=manifest.name,
            version=manifest.version,
            hash=manifest.hash,
            actions=_refs(manifest),
            replaced=before if before != manifest.hash else None,
            created=before != manifest.hash,
        )

    async def remove(self, name: str, *, actor: str) -> RemovedPack:
        """Removes a pack. Executions that use it keep its content."""
        async with self._context.transaction() as tx:
            removed = await packs.remove_pack(tx, name)
            if removed is None:
                raise _no_pack(name, await packs.list_names(tx))
            await _log(tx, "pack_remove", name, removed, actor)
        return RemovedPack(name=name, hash=removed, removed=True)

    async def list(self) -> list[PackInfo]:
        async with self._context.view() as tx:
            return [_info(one) for one in await packs.list_packs(tx)]

    async def get(self, name: str) -> PackInfo:
        async with self._context.view() as tx:
            found = await packs.load_pack(tx, name)
            if found is None:
                raise _no_pack(name, await packs.list_names(tx))
        return _info(found)

    async def actions(self, pack: str | None = None) -> Sequence[PackActionInfo]:
        """Lists the actions of all packs, or of one."""
        async with self._context.view() as tx:
            found = await packs.list_packs(tx)
        if pack is not None:
            named = [one for one in found if one.manifest.name == pack]
            if not named:
                raise _no_pack(pack, [one.manifest.name for one in found])
            found = named
        return [
            _action_info(one.manifest, action) for one in found for action in one.manifest.actions.values()
        ]

    async def action(self, ref: str) -> PackActionInfo:
        check_ref(ref)
        manifest, bound = await find_action(self._context, ref)
        return _action_info(manifest, bound.definition)

    async def chunk(self, content: str, number: int) -> bytes:
        """Returns a chunk of a content, which is empty after the last one."""
        async with self._context.transaction() as tx:
            found = await packs.load_chunk(tx, content, number)
        if found is None:
            raise NotFound(
                f"the content {shorten(content, 12)} of a pack is not stored any more",
                remedy="install the pack again, and run the step again",
            )
        return found

    async def _read(self, path: Path, folder: str | None) -> Manifest:
        settings = self._context.settings
        limits = PackLimits(settings.max_pack, DefinitionLimits(schema=settings.max_schema))
        arguments = (str(path), folder, self._context.reading.server_retry, limits)
        try:
            [found] = await self._context.reading.reader_processes.run(
                "read_pack", *arguments, seconds=settings.definition_time
            )
        except TaskNotDone:
            raise InvalidInput(
                f"the pack could not be read within {settings.definition_time:g} s of processor time "
                f"(`definition_time`) and {settings.aside_memory:,} bytes of memory (`aside_memory`)",
                remedy="make its files smaller, or fewer",
            ) from None
        manifest: Manifest = pickle.loads(found)  # noqa: S301 -- our own process wrote it
        return manifest


def check_ref(ref: str) -> None:
    """Raises UsageError if a text cannot name an action."""
    if not is_action_ref(ref):
        raise UsageError(f"{shorten(repr(ref))} does not name an action", remedy="write it as PACK.ACTION")


async def delete_unused_packs(context: EngineContext) -> list[str]:
    """Deletes the contents that no installed pack has and that no open execution uses. Returns their hashes."""
    async with context.transaction() as tx:
        return await packs.delete_unused(tx, KEPT_SECONDS)


async def _store_content(tx: Connection, content: str, path: Path) -> None:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if not await packs.ensure_content(tx, content, -(-size // CHUNK)):
            return
        chunks = chunks_of(file)
        number = 0
        while chunk := await asyncio.to_thread(next, chunks, b""):
            await packs.insert_chunk(tx, content, number, chunk)
            number += 1


async def _log(tx: Connection, action: str, pack: str, content: str, actor: str) -> None:
    data = OperatorData(action=action, pack=pack, content=content, actor=actor, reason=None)
    await workers.log_action(tx, event(OperatorAction, data=data))


def _no_pack(name: str, known: list[str]) -> NotFound:
    return NotFound(
        f"there is no pack named {shorten(name)!r}{suggest(name, known)}",
        remedy="`tenax pack list` shows the installed packs",
    )


def _refs(manifest: Manifest) -> list[str]:
    return [f"{manifest.name}.{action}" for action in manifest.actions]


def _info(pack: InstalledPack) -> PackInfo:
    manifest, installed_at = pack.manifest, timestamp(pack.installed_at)
    assert installed_at is not None
    return PackInfo(
        name=manifest.name,
        version=manifest.version,
        description=manifest.description,
        hash=manifest.hash,
        files=manifest.files,
        size=manifest.size,
        actions=_refs(manifest),
        installed_at=installed_at,
        installed_by=pack.installed_by,
    )


def _action_info(manifest: Manifest, action: ActionDefinition) -> PackActionInfo:
    policy = manifest.policies[action.name]
    return PackActionInfo(
        ref=f"{manifest.name}.{action.name}",
        pack=manifest.name,
        version=manifest.version,
        hash=manifest.hash,
        description=action.description,
        runtime=action.runtime,
        entrypoint=action.entrypoint,
        command=list(action.command) if isinstance(action.command, tuple) else action.command,
        env=dict(action.env),
        timeout=action.timeout,
        retry=action.retry,
        max_attempts=policy["max_attempts"],
        parameters={
            name: ActionParameter(required=one.required, schema=dict(one.schema), default=one.default)
            for name, one in sorted(
                action.parameters.items(), key=lambda pair: (not pair[1].required, pair[0])
            )
        },
    )
