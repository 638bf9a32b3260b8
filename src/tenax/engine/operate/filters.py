"""Lists, saves and removes filters."""

from __future__ import annotations

from tenax.engine.context import EngineContext
from tenax.errors import Conflict, NotFound, UsageError
from tenax.model.events.audit import NewEntry
from tenax.model.filters.parse import MAX_NAME, is_saved_name, parse_filter
from tenax.model.filters.views import RemovedFilter, SavedFilter, SavedFilterAnswer
from tenax.model.source.findings import shorten, suggest
from tenax.store.audit import insert_entries
from tenax.store.selection import saved_filters

MAX_SAVED = 1000  # saved filters


class SavedFilters:
    """Keeps the filters that people saved by name."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    async def list(self) -> list[SavedFilter]:
        async with self._context.view() as tx:
            return await saved_filters.list_filters(tx)

    async def save(self, name: str, text: str, *, actor: str, reason: str | None = None) -> SavedFilterAnswer:
        """Saves a filter under a name, in the place of an earlier one. A saved filter refers to no other one."""
        _check_name(name)
        chosen = parse_filter(text)
        if not chosen:
            raise UsageError("the filter is empty", remedy="write at least one term, such as status=failed")
        if chosen.saved_names:
            raise UsageError(
                f"a saved filter cannot refer to another one (@{chosen.saved_names[0]})",
                remedy="write its terms in full",
            )
        async with self._context.transaction() as tx:
            created = await saved_filters.save_filter(tx, name, text.strip(), actor)
            if created and await saved_filters.count_filters(tx) > MAX_SAVED:
                raise Conflict(
                    f"there are {MAX_SAVED:,} saved filters, which is the most",
                    remedy="remove one by `tenax filters remove NAME`, or save this one in the place of another",
                )
            await insert_entries(
                tx,
                [
                    NewEntry(
                        actor, "filter_save", "filter", name, reason=reason, data={"filter": text.strip()}
                    )
                ],
            )
        return SavedFilterAnswer(name=name, filter=text.strip(), created=created)

    async def remove(self, name: str, *, actor: str, reason: str | None = None) -> RemovedFilter:
        _check_name(name)
        async with self._context.transaction() as tx:
            if not await saved_filters.remove_filter(tx, name):
                known = [one.name for one in await saved_filters.list_filters(tx)]
                raise NotFound(
                    f"no filter is saved under the name {name!r}{suggest(name, known)}",
                    remedy="`tenax filters list` shows the saved filters",
                )
            await insert_entries(tx, [NewEntry(actor, "filter_remove", "filter", name, reason=reason)])
        return RemovedFilter(name=name, removed=True)


def _check_name(name: str) -> None:
    if not is_saved_name(name):
        raise UsageError(
            f"{shorten(repr(name))} cannot be the name of a filter",
            remedy=f"use 1 to {MAX_NAME} letters, digits, `_`, `-` and `.`; the first is a letter, a digit or `_`",
        )
