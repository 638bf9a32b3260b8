"""Keeps plans of stored workflows by name. Before a plan is used, the database confirms that the name still means this definition."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from tenax.engine.caches.weighted_cache import WeightedCache, weight_of_plan
from tenax.engine.group_commit import GroupCommit
from tenax.policy.plan import Plan
from tenax.store.tables.plans import WorkflowStamp

PACK = "pack:"
"""The prefix of a pack's name among the names on which a plan depends. Names of workflows contain no colon."""
Stamp = WorkflowStamp | str
"""The meaning of a name at one moment. That of a pack is the hash of its content."""
LookUp = Callable[[list[str]], Awaitable[list[Stamp | None]]]


@dataclass(frozen=True, slots=True)
class NamedPlan:
    """Holds the plan of a name, with the names on which it depends."""

    plan: Plan
    plan_id: int
    rests_on: Mapping[str, Stamp]
    """Each name in the tree of definitions, this one included, with its meaning when the plan was made. Its packs are among
    them."""


class NamedPlans:
    """Keeps the plans that were used last.

    Another server may store another definition under a name at any time, so every use asks the database what the names
    mean. Callers that ask at the same time share one statement.
    """

    def __init__(self, look_up: LookUp, most: int) -> None:
        self._current = GroupCommit[str, Stamp | None](look_up)
        self._kept: WeightedCache[str, NamedPlan] = WeightedCache(
            most, lambda entry: weight_of_plan(entry.plan)
        )

    async def find(self, names: Iterable[str]) -> dict[str, NamedPlan]:
        """Returns the plans of those names that are in memory and still current."""
        known = {name: entry for name in names if (entry := self._kept.peek(name)) is not None}
        asked = sorted({name for entry in known.values() for name in entry.rests_on})
        current = dict(zip(asked, await self._current(asked), strict=True))
        found: dict[str, NamedPlan] = {}
        for name, entry in known.items():
            if all(current[one] == stamp for one, stamp in entry.rests_on.items()):
                found[name] = entry
                self._kept.use(name)
        return found

    def keep(self, name: str, entry: NamedPlan) -> None:
        self._kept.keep(name, entry)
