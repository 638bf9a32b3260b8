"""Views of dead letters: lists, groups by fingerprint, and one letter with the history of its item."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from tenax.engine.context import EngineContext, no_letter
from tenax.engine.views.executions import event_pages
from tenax.engine.views.explanations import explain
from tenax.engine.views.view_room import ViewRoom
from tenax.errors import UsageError
from tenax.model.events import ATTEMPT_ENDS, timestamp
from tenax.model.execution_views import Attempt, Event
from tenax.model.filters.letters import LetterFilter
from tenax.model.letters.views import DeadLetter, DeadLetterInFull, LetterGroup, LetterPayload
from tenax.model.metrics.series import LetterTrend
from tenax.model.state.attempt import WorkState
from tenax.model.state.execution import fold
from tenax.model.views import ExecutionStatus, Explanation
from tenax.policy.letters import redrive_refusal
from tenax.store import service
from tenax.store.selection import letters
from tenax.store.selection.letters import StoredGroup, StoredLetter
from tenax.store.tables import executions

LOG_ROWS_COUNTED = 50_000
"""Rows of the log. If the time of the groups has more, the attempts beside them are not counted."""
_ENDS = (*sorted(ATTEMPT_ENDS), "compensation_completed", "compensation_error")
_Minutes = Sequence[tuple[datetime, int]]


async def list_letters(
    context: EngineContext, wanted: LetterFilter, *, before: int | None, limit: int
) -> list[DeadLetter]:
    """Lists dead letters, the newest failure first."""
    async with context.view() as tx:
        return await letters.list_letters(tx, wanted, before=before, limit=limit)


async def group_letters(context: EngineContext, wanted: LetterFilter, *, limit: int) -> list[LetterGroup]:
    """Groups dead letters by their fingerprint, the largest group first."""
    async with context.view() as tx:
        found = await letters.group_letters(tx, wanted, limit)
        minutes = await letters.count_ended_attempts(tx, found, LOG_ROWS_COUNTED, _ENDS) if found else None
    return [_group(one, minutes) for one in found]


def _group(one: StoredGroup, minutes: _Minutes | None) -> LetterGroup:
    return LetterGroup(
        fingerprint=one.fingerprint,
        count=one.count,
        failed_times=one.failed_times,
        failure_class=one.failure_class,
        reason=one.reason,
        example=one.example,
        newest=one.newest,
        workflows=one.workflows,
        steps=one.steps,
        first_at=timestamp(one.first_at),
        last_at=timestamp(one.last_at),
        share=None if minutes is None else _share(one, minutes),
    )


def _share(one: StoredGroup, minutes: _Minutes) -> float | None:
    """Returns the part of the attempts that ended as one of these, in the minutes from the first to the last. Returns
    None if the log of that time is gone."""
    begin = one.first_at.replace(second=0, microsecond=0)
    total = sum(count for minute, count in minutes if begin <= minute <= one.last_at)
    return min(one.failed_times / total, 1.0) if total else None


async def letter_trends(
    context: EngineContext,
    fingerprints: Sequence[str],
    *,
    statuses: Sequence[str],
    since: datetime,
    spans: int,
) -> list[LetterTrend]:
    """Counts the letters of each fingerprint by the time of their last failure, from a time until now."""
    async with context.view() as tx:
        now = await service.now(tx)
        if since >= now:
            raise UsageError(f"since ({timestamp(since)}) must be earlier than now")
        width = (now - since).total_seconds() / spans
        found = await letters.count_by_time(tx, statuses, fingerprints, since, width)
    counts = {name: [0] * spans for name in fingerprints}
    for name, span, n in found:
        counts[name][min(span, spans - 1)] += n
    return [LetterTrend(fingerprint=name, counts=own) for name, own in counts.items()]


async def get_letter(context: EngineContext, letter_id: int) -> DeadLetterInFull:
    """Returns a dead letter with the attempts of its item, its last failure, its input, and the last decision."""
    async with context.view() as tx:
        found = (await letters.get_letters(tx, [letter_id])).get(letter_id)
        execution = await executions.get_execution(tx, found.letter.execution_id) if found else None
    if found is None or execution is None:
        raise no_letter(letter_id)
    work = await _work_of(context, found)
    refusal = redrive_refusal(found.letter, found.execution_status, found.item_state)
    return DeadLetterInFull(
        **{name: getattr(found.letter, name) for name in DeadLetter.__struct_fields__},
        execution_status=cast("ExecutionStatus", found.execution_status),
        payload=LetterPayload(input=execution.input or {}, element=found.element),
        failure=_last_failure(work.attempts) or work.failure,
        history=work.attempts,
        explanation=await _explanation(context, found),
        can_redrive=refusal is None,
        can_discard=found.letter.status == "open",
        refusal=refusal,
    )


async def _work_of(context: EngineContext, found: StoredLetter) -> WorkState:
    """Folds the events of the letter's item. Large values of events that do not fit a view are left out."""
    letter, room = found.letter, ViewRoom(context.settings.max_rendered)
    own: list[Event] = []
    async for page in event_pages(context, letter.execution_id):
        for event in page:
            if (
                event.step == letter.step
                and event.item == letter.item
                and _is_undone(event) == letter.compensation
            ):
                room.fit(event)
                own.append(event)
    step = fold(own, [letter.step]).steps[letter.step]
    state = step.compensation if letter.compensation else step
    works: dict[int, Any] = {} if state is None else dict(state.items)
    return (state if letter.item is None else works.get(letter.item)) or WorkState()


def _is_undone(event: Event) -> bool:
    return event.type.startswith("compensation_") or bool(event.data.get("compensation"))


def _last_failure(attempts: Sequence[Attempt]) -> dict[str, Any] | None:
    return next((one.failure for one in reversed(attempts) if one.failure is not None), None)


async def _explanation(context: EngineContext, found: StoredLetter) -> Explanation | None:
    letter = found.letter
    explained = await explain(context, letter.execution_id, step=letter.step, item=letter.item)
    own = [one for one in explained if one.item == letter.item and one.compensation == letter.compensation]
    return own[-1] if own else None
