"""The one path of every ended attempt: reported, called back, lost, timed out or expired in the queue.

Outcome, decision and whatever that enqueues go into one journal, written in one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, assert_never

import structlog

from tenax.engine.compensation import write
from tenax.engine.core import Core
from tenax.engine.fan_out import close_fans, end_item, fan_key
from tenax.engine.progress import advance_executions
from tenax.engine.records import (
    EndedAttempt,
    brief,
    decision_record,
    log_exhausted,
    log_item,
    log_outcome,
    log_wait,
)
from tenax.engine.start import Turn
from tenax.model.blame import speaks_of_worker
from tenax.model.decision import NO_CONTROLS, NO_RETRIES, Controls, Decision
from tenax.model.outcome import Failure
from tenax.policy.decide import SUCCESS_AT_ONCE, Decided, decide_outcome
from tenax.policy.plan import Plan, PlannedAction
from tenax.policy.quarantine import is_poison, is_suspect
from tenax.policy.vary import varied
from tenax.store.connect import Connection
from tenax.store.fans import load_fans
from tenax.store.journal import Journal
from tenax.store.json_text import decode, encode, plain
from tenax.store.rows import ExecutionRow, FanRow, ItemRow, Run, StepRow, ledger_from
from tenax.store.steps import StepKey

__all__ = ["EndedAttempt", "settle"]
_log = structlog.get_logger("tenax.settle")

ERROR_SHOWN = 500
"""How much of an error's message the queue keeps; the log has all of it."""


async def settle(
    tx: Connection,
    core: Core,
    journal: Journal,
    executions: dict[int, ExecutionRow],
    ended: Sequence[EndedAttempt],
) -> list[Decision]:
    """Decides on each ended attempt and writes all that follows. The executions are locked, and so are the items."""
    plans = await core.plans.load(tx, {attempt.item.plan_id for attempt in ended})
    keys = {fan_key(attempt.item) for attempt in ended if attempt.item.item_no is not None}
    fans = await load_fans(tx, sorted(keys)) if keys else {}
    settling = _Settling(core, journal, executions, plans, fans)
    decisions = [settling.settle(attempt) for attempt in ended]
    if fans:
        await close_fans(tx, journal, settling.turn, fans.values())
    await advance_executions(tx, journal, [turn for turn in settling.turns.values() if turn.ended])
    await write(tx, core, journal)
    return decisions


@dataclass(slots=True)
class _Settling:
    """A batch of ended attempts, one after the other."""

    core: Core
    journal: Journal
    executions: Mapping[int, ExecutionRow]
    plans: Mapping[int, Plan]
    fans: Mapping[StepKey, FanRow]
    turns: dict[int, Turn] = field(default_factory=dict)

    def turn(self, execution_id: int) -> Turn:
        row = self.executions[execution_id]
        return self.turns.setdefault(execution_id, Turn(row, self.plans[row.plan_id]))

    def settle(self, ended: EndedAttempt) -> Decision:
        item = ended.item
        row, action = self.executions[item.execution_id], self._action(item)
        fan = None if item.compensates else self.fans.get(fan_key(item))
        decision, failure, polled = self._decide(row, action, fan, ended)
        undone = polled is not None and not polled.done and failure is None
        record = decision_record(decision)
        ends = decision.verdict in ("complete", "stop")
        log_outcome(self.journal, ended, decision, failure, record if ends else None, undone=undone)
        if row.failing:
            self.journal.failing[row.id] = row
        self._note_run(ended, action, failure)
        if is_poison(decision.after, decision.controls):
            self.journal.pardons.append(item.id)
        match decision.verdict:
            case "complete":
                self._end(ended, fan, None, result=ended.outcome.result)
            case "retry" | "hold":
                self._wait(ended, action, fan, decision, record, failure)
            case "fail":
                log_exhausted(self.journal, item, decision, failure)
                self._log_failed(ended, fan, decision, record, failure)
                self._end(ended, fan, failure)
            case "stop":
                self._stop(ended, fan, failure, undone=undone)
            case _:
                assert_never(decision.verdict)
        return decision

    def _action(self, item: ItemRow) -> PlannedAction:
        return self.plans[item.plan_id].action(item.step, compensates=item.compensates)

    def _decide(
        self, row: ExecutionRow, action: PlannedAction, fan: FanRow | None, ended: EndedAttempt
    ) -> Decided:
        item, outcome = ended.item, ended.outcome
        controls = self._controls(row, fan, ended)
        succeeded = outcome.status == "succeeded"
        is_open = controls.execution_open and controls.step_open
        if succeeded and item.ledger is None and is_open and action.until is None:
            return Decided(SUCCESS_AT_ONCE, None, None)
        return decide_outcome(
            action.policy,
            action.until,
            ledger_from(decode(item.ledger), item.age(self.journal.now)),
            outcome,
            attempt=ended.number,
            controls=controls,
            roll=self.core.roll(),
            execution_id=item.execution_id,
            node_id=item.step,
        )

    def _controls(self, row: ExecutionRow, fan: FanRow | None, ended: EndedAttempt) -> Controls:
        item, settings = ended.item, self.core.settings
        execution_open = row.open and (item.compensates or not row.failing)
        step_open = fan is None or not fan.closed
        if execution_open and step_open and ended.lost is None and ended.how != "hold_expired":
            return NO_CONTROLS if settings.retries_enabled else NO_RETRIES
        return Controls(
            execution_open=execution_open,
            step_open=step_open,
            retries_enabled=settings.retries_enabled,
            lost_worker=ended.lost.worker if ended.lost is not None else None,
            poison_after=settings.poison_after if ended.lost is not None else 0,
            able=ended.lost.able if ended.lost is not None else None,
            held_for=settings.max_hold if ended.how == "hold_expired" else None,
        )

    def _note_run(self, ended: EndedAttempt, action: PlannedAction, failure: Failure | None) -> None:
        """What the attempt says of its worker; and the limits that it counted against have room again."""
        item = ended.item
        if item.action_gate is not None or item.key_gate is not None:
            self.journal.freed_gates += item.held_gates
        if item.state != "leased" or item.worker is None:
            return
        outcome: Literal["sound", "failed", "lost"] = "sound"
        if ended.lost is not None:
            outcome = "lost"
            if ended.lost.silent_since is not None:
                self.journal.losses.append(ended.lost)
        elif failure is not None and speaks_of_worker(
            failure, runtime=item.runtime, dependency=action.step.dependency
        ):
            outcome = "failed"
        self.journal.runs.append(Run(item.worker, item.id, item.started_at, outcome))

    # -- what follows

    def _end(
        self, ended: EndedAttempt, fan: FanRow | None, failure: Failure | None, *, result: Any = None
    ) -> None:
        """The item is over; so is its step, unless it is one of many, or undoes one."""
        item = ended.item
        self.journal.ended_items.append(item.id)
        self._forget_child(ended)
        if item.compensates:
            return
        failed = brief(failure, item.attempt) if failure is not None else None
        if fan is not None:
            keep = self.plans[item.plan_id].steps[item.step].compensation is not None
            end_item(self.journal, fan, item, result, failed, keep_element=keep)
            return
        state = "failed" if failure is not None else "completed"
        if state == "completed":
            log_item(self.journal, "step_completed", item, {"attempts": item.attempt})
        row = StepRow(item.execution_id, item.step, state, 0, item.attempt, result, failed)
        self.turn(item.execution_id).ended.append(row)

    def _wait(
        self,
        ended: EndedAttempt,
        action: PlannedAction,
        fan: FanRow | None,
        decision: Decision,
        record: dict[str, Any],
        failure: Failure | None,
    ) -> None:
        item, policy = ended.item, action.policy.policy
        delay = decision.delay.delay if decision.delay is not None else 0.0
        available_at = self.journal.now + timedelta(seconds=delay)
        error = failure.message if failure is not None else None
        log_wait(self.journal, item, decision, record, error, available_at)
        self._watch(item, decision)
        self._forget_child(ended)
        unplaced = fan is not None and fan.parallelism is not None
        if fan is not None and unplaced:
            fan.placed -= item.placed
            self.journal.fans[fan_key(item)] = fan
        self.journal.items_again.append(
            item.again(
                "held" if decision.verdict == "hold" else "retrying",
                available_at,
                ledger=encode(record["after"]),
                last_error=plain(error[:ERROR_SHOWN]) if error is not None else None,
                placed=False if unplaced else None,
                previous=encode(ended.outcome.result) if decision.rule == "until" else None,
                vary=encode(varied(policy, decision.after)) if policy.vary else None,
            )
        )

    def _watch(self, item: ItemRow, decision: Decision) -> None:
        """What is held has an end to that; what is next to be quarantined runs apart from others like it."""
        settings = self.core.settings
        if decision.verdict == "hold":
            _log.warning("a work item is held", execution_id=item.execution_id, step=item.step, item=item.item_no,
                         rule=decision.rule, reason=decision.reason)  # fmt: skip
            self.journal.holds[item.id] = self.journal.now + timedelta(seconds=settings.max_hold)
        if is_suspect(decision.after, settings.poison_after):
            self.journal.suspects.append(item.id)
            self.journal.special = True

    def _log_failed(
        self,
        ended: EndedAttempt,
        fan: FanRow | None,
        decision: Decision,
        record: dict[str, Any],
        failure: Failure | None,
    ) -> None:
        item = ended.item
        data: dict[str, Any] = {
            "attempts": item.attempt,
            "reason": decision.reason,
            "failure": failure.as_dict() if failure is not None else None,
            "decision": record,
        }
        if item.compensates:
            log_item(self.journal, "compensation_failed", item, data, attempt=item.attempt)
        elif fan is not None:
            data["tolerated"] = fan.failed < fan.tolerated
            log_item(self.journal, "item_failed", item, data, attempt=item.attempt)
        else:
            on_failure = self.plans[item.plan_id].steps[item.step].step.on_failure
            if on_failure is not None:
                data["on_failure"] = on_failure.action
            log_item(self.journal, "step_failed_terminal", item, data, attempt=item.attempt)

    def _stop(
        self, ended: EndedAttempt, fan: FanRow | None, failure: Failure | None, *, undone: bool
    ) -> None:
        """The execution is over, or the step is. What still ran is recorded, and nothing follows from it."""
        item, outcome = ended.item, ended.outcome
        self.journal.ended_items.append(item.id)
        self._forget_child(ended)
        if item.compensates:
            return
        failed = brief(failure, item.attempt) if failure is not None else None
        if failed is None and (undone or outcome.status != "succeeded"):
            failed = _unfinished(item)
        plan = self.plans[item.plan_id]
        if fan is not None:
            keep = plan.steps[item.step].compensation is not None
            end_item(self.journal, fan, item, outcome.result, failed, keep_element=keep, stopped=True)
            return
        if failed is None:
            log_item(self.journal, "step_completed", item, {"attempts": item.attempt})
        else:
            data = {"attempts": item.attempt, "reason": "the execution is over", "failure": failed}
            log_item(self.journal, "step_failed_terminal", item, data, attempt=item.attempt)
        if not plan.single:
            state = "completed" if failed is None else "failed"
            result = outcome.result if failed is None else None
            self.journal.step(StepRow(item.execution_id, item.step, state, 0, item.attempt, result, failed))

    def _forget_child(self, ended: EndedAttempt) -> None:
        """A child that its parent no longer waits for is cancelled."""
        awaiting = ended.item.awaiting
        if awaiting is not None and awaiting.startswith("child:") and ended.how == "timed_out":
            self.journal.cancels.append(int(awaiting.removeprefix("child:")))


def _unfinished(item: ItemRow) -> dict[str, Any]:
    """A snooze or a poll that will not be followed up: neither done nor failed by itself."""
    message = "it was not done when the execution ended"
    return {"class": "cancelled", "reason": "execution_ended", "message": message, "attempts": item.attempt}
