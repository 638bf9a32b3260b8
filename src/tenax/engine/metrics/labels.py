"""Limits the number of values of each label. The first values get series of their own, for ever. All later ones are counted
under `other`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from tenax.model.metrics.counts import Counts
from tenax.store.connect import Connection
from tenax.store.metrics import roll_up

OTHER = "other"
Label = Literal["step", "reason"]
Named = dict[tuple[str, str], str]
"""The value to show, by the label and the real value."""


class Labels:
    """Finds the values to show. The caller holds the lock of the cursor, so only one server at a time adds values."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[tuple[str, str]] = set()

    def forget(self) -> None:
        """Forgets what was learned in a transaction that may not have been committed."""
        self._known.clear()

    async def of(self, tx: Connection, counts: Counts) -> Named:
        """Returns the label of every step and reason in the counts."""
        wanted = {("step", key.step) for key in counts.attempts} | {("reason", one) for one in counts.retries}
        if not wanted <= self._known:
            self._known = await roll_up.list_labels(tx)
            new = self._within_bounds(sorted(wanted - self._known))
            if new:
                await roll_up.add_labels(tx, new)
                self._known.update(new)
        return {one: one[1] if one in self._known else OTHER for one in wanted}

    def _within_bounds(self, values: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Returns the values that still get series of their own."""
        taken = {label: sum(known == label for known, _ in self._known) for label in ("step", "reason")}
        new = []
        for label, value in values:
            if taken[label] < self._most:
                taken[label] += 1
                new.append((label, value))
        return new
