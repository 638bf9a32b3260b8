"""Carries out operators' actions on executions, steps and work items: the one entry for all of them.

An action on items goes through the transition of `policy.operator_transition`, and the graph goes on from it as from an
outcome. Everything is one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from msgspec import UNSET

from tenax.engine.context import EngineContext, no_execution
from tenax.engine.graph.advance import advance_executions
from tenax.engine.graph.budget_book import charge_unreported, is_in_tree
from tenax.engine.graph.compensation import write
from tenax.engine.graph.end_execution import fail_execution, render_results
from tenax.engine.graph.execution_update import ExecutionUpdate
from tenax.engine.graph.fan_out import close_fan_outs, fan_out_key
from tenax.engine.graph.recorded_results import ResultsRecorded, refuse_recorded
from tenax.engine.graph.settle import settle_recorded
from tenax.engine.operate import family
from tenax.engine.operate.bulk_mark import BulkMark
from tenax.engine.operate.operator_action import ActionRequest, check_action, check_written
from tenax.engine.operate.reopen import How, ReopenRequest, reopen
from tenax.engine.operate.reopen_family import LockedFamily, lock_origins, requests_for
from tenax.engine.operate.rescheduled_policy import check_retry, rescheduled_policy
from tenax.engine.operate.targets import (
    cannot_go_on,
    check_execution,
    check_place,
    find_ended_targets,
    find_open_targets,
    nothing_to_do,
    was_cut_short,
)
from tenax.engine.slices import TimeSlice
from tenax.errors import Busy, Conflict
from tenax.model.events import event
from tenax.model.events.audit import entry_of
from tenax.model.events.data import OperatorData
from tenax.model.events.types import OperatorAction
from tenax.model.json_text import decode
from tenax.model.policy import Policy
from tenax.model.views import ActionAnswer, ExecutionStatus
from tenax.policy.operator_actions import ENDS_ITEM, EXECUTION_ACTIONS, ItemAction
from tenax.policy.operator_transition import Instruction, OperatorTransition, operate
from tenax.policy.plan import Plan
from tenax.store.connect import Connection
from tenax.store.fleet.queues import find_ancestors
from tenax.store.journal import Journal
from tenax.store.live.checkpoints import reset_checkpoints
from tenax.store.rows import ExecutionRow, FanOutRow, OperatedItem
from tenax.store.tables import live_items
from tenax.store.tables.executions import find_descendants
from tenax.store.tables.fan_outs import load_fan_outs
from tenax.store.tables.reopening import (
    delete_items,
    lock_operated_items,
    restart_clocks,
    set_policies,
)
from tenax.store.tables.steps import StepKey, ended_steps

_HOW: dict[str, How] = {"retry": "grant", "reset": "reset", "resolve": "keep", "complete": "keep"}


async def act(
    context: EngineContext,
    execution_id: int,
    asked: ActionRequest,
    *,
    actor: str,
    mark: BulkMark | None = None,
) -> ActionAnswer:
    """Carries out an action. Raises Conflict if it is not legal, and names the actions that are. `mark` is set in the
    transaction of the action."""
    check_action(asked)
    if asked.action in EXECUTION_ACTIONS:
        return await _act_on_execution(context, execution_id, asked, actor, mark)
    for left in reversed(range(family.TRIES)):
        try:
            async with context.transaction() as tx:
                answer = await _ItemActions(tx, context, execution_id, asked, actor, mark).run()
                if mark is not None:
                    await mark.set(tx)
        except ResultsRecorded as recorded:
            await settle_recorded(context, recorded.found)
            continue
        except Busy:
            if not left:
                raise
            continue
        context.notifier.announce(
            ready=True, server_steps=True, messages=True, due_in=0.0,
            executions=[execution_id, *answer.reopened],
        )  # fmt: skip
        return answer
    raise Busy(f"execution {execution_id} is changing all the time", remedy="try it again")


async def _act_on_execution(
    context: EngineContext, execution_id: int, asked: ActionRequest, actor: str, mark: BulkMark | None
) -> ActionAnswer:
    act_on = {"cancel": family.cancel, "pause": family.pause, "resume": family.resume}[asked.action]
    changed = await act_on(context, execution_id, actor=actor, reason=asked.reason, mark=mark)
    status = {"cancel": "cancelled", "pause": "paused", "resume": "running"}[asked.action]
    return ActionAnswer(
        id=execution_id,
        action=asked.action,
        status=cast("ExecutionStatus", status),
        changed=changed,
        steps=[],
        items=0,
        reopened=[],
    )


@dataclass(slots=True)
class _ItemActions:
    """Carries out one action on work items of an execution, in one transaction."""

    tx: Connection
    context: EngineContext
    execution_id: int
    asked: ActionRequest
    actor: str
    mark: BulkMark | None
    journal: Journal = field(init=False)
    row: ExecutionRow = field(init=False)
    plan: Plan = field(init=False)
    updates: dict[int, ExecutionUpdate] = field(default_factory=dict)
    fan_outs: dict[StepKey, FanOutRow] = field(default_factory=dict)

    async def run(self) -> ActionAnswer:
        locked = await self._lock()
        self.plan = await self.context.plans.one(self.tx, self.row.plan_id)
        check_execution(self.row, self.asked, deactivated=locked.origins[self.execution_id].deactivated)
        check_place(self.plan, self.asked)
        requests: list[ReopenRequest] = []
        targets = await self._open_items() if self.row.open else []
        if not targets:
            requests = await self._start_again(locked)
            if self.asked.action in ("resolve", "complete"):
                targets = await self._inserted_items(requests)
        else:
            self._log_action(self.execution_id)
        steps = list(dict.fromkeys([*(requests and self._steps_of(requests)), *(i.step for i in targets)]))
        items = len(targets) or sum(
            len(numbers) if numbers is not None else 1 for numbers in self._wanted(requests)
        )
        self._check_all(targets, requests)
        if self.asked.action == "reset":
            await self._forget_checkpoints(targets, requests)
        await self._operate(targets)
        await self._go_on()
        return ActionAnswer(
            id=self.execution_id, action=self.asked.action, status=cast("ExecutionStatus", self.row.state), changed=True,
            steps=steps, items=items, reopened=[r.row.id for r in requests if r.was_closed],
        )  # fmt: skip

    # -- locks and targets

    async def _lock(self) -> LockedFamily:
        """Locks the execution with its parents, and a failed one with its descendants: in the order of their ids."""
        rows, now = await live_items.lock_executions(
            self.tx, await find_ancestors(self.tx, self.execution_id)
        )
        if now is None:
            raise no_execution(self.execution_id)
        head = rows[self.execution_id]
        if self.asked.action == "retry" and (not head.open or self.asked.step is not None):
            below = [id_ for id_ in await find_descendants(self.tx, head.id) if id_ not in rows]
            if below:
                more, later = await live_items.lock_executions(self.tx, below)
                rows, now = rows | more, later or now
        self.row = head
        self.journal = Journal(now, max_result_bytes=self.context.settings.max_rendered)
        return LockedFamily(self.tx, self.context, rows, await lock_origins(self.tx, rows))

    async def _open_items(self) -> list[OperatedItem]:
        items = await lock_operated_items(self.tx, self.execution_id, self.asked.step, self.asked.numbers)
        await refuse_recorded(self.tx, [self.execution_id])
        return find_open_targets(self.row, self.plan, self.asked, items)

    async def _inserted_items(self, requests: Sequence[ReopenRequest]) -> list[OperatedItem]:
        """Returns the items that an operator ends as soon as they are there again."""
        steps = self._steps_of(requests)
        items = await lock_operated_items(self.tx, self.execution_id, self.asked.step, self.asked.numbers)
        return [item for item in items if item.step in steps and not item.compensates]

    async def _start_again(self, locked: LockedFamily) -> list[ReopenRequest]:
        """Starts the ended steps again that the action names, and opens parents and children that go on with them."""
        if self.row.failing:
            raise cannot_go_on(self.row)
        state = await locked.state(self.execution_id)
        wanted = find_ended_targets(self.row, self.asked, state)
        if not wanted and not was_cut_short(self.row, self.plan, self.asked, state):
            raise nothing_to_do(self.row, self.asked, state)
        requests = await requests_for(
            locked, self.execution_id, wanted, _HOW[self.asked.action], self.actor,
            with_children=self.asked.action == "retry",
        )  # fmt: skip
        for request in requests:
            self._log_action(request.row.id)
            self.updates[request.row.id] = await reopen(self.tx, self.context, self.journal, request)
        await self.journal.write(self.tx)
        self.journal = Journal(self.journal.now, max_result_bytes=self.journal.max_result_bytes)
        return requests

    def _log_action(self, execution_id: int) -> None:
        asked = self.asked
        here = execution_id == self.execution_id
        data = OperatorData(
            action="retry_now" if asked.action == "retry" and here and self.row.open else asked.action,
            actor=self.actor,
            reason=asked.reason,
            because_of=UNSET if here else self.execution_id,
            bulk=UNSET if self.mark is None else self.mark.job_id,
        )
        if not here:
            self.journal.log(execution_id, event(OperatorAction, data=data))
            return
        items: list[int | None] = [*sorted(asked.numbers)] or [None]
        actions = [event(OperatorAction, asked.step, item=item, data=data) for item in items]
        for one in actions:
            self.journal.log(execution_id, one)
        if self.mark is None:
            more = {"items": len(items)} if len(items) > 1 else {}
            self.journal.audited.append(entry_of(actions[0], execution_id, **more))

    def _wanted(self, requests: Sequence[ReopenRequest]) -> list[frozenset[int] | None]:
        """Returns the numbers of the items that start again, by step. None: the step is one item."""
        return [numbers for r in requests if r.row.id == self.execution_id for numbers in r.wanted.values()]

    def _steps_of(self, requests: Sequence[ReopenRequest]) -> list[str]:
        return [name for r in requests if r.row.id == self.execution_id for name in r.wanted]

    def _check_all(self, targets: Sequence[OperatedItem], requests: Sequence[ReopenRequest]) -> None:
        """Refuses an action on several items if it is not legal for all of them."""
        if not self.asked.items:
            return
        again = next(
            (r.wanted.get(self.asked.step or "") for r in requests if r.row.id == self.execution_id), None
        )
        if len(targets) < len(self.asked.items) and len(again or ()) < len(self.asked.items):
            raise Conflict(
                f"{self.asked.action} is not legal for all of these items of step {self.asked.step} of execution "
                f"{self.execution_id}: some of them have gone on meanwhile"
            )

    async def _forget_checkpoints(
        self, targets: Sequence[OperatedItem], requests: Sequence[ReopenRequest]
    ) -> None:
        """Lets work that is reset start from its beginning."""
        places: list[tuple[str, int | None]] = [(item.step, item.item_no) for item in targets]
        for request in requests:
            for step, numbers in request.wanted.items():
                places += [(step, number) for number in numbers] if numbers else [(step, None)]
        await reset_checkpoints(self.tx, self.execution_id, places)

    # -- what follows

    async def _operate(self, items: Sequence[OperatedItem]) -> None:
        """Passes the items through the transition, and takes in what follows."""
        if self.asked.action in ENDS_ITEM and any(is_in_tree(item.ledger) for item in items):
            await charge_unreported(self.tx, self.journal, items, "operator")
        keys = {fan_out_key(item) for item in items if item.item_no is not None and not item.compensates}
        self.fan_outs = await load_fan_outs(self.tx, sorted(keys)) if keys else {}
        instruction = Instruction(
            cast("ItemAction", self.asked.action), self.actor, self.asked.reason, self.asked.result
        )
        clocks: list[int] = []
        policies: dict[int, Policy] = {}
        made_of: dict[tuple[str, bool, str | None], Policy] = {}
        check_written(self.asked, len(items))
        time_slice = TimeSlice()
        for item in items:
            if time_slice.is_over:
                await time_slice.give_way()
            fan_out = None if item.compensates else self.fan_outs.get(fan_out_key(item))
            if self.asked.policy is not None:
                before = item.step, item.compensates, item.policy
                if before not in made_of:
                    made_of[before] = rescheduled_policy(self.plan, item, self.asked.policy)
                check_retry(made_of[before], item)
                instruction = instruction._replace(policy=made_of[before])
            made = operate(
                self.plan, item, instruction, fan_out=fan_out, now=self.journal.now, roll=self.context.roll()
            )
            self._take(made, fan_out)
            clocks += [item.id] if made.restarts_clock else []
            if made.policy is not None:
                policies[item.id] = made.policy
        if clocks:
            await restart_clocks(self.tx, clocks, self.journal.now)
        if policies:
            await set_policies(self.tx, list(policies), list(policies.values()))

    def _take(self, made: OperatorTransition, fan_out: FanOutRow | None) -> None:
        item, journal = made.item, self.journal
        journal.add(made)
        if made.ended_step is not None:
            self._update().ended.append(made.ended_step)
        if fan_out is None:
            return
        journal.fan_outs[fan_out_key(item)] = fan_out
        if made.item_result is not None:
            fan_out.count(made.item_result)
            if fan_out.parallelism is not None:
                fan_out.placed -= item.placed

    def _update(self) -> ExecutionUpdate:
        return self.updates.setdefault(
            self.execution_id, ExecutionUpdate(self.row, self.plan, self.context.rendering)
        )

    async def _go_on(self) -> None:
        """Lets the graphs go on, up to the end of the executions."""
        if self.fan_outs:
            await self.journal.write_item_results(self.tx)
            await delete_items(self.tx, self.journal.ended_items)
            await close_fan_outs(self.tx, self.journal, lambda _: self._update(), self.fan_outs.values())
        for update in self.updates.values():
            if not update.ended and update.row.open and update.row.open_steps == 0:
                await self._end(update)
        await advance_executions(
            self.tx, self.journal, [update for update in self.updates.values() if update.ended]
        )
        await write(self.tx, self.context, self.journal)

    async def _end(self, update: ExecutionUpdate) -> None:
        """Ends an execution that has nothing left to do: all its steps had ended before its deadline was noticed."""
        failure = decode(update.row.failure)
        if failure is not None:
            fail_execution(self.journal, update.row, update.plan, failure)
            return
        steps = await ended_steps(self.tx, update.row.id, most=self.context.settings.max_rendered)
        ended = ExecutionUpdate(update.row, update.plan, update.budget, ended=steps)
        await render_results(self.tx, self.journal, [ended])
        if ended.failure is not None:
            fail_execution(self.journal, update.row, update.plan, ended.failure)
