"""Pauses and resumes workflows. The leading server pauses and resumes their executions one by one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.operate import family
from tenax.engine.operate.marks import WorkflowMark
from tenax.errors import Conflict, NotFound, TenaxError, Unreachable
from tenax.model.events import event
from tenax.model.events.data import OperatorData
from tenax.model.events.types import OperatorAction
from tenax.model.source.findings import shorten, suggest
from tenax.store.fleet import workflow_pauses
from tenax.store.fleet.workers import log_action

AT_ONCE = 100
"""Executions that are paused or resumed between two looks."""
LOOK = 0.25
"""Seconds between two looks while a workflow is paused."""
IDLE_LOOK = 1.0
"""Seconds between two looks at what this server knows, while no workflow is paused."""
_log = structlog.get_logger("tenax.workflows")


class WorkflowPauses:
    def __init__(self, context: EngineContext, leads: Callable[[], bool]) -> None:
        self._context = context
        self._leads = leads
        self._news = asyncio.Event()

    async def learn(self) -> None:
        """Reads which workflows are paused. Servers do so every second; a command does it before it starts executions."""
        async with self._context.transaction() as tx:
            self._context.workflow_pauses = await workflow_pauses.load_pauses(tx)

    async def pause(self, name: str, *, actor: str, reason: str | None) -> bool:
        """Pauses a workflow: new executions of it begin paused, and the running ones are paused. Returns False if it is
        paused already."""
        return await self._change(name, actor, reason, paused=True)

    async def resume(self, name: str, *, actor: str, reason: str | None) -> bool:
        """Lets a workflow go on, with the executions that were paused with it. Returns False if it is not paused."""
        return await self._change(name, actor, reason, paused=False)

    async def _change(self, name: str, actor: str, reason: str | None, *, paused: bool) -> bool:
        async with self._context.transaction() as tx:
            if not await workflow_pauses.knows_workflow(tx, name):
                names = await workflow_pauses.workflow_names(tx)
                raise NotFound(f"there is no workflow {shorten(repr(name))}{suggest(name, names)}")
            change = workflow_pauses.pause_workflow if paused else workflow_pauses.resume_workflow
            changed = await change(tx, name, actor, reason)
            if changed:
                action = "workflow_pause" if paused else "workflow_resume"
                data = OperatorData(action=action, workflow=name, actor=actor, reason=reason)
                await log_action(tx, event(OperatorAction, data=data))
            self._context.workflow_pauses = await workflow_pauses.load_pauses(tx)
        self._context.notifier.announce(fleet=True)
        self._news.set()
        return changed

    # -- the executions

    async def run(self) -> None:
        """Pauses and resumes executions while this server leads."""
        while True:
            pause = IDLE_LOOK
            if self._context.workflow_pauses and self._leads():
                try:
                    pause = 0.0 if await self.work() else LOOK
                except Unreachable as error:
                    _log.warning(
                        "workflows could not be paused or resumed now; it is tried again", error=str(error)
                    )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._news.wait()
            self._news.clear()

    async def work(self) -> int:
        """Pauses and resumes some executions. Returns the number of executions that it looked at."""
        async with self._context.transaction() as tx:
            pauses = await workflow_pauses.load_pauses(tx)
            running = await workflow_pauses.find_running(tx, AT_ONCE)
            waiting = await workflow_pauses.find_to_resume(tx, AT_ONCE)
            if not waiting:
                await workflow_pauses.forget_pauses(tx)
        for execution_id, name in running:
            if (pause := pauses.get(name)) is not None:
                await self._act(execution_id, name, pause.actor, pause.reason, paused=True)
        for execution_id, name in waiting:
            over = pauses.get(name)
            who, why = (
                (over.resumed_by or over.actor, over.resumed_why) if over is not None else ("tenax", None)
            )
            await self._act(execution_id, name, who, why, paused=False)
        return len(running) + len(waiting)

    async def _act(
        self, execution_id: int, name: str, actor: str, reason: str | None, *, paused: bool
    ) -> None:
        mark = WorkflowMark(execution_id, name, paused)
        verb = family.pause if paused else family.resume
        changed = False
        try:
            changed = await verb(self._context, execution_id, actor=actor, reason=reason, mark=mark)
        except Conflict:
            pass  # it has ended
        except Unreachable:
            raise
        except TenaxError as error:
            _log.error(
                "an execution could not be paused or resumed with its workflow",
                execution_id=execution_id,
                error=str(error),
            )
        if not changed:
            async with self._context.transaction() as tx:
                await mark.set(tx)
