"""Redrives the dead letters of a bulk job. The items of a fan-out are started again together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.operate.bulk_mark import BulkMark, NotMarked
from tenax.engine.operate.dead_letters import groups_of, start_again
from tenax.errors import Busy, TenaxError, Unreachable
from tenax.model.filters.letters import LetterFilter
from tenax.model.filters.parse import parse_letter_filter
from tenax.policy.letters import redrive_refusal
from tenax.store.selection import letters
from tenax.store.selection.bulk_jobs import BulkItem, RunningJob
from tenax.store.selection.letters import StoredLetter

_log = structlog.get_logger("tenax.bulk")


@dataclass(slots=True)
class RedriveTurn:
    """Holds the items of one turn that were not redriven, each with the reason."""

    skipped: dict[int, str] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    busy: int = 0
    """The number of items that stay pending, because their execution was locked for too long."""


async def redrive_items(context: EngineContext, job: RunningJob, items: Sequence[BulkItem]) -> RedriveTurn:
    """Redrives the letters of these items, each once: the action and the marks of its items are one transaction."""
    turn = RedriveTurn()
    numbers = {item.letter_id: item.n for item in items if item.letter_id is not None}
    async with context.transaction() as tx:
        found = await letters.get_letters(tx, list(numbers))
    statuses = LetterFilter(terms=parse_letter_filter(job.filter, stored=True)).all_statuses
    ready: list[StoredLetter] = []
    for letter_id, n in numbers.items():
        refusal = _refusal(found.get(letter_id), statuses)
        if refusal is None:
            ready.append(found[letter_id])
        else:
            turn.skipped[n] = refusal
    try:
        for group in groups_of(ready):
            await _redrive_group(context, job, group, numbers, turn)
    except NotMarked:
        _log.info("a bulk job was stopped, or another server works on it", job=job.id)
    return turn


def _refusal(found: StoredLetter | None, statuses: Sequence[str]) -> str | None:
    if found is None:
        return "the letter is gone"
    if found.letter.status not in statuses:
        return f"the letter is {found.letter.status} by now"
    return redrive_refusal(found.letter, found.execution_status, found.item_state)


async def _redrive_group(
    context: EngineContext,
    job: RunningJob,
    group: Sequence[StoredLetter],
    numbers: dict[int, int],
    turn: RedriveTurn,
) -> None:
    """Redrives a group. If that is refused, its letters are redriven one by one, so that one letter does not keep the others
    back."""
    places = tuple(numbers[one.letter.id] for one in group)
    try:
        await start_again(
            context, group, actor=job.started_by, reason=job.reason, mark=BulkMark(job.id, places)
        )
    except Busy as error:
        execution_id = group[0].letter.execution_id
        _log.warning(
            "an execution is busy; a bulk job tries it again",
            job=job.id, execution_id=execution_id, error=str(error),
        )  # fmt: skip
        turn.busy += len(group)
    except (NotMarked, Unreachable):
        raise
    except TenaxError as error:
        if len(group) == 1:
            turn.skipped[places[0]] = error.message
            return
        for one in group:
            await _redrive_group(context, job, [one], numbers, turn)
    except Exception as error:  # noqa: BLE001 -- the fault, whatever it is, concerns this execution only
        _log.exception("a redrive failed", job=job.id, execution_id=group[0].letter.execution_id)
        turn.failed |= dict.fromkeys(places, f"{type(error).__name__}: {error}")
