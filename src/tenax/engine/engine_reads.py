"""Offers all operations that only read: executions, their events and explanations, and the check of history."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime

from tenax.engine.context import EngineContext
from tenax.engine.submit import resolve_definitions as definitions
from tenax.engine.views import audit as audit_views
from tenax.engine.views import definitions as definition_views
from tenax.engine.views import diagnosis, live, log_pages, selection, step_parts
from tenax.engine.views import executions as views
from tenax.engine.views.decision_pages import read_decisions, read_inputs
from tenax.engine.views.explanations import explain
from tenax.engine.views.item_strip import read_strip
from tenax.engine.views.verify import verify_page
from tenax.model.attempt.live_views import OutputChunk, OutputPage, StepProgress
from tenax.model.definition.workflow import Input
from tenax.model.diagnosis import Diagnosis
from tenax.model.events.audit import AuditEntry, AuditFilter, AuditNames
from tenax.model.execution_views import Event, Execution, News, StepDefinition, Work
from tenax.model.filters.short_forms import short_forms
from tenax.model.filters.terms import EVERYTHING, Filter
from tenax.model.metrics.pages import DecisionPage, EventPage, ExecutionPage, ItemStrip, StateCounts
from tenax.model.metrics.workflows import WorkflowPage
from tenax.model.views import (
    ExecutionSummary,
    Explanation,
    ImportedFile,
    ItemInfo,
    LintReport,
    Tree,
    Verified,
    WorkflowInfo,
)


class EngineReads:
    """Has the methods of an engine that read. It writes nothing."""

    context: EngineContext

    async def workflows(self, name: str | None = None) -> Sequence[WorkflowInfo]:
        return await definitions.list_workflows(self.context, name)

    async def workflow_page(
        self, *, after: str | None = None, limit: int = 50, containing: str | None = None
    ) -> WorkflowPage:
        """Reads a page of the workflows by name, also of those that were only submitted, with the figures of the last day."""
        return await definition_views.list_workflows_with_figures(
            self.context, after=after, limit=limit, containing=containing
        )

    async def definition(
        self, workflow: str, *, content: str | None = None
    ) -> definition_views.StoredDefinition:
        """Reads a definition with its newest plan. `content` is the begin of its hash; without it, what the name means now."""
        return await definition_views.get_definition(self.context, workflow, content)

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

    async def page(
        self,
        chosen: Filter = EVERYTHING,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int = 50,
    ) -> ExecutionPage:
        """Reads a page of the executions that a filter selects, in a bounded time and in either direction."""
        return await selection.read_page(self.context, chosen, before=before, after=after, limit=limit)

    async def count(self, chosen: Filter = EVERYTHING) -> StateCounts:
        """Counts the executions that a filter selects by state, among the newest ones."""
        return await selection.count_by_state(self.context, chosen)

    async def events(self, execution_id: int, *, after: int = 0) -> Sequence[Event]:
        return await views.events(self.context, execution_id, after=after)

    def event_pages(self, execution_id: int, *, after: int = 0) -> AsyncIterator[Sequence[Event]]:
        """Yields the events page by page. Only one page is in memory."""
        return views.event_pages(self.context, execution_id, after=after)

    async def news(self, execution_id: int, *, cursor: str | None = None, wait: float = 0.0) -> News:
        """Returns the events since the cursor, and the next one. Waits up to `wait` seconds for the first event."""
        return await views.news(self.context, execution_id, cursor=cursor, wait=wait)

    async def progress(self, execution_id: int) -> Sequence[StepProgress]:
        """Returns how far the running steps are, as far as that is known."""
        return await live.get_progress(self.context, execution_id)

    async def output(
        self,
        execution_id: int,
        *,
        after: int = 0,
        step: str | None = None,
        item: int | None = None,
        attempt: int | None = None,
    ) -> OutputPage:
        """Reads a page of what the attempts have printed. `after` is the cursor of the page before."""
        return await live.read_output(
            self.context, execution_id, after=after, step=step, item=item, attempt=attempt
        )

    async def last_output(
        self,
        execution_id: int,
        most: int,
        *,
        step: str | None = None,
        item: int | None = None,
        attempt: int | None = None,
    ) -> Sequence[OutputChunk]:
        """Reads what the attempts have printed last, at most so many bytes."""
        return await live.read_last_output(
            self.context, execution_id, most, step=step, item=item, attempt=attempt
        )

    def changes(self, execution_id: int | None = None) -> AbstractAsyncContextManager[asyncio.Event]:
        """Opens a context with an event that is set whenever the execution has changed, or any execution if no id is given."""
        notifier = self.context.notifier
        return notifier.following_all() if execution_id is None else notifier.following(execution_id)

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

    async def diagnose_view(self, execution: Execution, *, step: str | None = None) -> Diagnosis:
        """Says why an execution that the caller has read, or one of its steps, stands as it stands."""
        return await diagnosis.diagnose_view(self.context, execution, step=step)

    async def diagnose_worker(self, name: str) -> Diagnosis:
        """Explains why a worker gets no work."""
        return await diagnosis.diagnose_worker(self.context, name)

    async def diagnose_queue(self, name: str) -> Diagnosis:
        """Explains why a queue does not move."""
        return (await diagnosis.read_queue(self.context, name)).diagnosis

    async def queue(self, name: str) -> diagnosis.QueueInFull:
        """Returns a queue with the live workers that serve it, and explains why it does not move."""
        return await diagnosis.read_queue(self.context, name)

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

    async def item_works(self, execution_id: int, step: str, numbers: Sequence[int]) -> Mapping[int, Work]:
        """Returns items of a fan-out with their attempts, by their numbers."""
        return await step_parts.item_works(self.context, execution_id, step, numbers)

    async def step_definition(self, execution_id: int, step: str) -> StepDefinition:
        """Returns the definition of a step, and its resolved retry policy."""
        return await step_parts.step_definition(self.context, execution_id, step)

    async def audit(
        self,
        wanted: AuditFilter = audit_views.NOTHING_ASKED,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int = 50,
    ) -> Sequence[AuditEntry]:
        """Lists what people did, the newest first: the entries before one, or those next after one."""
        return await audit_views.list_audit(self.context, wanted, before=before, after=after, limit=limit)

    async def audit_names(self) -> AuditNames:
        """Lists the actors and the actions that occur in the audit."""
        return await audit_views.audit_names(self.context)

    async def item_strip(self, execution_id: int, step: str, *, ranges: int = 200) -> ItemStrip:
        """Counts the items of a fan-out by state, in ranges of their numbers."""
        return await read_strip(self.context, execution_id, step, ranges=ranges)

    async def event_page(
        self, execution_id: int, *, before: int | None = None, after: int | None = None, limit: int = 100
    ) -> EventPage:
        """Reads events next before an event, or next after one, by their ids. Without either, the last ones."""
        return await log_pages.read_event_page(
            self.context, execution_id, before=before, after=after, limit=limit
        )

    async def find_events(
        self,
        execution_id: int,
        is_wanted: Callable[[Event], bool],
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int = 100,
    ) -> EventPage:
        """Searches the events next before an event, or next after one, for those that are wanted."""
        return await log_pages.find_events(
            self.context, execution_id, is_wanted, before=before, after=after, limit=limit
        )

    async def decisions(
        self,
        execution_id: int,
        *,
        step: str | None = None,
        item: int | None = None,
        attempt: int | None = None,
        before: int | None = None,
        limit: int = 20,
    ) -> DecisionPage:
        """Explains decisions as `explain` does, the newest first, and reads a bounded part of the log."""
        return await read_decisions(
            self.context, execution_id, step=step, item=item, attempt=attempt, before=before, limit=limit
        )

    async def check_json(self, text: bytes) -> None:
        """Refuses JSON with more values than one request may have."""
        await self.context.reading.check_values(text)

    async def inputs(self, execution_id: int) -> Mapping[str, Input]:
        """Returns the inputs that the workflow of an execution declares, by their names."""
        return await read_inputs(self.context, execution_id)

    async def event(self, execution_id: int, event_id: int) -> Event:
        return await log_pages.read_event(self.context, execution_id, event_id)

    async def tree(self, execution_id: int) -> Tree:
        """Returns an execution with all its descendants."""
        return await views.tree(self.context, execution_id)

    async def translate_file(
        self, source: str, *, filename: str | None = None, system: str | None = None
    ) -> ImportedFile:
        """Translates a file of another system into workflow files, and stores nothing."""
        return await self.context.reading.translate(source, filename, system)

    async def lint(self, source: str, *, filename: str | None = None) -> LintReport:
        """Finds likely mistakes in a definition. Stores nothing."""
        return await self.context.reading.lint(source, filename)
