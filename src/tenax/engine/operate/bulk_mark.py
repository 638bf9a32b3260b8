"""Marks an item of a bulk job as done, in the transaction of the action on it."""

from __future__ import annotations

from dataclasses import dataclass

from tenax.store.connect import Connection
from tenax.store.selection import bulk_jobs


class NotMarked(Exception):
    """The job was stopped, or the item was acted on already. The transaction of the action is undone."""


@dataclass(frozen=True, slots=True)
class BulkMark:
    """Marks the items of a bulk job that one action acts on as done.

    The action and its mark are one transaction. So each item is acted on exactly once, whatever server does it and
    whenever it is killed, and no item is acted on after the job was stopped.
    """

    job_id: int
    items: tuple[int, ...]

    async def set(self, tx: Connection) -> None:
        """Marks the items. Raises NotMarked."""
        if not await bulk_jobs.mark_done(tx, self.job_id, self.items):
            raise NotMarked
