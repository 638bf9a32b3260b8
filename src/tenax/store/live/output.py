"""Keeps what attempts print, and lists it."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.model.attempt.live_views import OutputChunk
from tenax.model.events import timestamp
from tenax.model.wire import OutputPart
from tenax.store.array_params import attributes
from tenax.store.connect import Connection
from tenax.store.live.checkpoints import NO_ITEM
from tenax.store.statements import sql

PAGE_PARTS = 1000
"""Parts of output in one page, as the statement has it."""
PAGE_BYTES = 1_000_000
"""Bytes of output in one page, unless a single part is larger."""


async def note_output(tx: Connection, told: Sequence[OutputPart], most: int) -> None:
    """Keeps parts of the output of attempts. Of an attempt that prints more than `most` bytes, the middle goes."""
    # The writers of one execution wait for each other.
    await tx.execute(sql("lock_output"), sorted({part.execution_id for part in told}))
    sizes = [len(part.text.encode()) for part in told]
    starts, texts = attributes(told, "start", "text")
    await tx.execute(sql("note_output"), *_places(told), starts, sizes, texts)
    ends = [part.start + size for part, size in zip(told, sizes, strict=True)]
    long = [n for n, end in enumerate(ends) if end > most]
    if long:
        places = _places([told[n] for n in long])
        await tx.execute(sql("cut_output"), *places, [ends[n] for n in long], most // 2)


def _places(told: Sequence[OutputPart]) -> list[list[object]]:
    """Returns the columns that say which attempts the parts belong to."""
    executions, steps, undoing, attempts = attributes(told, "execution_id", "step", "compensates", "attempt")
    numbers: list[object] = [NO_ITEM if part.item is None else part.item for part in told]
    return [executions, steps, numbers, undoing, attempts]


async def list_output(
    tx: Connection, execution_id: int, after: int, step: str | None, item: int | None, attempt: int | None
) -> list[tuple[int, OutputChunk]]:
    """Returns the next parts of output after an id, with their ids."""
    rows = await tx.fetch(sql("list_output"), execution_id, after, step, item, attempt, PAGE_BYTES)
    return [
        (
            row["id"],
            OutputChunk(
                step=row["step"],
                item=None if row["item_no"] == NO_ITEM else row["item_no"],
                compensation=row["compensates"],
                attempt=row["attempt"],
                at=timestamp(row["at"]),
                start=row["start"],
                size=row["size"],
                text=row["text"],
            ),
        )
        for row in rows
    ]
