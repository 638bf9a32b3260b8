"""Offers all operations that only read: executions, their events and explanations, and the check of history."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from tenax.engine.context import EngineContext
from tenax.engine.submit import resolve_definitions as definitions
from tenax.engine.views import diagnosis, selection
from tenax.engine.views import executions as views
from tenax.engine.views.explanations import explain
from tenax.engine.views.verify import verify_page
from tenax.model.diagnosis import Diagnosis
from tenax.model.execution_views import Event, Execution, News
from tenax.model.filters.short_forms import short_forms
from tenax.model.filters.terms import EVERYTHING, Filter
from tenax.model.views import ExecutionSummary, Explanation, ItemInfo, Tree, Verified, WorkflowInfo


class EngineReads:
    """Has the methods of an engine that read. It writes nothing."""

    context: EngineContext

    async def workflows(self, name: str | None = None) -> Sequence[WorkflowInfo]:
        return await definitions.list_workflows(self.context, name)

    async def get(self, execution_id: int) -> Execution:
        return await views.get(self.context, execution_id)

    async def list(
        self,
        chosen: Filter = EVERYTHING,
        *,
        states: Sequence[str] | None = None,
        workflow: str | None = None,
        since: datetime | None = None,
        before: int | None = None,
        limit: int = 50,
        top: bool = False,
        compensation: str | None = None,
    ) -> list[ExecutionSummary]:
        """Lists the executions that a filter selects, newest first. The other arguments are short forms of terms: `top`
        leaves out children, and `compensation` is a state of compensations."""
        short = short_forms(states=states, workflow=workflow, since=since, top=top, compensation=compensation)
        return await selection.list_summaries(self.context, chosen & short, before=before, limit=limit)

    async def events(self, execution_id: int, *, after: int = 0) -> Sequence[Event]:
        return await views.events(self.context, execution_id, after=after)

    def event_pages(self, execution_id: int, *, after: int = 0) -> AsyncIterator[Sequence[Event]]:
        """Yields the events page by page. Only one page is in memory."""
        return views.event_pages(self.context, execution_id, after=after)

    async def news(self, execution_id: int, *, cursor: str | None = None, wait: float = 0.0) -> News:
        """Returns the events since the cursor, and the next one. Waits up to `wait` seconds for the first event."""
        return await views.news(self.context, execution_id, cursor=cursor, wait=wait)

    async def explain(
        self,
        execution_id: int,
        *,
        step: str | None = None,
        attempt: int | None = None,
        item: int | None = None,
    ) -> Sequence[Explanation]:
        return await explain(self.context, execution_id, step=step, attempt=attempt, item=item)

    async def diagnose(
        self, execution_id: int, *, step: str | None = None, item: int | None = None
    ) -> Diagnosis:
        """Explains why an execution, a step or an item is in its state."""
        return await diagnosis.diagnose(self.context, execution_id, step=step, item=item)

    async def diagnose_worker(self, name: str) -> Diagnosis:
        """Explains why a worker gets no work."""
        return await diagnosis.diagnose_worker(self.context, name)

    async def diagnose_queue(self, name: str) -> Diagnosis:
        """Explains why a queue does not move."""
        return await diagnosis.diagnose_queue(self.context, name)

    async def verify(
        self, *, after: int = 0, since: datetime | None = None, only: int | None = None
    ) -> Verified:
        """Checks the next executions after this one against all laws. `next` is None at the end."""
        return await verify_page(self.context, after=after, since=since, only=only)

    async def items(
        self,
        execution_id: int,
        step: str,
        *,
        states: Sequence[str] | None = None,
        after: int = -1,
        limit: int = 100,
    ) -> Sequence[ItemInfo]:
        """Returns the items of a fan-out after this one, in the order of the list."""
        return await views.items(self.context, execution_id, step, states=states, after=after, limit=limit)

    async def tree(self, execution_id: int) -> Tree:
        """Returns an execution with all its descendants."""
        return await views.tree(self.context, execution_id)
