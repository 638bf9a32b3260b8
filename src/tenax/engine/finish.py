"""The short way of a report: an attempt succeeds, and what follows is the same every time: the end of its execution, or the one
step behind it (`policy.stride`). So one statement writes all of it. Whatever is otherwise, or turns out
to be, goes the long way (`report`), which leaves the same behind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from tenax.engine.core import Core
from tenax.engine.patterns import Text, mark
from tenax.engine.records import decision_record
from tenax.engine.start import queued_action
from tenax.engine.wake import Settled
from tenax.model.decision import NO_CONTROLS, NO_RETRIES, Decision
from tenax.model.events import event
from tenax.model.outcome import Failure
from tenax.model.wire import Report, ReportAnswer
from tenax.policy.decide import SUCCESS_AT_ONCE, decide_outcome
from tenax.policy.likeness import marked, past_of
from tenax.policy.plan import Plan
from tenax.store import finish
from tenax.store.finish import Finished, QueuedAction
from tenax.store.json_text import decode, encode
from tenax.store.rows import LeasedItem, Run, ledger_from

Key = tuple[int, str]
"""An item and the token of its lease."""
MOST_FOLLOWERS = 4096
_AT_ONCE = encode(decision_record(SUCCESS_AT_ONCE))


class Ended(NamedTuple):
    """A report on something that was leased through this server."""

    item: LeasedItem
    report: Report

    @property
    def is_first_success(self) -> bool:
        return self.item.fresh and self.is_success

    @property
    def is_success(self) -> bool:
        """A plain one, of a step and not of what undoes it."""
        item, outcome = self.item, self.report.outcome
        return (
            outcome.status == "succeeded"
            and item.id == self.report.item_id
            and not item.compensates
            and outcome.usage is None
            and outcome.after is None
        )


async def finish_at_once(core: Core, ended: Sequence[Ended]) -> dict[Key, ReportAnswer]:
    """Ends what can be ended the short way, one of each execution. What is not in the answer was left as it is."""
    ending: dict[int, tuple[Plan, Ended]] = {}
    for one in ended:
        plan = core.plans.known(one.item.plan_id)
        if plan is not None and one.item.step in plan.strides and one.is_success:
            ending.setdefault(one.item.execution_id, (plan, one))
    if not ending:
        return {}
    async with core.statements() as tx:
        now = None if all(one.item.fresh for _, one in ending.values()) else await finish.now(tx)
        ends = [_end(core, plan, one, now) for plan, one in ending.values()]
        over = await finish.finish_items(tx, ends)
    done = [one.item for _, one in ending.values() if one.item.id in over]
    _announce(core, done, [end.next for end in ends if end.next is not None and end.item_id in over])
    return {(item.id, item.token): ReportAnswer(item.id, "applied", "complete") for item in done}


def _end(core: Core, plan: Plan, ended: Ended, now: datetime | None) -> Finished:
    """The events are those of the long way, but for the seconds between the two parts."""
    item, outcome = ended.item, ended.report.outcome
    successor, follows = _follows(core, plan, item)
    step = encode(item.step)
    result = "null" if outcome.result is None else encode(outcome.result)
    head = (
        f'[{{"type":"action_completed","step":{step},"attempt":{item.attempt},"token":"{item.token}",'
        f'"data":{{"result":{result},"seconds":'
    )
    tail = f',"decision":{_decision(core, plan, ended, now)}}}}},{follows}'
    whole = f"{{{step}:{result}}}" if successor is None else None
    own = None if plan.single or outcome.result is None else result
    return Finished(
        item.id, item.token, item.execution_id, not plan.single, own, whole, head, tail, successor
    )


def _decision(core: Core, plan: Plan, ended: Ended, now: datetime | None) -> str:
    if now is None or ended.item.fresh:
        return _AT_ONCE
    item, behind = ended.item, decode(ended.item.ledger)
    kind = None
    if (past := past_of(behind)) is not None:
        kind = (item.plan_id, item.step, item.attempt, past.counts)
        pattern: Text | None = core.patterns.find(kind)
        if pattern is not None:
            return pattern.fill(
                {
                    "elapsed": repr(item.age(now)),
                    "roll": repr(core.roll()),
                    "execution_id": str(item.execution_id),
                    "previous_delay": repr(past.previous_delay),
                }
            )
    decision, _ = decide_on(core, plan, ended, behind, now)
    if kind is not None and core.patterns.note(kind):
        core.patterns.keep(kind, Text(marked(decision, mark)))
    return encode(decision_record(decision))


def decide_on(
    core: Core, plan: Plan, ended: Ended, behind: dict[str, Any] | None, now: datetime
) -> tuple[Decision, Failure | None]:
    """The decision on an attempt that a worker ended while its execution was open; `behind`: the ledger of its item."""
    item = ended.item
    decision, failure, _ = decide_outcome(
        plan.steps[item.step].policy,
        None,  # `until` looks at successes only, and such a success never goes the short way
        ledger_from(behind, item.age(now)),
        ended.report.outcome,
        attempt=item.attempt,
        controls=NO_CONTROLS if core.settings.retries_enabled else NO_RETRIES,
        roll=core.roll(),
        execution_id=item.execution_id,
        node_id=item.step,
    )
    return decision, failure


def _follows(core: Core, plan: Plan, item: LeasedItem) -> tuple[QueuedAction | None, str]:
    """What is the same for all such ends of a step: the item that is queued, and the end of the events."""
    key = (item.plan_id, item.step, item.attempt)
    found = core.followers.get(key)
    if found is None:
        found = core.followers[key] = _find_follower(plan, item.step, item.attempt)
        if len(core.followers) > MOST_FOLLOWERS:
            del core.followers[next(iter(core.followers))]
    return found


def _find_follower(plan: Plan, step: str, attempt: int) -> tuple[QueuedAction | None, str]:
    name = plan.strides[step].next
    then = event("execution_completed") if name is None else event("step_enqueued", name)
    follows = encode([event("step_completed", step, data={"attempts": attempt}), then])[1:]
    return None if name is None else queued_action(plan.steps[name]), follows


def _announce(core: Core, ended: Sequence[LeasedItem], queued: Sequence[QueuedAction]) -> None:
    """What everyone must hear of what has been committed."""
    made_room = core.hub.on_settled(
        Settled([Run(item.worker, item.id, item.started_at, "sound") for item in ended])
    )
    core.hub.announce(
        ready=made_room or bool(queued),
        special=any(item.lane for item in ended) and bool(queued),
        due_in=min((one.queue_ttl for one in queued if one.queue_ttl is not None), default=None),
        executions=[item.execution_id for item in ended],
    )
