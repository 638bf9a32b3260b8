"""Finds what a reference to an action means now."""

from __future__ import annotations

from tenax.engine.context import EngineContext
from tenax.errors import NotFound
from tenax.model.packs.action import BoundAction
from tenax.model.packs.manifest import Manifest
from tenax.model.packs.names import split_ref
from tenax.model.source.findings import shorten, suggest
from tenax.store.tables import packs


async def find_action(context: EngineContext, ref: str) -> tuple[Manifest, BoundAction]:
    """Returns what a reference to an action means now. Raises NotFound with the nearest name."""
    name, _ = split_ref(ref)
    async with context.transaction() as tx:
        found = await context.manifests.find(tx, [name])
        others = [] if name in found else await packs.list_names(tx)
    return bind(ref, found, others)


def bind(ref: str, found: dict[str, Manifest], others: list[str]) -> tuple[Manifest, BoundAction]:
    """Binds a reference to the manifest of its pack. `others` are the names of the installed packs, for the error."""
    name, action = split_ref(ref)
    manifest = found.get(name)
    if manifest is None:
        raise NotFound(
            f"there is no pack named {shorten(name)!r}{suggest(name, others)}",
            remedy="`tenax pack list` shows the installed packs; `tenax pack install FOLDER` installs one",
        )
    definition = manifest.actions.get(action)
    if definition is None:
        raise NotFound(
            f"the pack {name} has no action {shorten(action)!r}{suggest(action, list(manifest.actions))}",
            remedy=f"`tenax pack show {name}` lists its actions",
        )
    return manifest, BoundAction(name, manifest.hash, definition)
