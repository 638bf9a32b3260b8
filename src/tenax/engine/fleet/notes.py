"""Takes the notes of workers: the checkpoints, the progress and the output of running attempts.

Notes change no state: nothing is decided by them, and a note that is lost costs nothing but itself.
"""

from __future__ import annotations

import hmac

import structlog

from tenax.engine.context import EngineContext
from tenax.model.wire import AttemptNotes, AttemptNotesAnswer, Held, HeldCheckpoint, OutputPart
from tenax.policy.receipt import receipt
from tenax.store.live.checkpoints import note_checkpoints
from tenax.store.live.output import note_output
from tenax.store.live.progress import note_progress

_log = structlog.get_logger("tenax.notes")


async def take_notes(context: EngineContext, notes: AttemptNotes) -> AttemptNotesAnswer:
    """Keeps what running attempts tell. A checkpoint or progress needs a valid lease, and output the receipt of its item."""
    checkpoints = [one for one in notes.checkpoints if _is_within_limit(context, notes.worker, one)]
    output = [part for part in notes.output if _is_authentic(context, part)]
    believed: set[str] = set()
    async with context.transaction() as tx:
        if checkpoints:
            believed = await note_checkpoints(tx, checkpoints)
        if notes.progress:
            await note_progress(tx, notes.progress)
        if output:
            await note_output(tx, output, context.settings.max_output)
    revoked = [Held(one.item_id, one.token) for one in checkpoints if one.token not in believed]
    return AttemptNotesAnswer(tuple(revoked))


def _is_within_limit(context: EngineContext, worker: str, told: HeldCheckpoint) -> bool:
    size, most = len(told.value.encode()), context.settings.max_checkpoint
    if size > most:
        _log.warning(
            "a checkpoint is too large and was not kept", worker=worker, bytes=size, max_checkpoint=most
        )
    return size <= most


def _is_authentic(context: EngineContext, part: OutputPart) -> bool:
    """Returns whether the worker knows the receipt of the item: it has leased the item, now or before."""
    return context.settings.max_output > 0 and hmac.compare_digest(
        receipt(context.secret, part.execution_id, part.item_id).encode(), part.receipt.encode()
    )
