"""Ended attempts whose executions are locked: each goes through the one transition, and the graph goes on from there.

Outcomes, decisions and whatever they enqueue go into one journal, written in one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from tenax.engine.context import Core
from tenax.engine.graph.advance import advance_executions
from tenax.engine.graph.compensation import write
from tenax.engine.graph.fan_out import close_fans, fan_key
from tenax.engine.graph.turn import Turn
from tenax.engine.slices import Turns
from tenax.model.decision import Decision
from tenax.policy.outcome_events import EndedAttempt
from tenax.policy.plan import Plan
from tenax.policy.transition import Transition, transition
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, FanRow
from tenax.store.tables.fan_outs import load_fans
from tenax.store.tables.steps import StepKey

_log = structlog.get_logger("tenax.settle")


async def settle(
    tx: Connection,
    core: Core,
    journal: Journal,
    executions: dict[int, ExecutionRow],
    ended: Sequence[EndedAttempt],
) -> list[Decision]:
    """Decides on each ended attempt and writes all that follows. The executions are locked, and so are the items."""
    journal.most_read = core.settings.max_rendered
    plans = await core.plans.load(tx, {attempt.item.plan_id for attempt in ended})
    keys = {fan_key(attempt.item) for attempt in ended if attempt.item.item_no is not None}
    fans = await load_fans(tx, sorted(keys)) if keys else {}
    settling = _Settling(core, journal, executions, plans, fans)
    decisions: list[Decision] = []
    turns = Turns()
    for attempt in ended:
        if turns.over:
            await turns.give_way()
        decisions.append(settling.settle(attempt))
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
        return self.turns.setdefault(execution_id, Turn(row, self.plans[row.plan_id], self.core.rendering))

    def settle(self, ended: EndedAttempt) -> Decision:
        item = ended.item
        row = self.executions[item.execution_id]
        fan = None if item.compensates else self.fans.get(fan_key(item))
        made = transition(
            self.plans[item.plan_id],
            ended,
            execution_open=row.open and (item.compensates or not row.failing),
            fan_out=fan,
            rules=self.core.rules,
            now=self.journal.now,
            roll=self.core.roll(),
        )
        if row.failing:
            self.journal.failing[row.id] = row
        if ended.lost is not None and ended.lost.silent_since is not None and made.run is not None:
            self.journal.losses.append(ended.lost)
        self._take(made, fan)
        return made.decision

    def _take(self, made: Transition, fan: FanRow | None) -> None:
        """Adds a transition to what the batch writes."""
        item, journal = made.item, self.journal
        journal.add(made)
        if made.decision.verdict == "hold":
            _log.warning("a work item is held", execution_id=item.execution_id, step=item.step, item=item.item_no,
                         rule=made.decision.rule, reason=made.decision.reason)  # fmt: skip
        if made.ended_step is not None:
            self.turn(item.execution_id).ended.append(made.ended_step)
        if fan is not None and (made.item_result is not None or fan.parallelism is not None):
            if made.item_result is not None:
                fan.count(made.item_result)
            if fan.parallelism is not None:
                fan.placed -= item.placed
            journal.fans[fan_key(item)] = fan
