"""The short way of a report: a first attempt succeeds, and what follows is the same every time: the end of its execution, or the one
step behind it (`policy.stride`). There is nothing to decide, so one statement writes all of it. Whatever is otherwise, or turns out
to be, goes the long way (`report`), which leaves the same behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tenax.engine.core import Core
from tenax.engine.records import decision_record
from tenax.engine.start import vary_after
from tenax.engine.wake import Settled
from tenax.model.events import event
from tenax.model.wire import Report, ReportAnswer
from tenax.policy.decide import SUCCESS_AT_ONCE
from tenax.policy.plan import Plan
from tenax.store import finish
from tenax.store.finish import Finished, Successor
from tenax.store.json_text import encode
from tenax.store.rows import LeasedItem, Run

Key = tuple[int, str]
"""An item and the token of its lease."""
MOST_FOLLOWERS = 4096


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
    items: dict[int, LeasedItem] = {}
    ends: list[Finished] = []
    for one in ended:
        item = one.item
        plan = core.plans.known(item.plan_id)
        if plan is None or item.execution_id in items or not one.is_first_success:
            continue
        if item.step in plan.strides:
            items[item.execution_id] = item
            ends.append(_end(core, plan, item, one.report))
    if not ends:
        return {}
    async with core.straight() as tx:
        over = await finish.finish_items(tx, ends)
    done = [item for item in items.values() if item.id in over]
    _announce(core, done, [end.next for end in ends if end.next is not None and end.item_id in over])
    return {(item.id, item.token): ReportAnswer(item.id, "applied", "complete") for item in done}


def _end(core: Core, plan: Plan, item: LeasedItem, report: Report) -> Finished:
    """The events are those of the long way, but for the seconds between the two parts."""
    successor, tail = _follows(core, plan, item)
    step = encode(item.step)
    result = "null" if report.outcome.result is None else encode(report.outcome.result)
    head = (
        f'[{{"type":"action_completed","step":{step},"attempt":{item.attempt},"token":"{item.token}",'
        f'"data":{{"result":{result},"seconds":'
    )
    whole = f"{{{step}:{result}}}" if successor is None else None
    own = None if plan.single or report.outcome.result is None else result
    return Finished(
        item.id, item.token, item.execution_id, not plan.single, own, whole, head, tail, successor
    )


def _follows(core: Core, plan: Plan, item: LeasedItem) -> tuple[Successor | None, str]:
    """What is the same for all such ends of a step: the item that is queued, and the end of the events."""
    key = (item.plan_id, item.step, item.attempt)
    found = core.followers.get(key)
    if found is None:
        found = core.followers[key] = _find_follower(plan, item.step, item.attempt)
        if len(core.followers) > MOST_FOLLOWERS:
            del core.followers[next(iter(core.followers))]
    return found


def _find_follower(plan: Plan, step: str, attempt: int) -> tuple[Successor | None, str]:
    name = plan.strides[step].next
    decision = encode(decision_record(SUCCESS_AT_ONCE))
    enqueued = event("execution_completed") if name is None else event("step_enqueued", name)
    follows = encode([event("step_completed", step, data={"attempts": attempt}), enqueued])
    tail = f',"decision":{decision}}}}},{follows[1:]}'
    if name is None:
        return None, tail
    action = plan.steps[name]
    own, policy = action.step, action.policy.policy
    labels = encode(dict(own.labels)) if own.labels else None
    vary = vary_after(action, None)
    return (
        Successor(
            name,
            own.queue,
            own.type,
            own.priority,
            labels,
            policy.max_attempts,
            own.timeout,
            own.queue_ttl,
            vary,
        ),
        tail,
    )


def _announce(core: Core, ended: Sequence[LeasedItem], queued: Sequence[Successor]) -> None:
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
