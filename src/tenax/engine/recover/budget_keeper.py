"""Looks after the budgets. It is woken when a budget may have room again, or when more has been used. It then admits items, and
ends attempts and trees that have overspent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from tenax.engine.context import EngineContext
from tenax.engine.isolate_failures import IsolatedItems
from tenax.engine.recover.budget_admissions import admit_tree
from tenax.engine.recover.overspending import end_overspent_attempts, end_overspent_tree
from tenax.errors import Busy, Unreachable
from tenax.store.budgets import attempt_usage, reservations

LONGEST = 5.0
"""Seconds after which the budgets are looked at in any case: a message may have been lost."""
AWAY = 0.5
"""Seconds before the next try while the database cannot be reached."""


class BudgetKeeper:
    """Looks after the budgets of trees and items. One that cannot be looked after is logged and isolated for a while."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._wake = asyncio.Event()
        self._isolated = IsolatedItems()

    def wake(self) -> None:
        self._wake.set()

    async def run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LONGEST):
                    await self._wake.wait()
            self._wake.clear()
            try:
                while await self.keep():
                    pass
            except (Unreachable, Busy):
                await asyncio.sleep(AWAY)
                self._wake.set()

    async def keep(self) -> int:
        """Ends attempts and trees that have overspent, then admits the items that can be paid. Returns the number of items and
        trees that changed."""
        context = self._context
        async with context.transaction() as tx:
            overspent = await attempt_usage.find_overspent_trees(tx, self._isolated.ids)
        changed = 0
        for tree in overspent:
            changed += await self._safely(tree.execution_id, partial(end_overspent_tree, context, tree))
        changed += await end_overspent_attempts(context, self._isolated.ids)
        async with context.transaction() as tx:
            roots = await reservations.find_unpaid_trees(tx, self._isolated.ids)
        for root in roots:
            changed += await self._safely(root, partial(admit_tree, context, root))
        return changed

    async def forget(self) -> None:
        """Removes the usage that ended attempts have reported, and what was reserved for items that are gone."""
        async with self._context.transaction() as tx:
            await attempt_usage.forget_usage(tx)

    async def _safely(self, id_: int, work: Callable[[], Awaitable[int]]) -> int:
        async def process(_found: Sequence[tuple[int, int]]) -> int:
            return await work()

        return await self._isolated.process([(id_, id_)], process, "a budget cannot be looked after")
