"""The short way of a report: a step that is all of its execution succeeds at its first attempt. There is nothing to decide and
nothing to go on with, so one statement writes the whole end of it. Whatever is otherwise goes the long way (`report`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tenax.engine.core import Core
from tenax.engine.records import decision_record
from tenax.engine.wake import Settled
from tenax.model.events import event
from tenax.model.wire import Report, ReportAnswer
from tenax.policy.decide import SUCCESS_AT_ONCE
from tenax.store import finish
from tenax.store.finish import Finished
from tenax.store.json_text import encode
from tenax.store.rows import LeasedItem, Run

Key = tuple[int, str]
"""An item and the token of its lease."""


async def finish_at_once(core: Core, reports: Sequence[Report]) -> dict[Key, ReportAnswer]:
    """Ends what can be ended the short way. What is not in the answer was left as it is."""
    items: list[LeasedItem] = []
    ends: list[Finished] = []
    for report in reports:
        item = core.leased.take(report.token)
        if item is not None and _ends_at_once(core, item, report):
            items.append(item)
            ends.append(_end(item, report))
    if not ends:
        return {}
    async with core.straight() as tx:
        over = await finish.finish_items(tx, ends)
    ended = [item for item in items if item.id in over]
    runs = [Run(item.worker, item.id, item.started_at, "sound") for item in ended]
    made_room = core.hub.on_settled(Settled(runs))
    core.hub.announce(ready=made_room, executions=[item.execution_id for item in ended])
    return {(item.id, item.token): ReportAnswer(item.id, "applied", "complete") for item in ended}


def _ends_at_once(core: Core, item: LeasedItem, report: Report) -> bool:
    plan, outcome = core.plans.known(item.plan_id), report.outcome
    return (
        plan is not None
        and plan.ends_at_once
        and item.fresh
        and item.id == report.item_id
        and outcome.status == "succeeded"
        and outcome.usage is None
        and outcome.after is None
    )


def _end(item: LeasedItem, report: Report) -> Finished:
    """The events are those of the long way, but for the seconds between the two parts."""
    step, tail = _words(item.step, item.attempt)
    result = "null" if report.outcome.result is None else encode(report.outcome.result)
    head = (
        f'[{{"type":"action_completed","step":{step},"attempt":{item.attempt},"token":"{item.token}",'
        f'"data":{{"result":{result},"seconds":'
    )
    return Finished(item.id, item.token, item.execution_id, f"{{{step}:{result}}}", head, tail)


@lru_cache(maxsize=1024)
def _words(step: str, attempt: int) -> tuple[str, str]:
    """What is the same for all such ends of a step."""
    decision = encode(decision_record(SUCCESS_AT_ONCE))
    follows = encode(
        [event("step_completed", step, data={"attempts": attempt}), event("execution_completed")]
    )
    return encode(step), f',"decision":{decision}}}}},{follows[1:]}'
