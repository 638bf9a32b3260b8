"""Keeps the inputs of executions that were submitted through this server. It is only a cache."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

from tenax.model.json_text import decode
from tenax.store.connect import Connection
from tenax.store.tables.live_items import load_inputs, load_small_inputs
from tenax.store.time_slices import TimeSlice

MOST_REMEMBERED = 10_000  # executions whose inputs are kept


class InputCache:
    """Keeps the small inputs of the newest executions as the database has them, so that leasing their steps need not
    read them. Inputs never change."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def note(self, texts: Mapping[int, str | None]) -> None:
        self._texts |= {id_: text for id_, text in texts.items() if text is not None}
        for id_ in list(islice(self._texts, max(0, len(self._texts) - MOST_REMEMBERED))):
            del self._texts[id_]

    def recall(self, execution_id: int) -> dict[str, Any] | None:
        """Returns the cached inputs of an execution, or None if they are not in the cache."""
        text = self._texts.get(execution_id)
        return None if text is None else decode(text)

    async def load(self, tx: Connection, executions: Collection[int]) -> dict[int, dict[str, Any]]:
        """Loads the inputs of executions. Each caller gets its own copy, which it may change."""
        found = {id_: self._texts.get(id_) for id_ in executions}
        if unknown := sorted(id_ for id_, text in found.items() if text is None):
            found |= await load_inputs(tx, unknown)
        return await _decoded(found)

    async def load_small(
        self, tx: Connection, executions: Collection[int], most: int
    ) -> dict[int, dict[str, Any]]:
        """Loads inputs as `load` does, without those of more than `most` bytes."""
        found: dict[int, str | None] = {id_: self._texts[id_] for id_ in executions if id_ in self._texts}
        if unknown := sorted(id_ for id_ in executions if id_ not in found):
            found |= await load_small_inputs(tx, unknown, most)
        return await _decoded(found)


async def _decoded(texts: Mapping[int, str | None]) -> dict[int, dict[str, Any]]:
    loaded: dict[int, dict[str, Any]] = {}
    time_slice = TimeSlice()
    for id_, text in texts.items():
        if time_slice.is_over:
            await time_slice.give_way()
        loaded[id_] = decode(text) or {}
    return loaded
