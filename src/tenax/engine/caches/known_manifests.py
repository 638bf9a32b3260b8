"""Keeps the manifests of packs. A manifest is read once for each content."""

from __future__ import annotations

from collections.abc import Iterable

from tenax.engine.caches.weighted_cache import WeightedCache
from tenax.model.packs.manifest import Manifest
from tenax.store.connect import Connection
from tenax.store.tables import packs

MANIFEST_MEMORY = 16_000_000  # bytes of the manifests in memory, by estimate
BYTES_OF_ACTION = 5_000
"""Bytes that an action of a manifest takes in memory."""


class KnownManifests:
    """Keeps the manifests of packs. One of a name and a content never changes."""

    def __init__(self) -> None:
        self._kept: WeightedCache[tuple[str, str], Manifest] = WeightedCache(
            MANIFEST_MEMORY, lambda manifest: BYTES_OF_ACTION * (1 + len(manifest.actions))
        )

    async def find(self, tx: Connection, names: Iterable[str]) -> dict[str, Manifest]:
        """Returns the manifests of the packs that are installed under these names now."""
        found: dict[str, Manifest] = {}
        for name, hash_ in (await packs.find_packs(tx, sorted(set(names)))).items():
            manifest = self._kept.use((name, hash_))
            if manifest is None:
                pack = await packs.load_pack(tx, name)
                if pack is None:  # removed in between
                    continue
                manifest = pack.manifest
                self._kept.keep((name, manifest.hash), manifest)
            found[name] = manifest
        return found
