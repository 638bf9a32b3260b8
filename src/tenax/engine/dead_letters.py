"""Offers the operations on dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tenax.engine.context import EngineContext
from tenax.engine.operate import dead_letters as operate
from tenax.engine.views import dead_letters as views
from tenax.model.filters.letters import LetterFilter
from tenax.model.letters.views import DeadLetter, DeadLetterInFull, LetterGroup, LettersChanged
from tenax.model.metrics.series import LetterTrend


class DeadLetters:
    """Looks at dead letters and acts on them."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    async def list(
        self, wanted: LetterFilter, *, before: int | None = None, limit: int = 50
    ) -> Sequence[DeadLetter]:
        """Lists dead letters, the newest failure first. `before` is the last letter of the previous page."""
        return await views.list_letters(self._context, wanted, before=before, limit=limit)

    async def groups(self, wanted: LetterFilter, *, limit: int = 20) -> Sequence[LetterGroup]:
        """Groups dead letters by their fingerprint, the largest group first."""
        return await views.group_letters(self._context, wanted, limit=limit)

    async def trends(
        self,
        fingerprints: Sequence[str],
        *,
        since: datetime,
        spans: int = 24,
        statuses: Sequence[str] = ("open",),
    ) -> Sequence[LetterTrend]:
        """Counts the letters of each fingerprint by the time of their last failure, in so many spans until now."""
        return await views.letter_trends(
            self._context, fingerprints, statuses=statuses, since=since, spans=spans
        )

    async def get(self, letter_id: int) -> DeadLetterInFull:
        return await views.get_letter(self._context, letter_id)

    async def redrive(self, ids: Sequence[int], *, actor: str, reason: str | None = None) -> LettersChanged:
        """Starts the items of these letters again, all of them or none."""
        return await operate.redrive(self._context, ids, actor=actor, reason=reason)

    async def discard(self, ids: Sequence[int], *, actor: str, note: str) -> LettersChanged:
        return await operate.discard(self._context, ids, actor=actor, note=note)

    async def discard_matching(self, wanted: LetterFilter, *, actor: str, note: str) -> LettersChanged:
        """Discards the open letters that fit the filter."""
        return await operate.discard_matching(self._context, wanted, actor=actor, note=note)
