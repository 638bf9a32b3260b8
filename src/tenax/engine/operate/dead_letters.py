"""Acts on dead letters: starts their items again, or discards them with a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from msgspec import UNSET

from tenax.engine.context import EngineContext, no_letter
from tenax.engine.operate.act import act
from tenax.engine.operate.bulk_mark import BulkMark
from tenax.engine.operate.operator_action import ActionRequest
from tenax.errors import Conflict, UsageError
from tenax.model.events import event
from tenax.model.events.audit import NewEntry
from tenax.model.events.data import OperatorData
from tenax.model.events.types import OperatorAction
from tenax.model.filters.letters import LetterFilter
from tenax.model.letters.letter import LetterPlace
from tenax.model.letters.views import LettersChanged
from tenax.policy.letters import redrive_refusal
from tenax.store import service
from tenax.store.journal import Journal
from tenax.store.selection import letters
from tenax.store.selection.conditions import anchor
from tenax.store.selection.letters import StoredLetter
from tenax.store.tables import live_items

AT_ONCE = 500
"""Letters that one transaction discards."""
IDS_SHOWN = 1000
"""Letters that an answer names."""
MAX_IDS = 1000
"""Letters that one request may name."""


async def redrive(
    context: EngineContext, ids: Sequence[int], *, actor: str, reason: str | None
) -> LettersChanged:
    """Starts the items of these letters again. All are checked before the first one is started. A letter that was
    redriven before and has not ended is left alone.

    Raises Conflict if one of them cannot be started again.
    """
    found = await _known(context, ids)
    waiting = [one for one in found if one.letter.status != "redriven"]
    for one in waiting:
        refusal = redrive_refusal(one.letter, one.execution_status, one.item_state)
        if refusal is not None:
            raise Conflict(f"dead letter {one.letter.id} cannot be redriven: {refusal}")
    for group in groups_of(waiting):
        await start_again(context, group, actor=actor, reason=reason)
    return LettersChanged(changed=len(waiting), ids=[one.letter.id for one in waiting][:IDS_SHOWN])


def groups_of(found: Sequence[StoredLetter]) -> list[list[StoredLetter]]:
    """Groups letters whose items one action can start again: the items of a step that are all live, or have all ended.
    Starting a large fan-out again for each of its letters would read its events each time."""
    groups: dict[tuple[int, str, bool, bool], list[StoredLetter]] = {}
    for one in found:
        place, is_live = one.place, one.item_state is not None
        groups.setdefault((place.execution_id, place.step, place.compensates, is_live), []).append(one)
    return list(groups.values())


async def start_again(
    context: EngineContext,
    group: Sequence[StoredLetter],
    *,
    actor: str,
    reason: str | None,
    mark: BulkMark | None = None,
) -> None:
    """Gives the items of a group one more attempt, or releases them from their quarantine. A failed execution runs again
    for them."""
    place = group[0].place
    numbers = frozenset(one.place.item_no for one in group if one.place.item_no is not None)
    asked = ActionRequest("retry", step=place.step, items=numbers, reason=reason)
    if len(numbers) == 1:
        asked = replace(asked, item=min(numbers), items=frozenset())
    await act(context, place.execution_id, asked, actor=actor, mark=mark)


async def discard(context: EngineContext, ids: Sequence[int], *, actor: str, note: str) -> LettersChanged:
    """Discards these letters. A letter that was discarded before is left alone.

    Raises Conflict if one of them is neither open nor discarded.
    """
    _check_note(note)
    found = await _known(context, ids)
    for one in found:
        if one.letter.status not in ("open", "discarded"):
            raise Conflict(
                f"dead letter {one.letter.id} cannot be discarded: it is {one.letter.status}",
                remedy="only an open letter can be discarded",
            )
    left = [(one.letter.id, one.letter.execution_id) for one in found if one.letter.status == "open"]
    changed = await _discard(context, left, actor, note)
    return LettersChanged(changed=len(changed), ids=changed[:IDS_SHOWN])


async def discard_matching(
    context: EngineContext, wanted: LetterFilter, *, actor: str, note: str
) -> LettersChanged:
    """Discards the open letters that fit the filter and have failed by now, part by part."""
    _check_note(note)
    if wanted.is_empty:
        raise UsageError(
            "an empty filter would discard all dead letters",
            remedy="name at least one of execution, workflow, step, class, reason, fingerprint, since and until",
        )
    if "open" not in wanted.all_statuses:
        raise UsageError("only open letters can be discarded", remedy="leave the status out of the filter")
    async with context.transaction() as tx:
        now = await service.now(tx)
        terms = await anchor(tx, wanted.conditions)
    wanted = LetterFilter(until=now + timedelta.resolution, terms=terms)
    changed: list[int] = []
    before: list[tuple[int, int]] = []
    while True:
        async with context.transaction() as tx:
            found = await letters.find_open_letters(tx, wanted, AT_ONCE)
        done = await _discard(context, found, actor, note) if found else []
        changed += done
        # Another operator may have been quicker with all of this part. More of them may be left all the same.
        if not found or (not done and found == before):
            return LettersChanged(changed=len(changed), ids=changed[:IDS_SHOWN])
        before = found


async def _known(context: EngineContext, ids: Sequence[int]) -> list[StoredLetter]:
    """Loads letters by their numbers. Raises NotFound if one of them does not exist."""
    if not 1 <= len(ids) <= MAX_IDS:
        raise UsageError(f"name from 1 to {MAX_IDS} dead letters, not {len(ids)}")
    async with context.view() as tx:
        found = await letters.get_letters(tx, ids)
    missing = next((number for number in ids if number not in found), None)
    if missing is not None:
        raise no_letter(missing)
    return [found[number] for number in dict.fromkeys(ids)]


def _check_note(note: str) -> None:
    if not note.strip():
        raise UsageError("a discarded letter needs a note", remedy="say why in `note`")


async def _discard(
    context: EngineContext, found: Sequence[tuple[int, int]], actor: str, note: str
) -> list[int]:
    """Discards letters that are still open, with an event for each. Returns their numbers."""
    async with context.transaction() as tx:
        _, now = await live_items.lock_executions(tx, [execution_id for _, execution_id in found])
        if now is None:
            return []
        journal = Journal(now)
        done = await letters.discard_letters(tx, [number for number, _ in found], note, actor, now)
        for _, place in done:
            journal.log(place.execution_id, _event(place, actor, note))
        if done:
            journal.audited.append(_entry([number for number, _ in done], actor, note))
        await journal.write(tx)
    context.notifier.announce(executions=list(journal.events))
    return [number for number, _ in done]


def _entry(discarded: Sequence[int], actor: str, note: str) -> NewEntry:
    """Returns the audit's entry for letters that one transaction discards."""
    one = str(discarded[0]) if len(discarded) == 1 else None
    data = {"letters": list(discarded)} if one is None else None
    return NewEntry(actor, "discard", "dead_letters", one, reason=note, data=data)


def _event(place: LetterPlace, actor: str, note: str) -> dict[str, object]:
    data = OperatorData(
        action="discard", actor=actor, reason=note, compensation=True if place.compensates else UNSET
    )
    return event(OperatorAction, place.step, item=place.item_no, data=data)
