"""Runs random executions with every feature: children, waits, callbacks, polls, fan-outs, compensations, pauses, restarts.

Finally all open executions are led to their end. Then every promise must hold in the log, and nothing may be left over.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from support.hand import Hand
from support.recorded.replay import STATUS, attempts_of, check_decisions, kind_of, plan_of
from support.strategies.random_runs import CHILD, PARENT, Night, begin_to_undo

from tenax.model.views import ExecutionSummary
from tenax.policy.plan import Plan

UNDONE = ("compensation_completed", "compensation_failed")


def check_attempts(events: list[dict[str, Any]]) -> None:
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    for key, told in attempts_of(events).items():
        kinds = Counter(kind_of(e) for e in told)
        assert kinds["action_started"] == 1, f"{key}: an attempt number is used once: {kinds}"
        over = sum(kinds[end] for end in (*STATUS, "lease_released"))
        # An attempt that was given up may still be called back, with a success.
        again = kinds["action_completed"] if any(e["data"].get("via") == "callback" for e in told) else 0
        assert over - again <= 1, f"{key}: one end for each attempt: {kinds}"
    done = Counter((e["step"], e["item"]) for e in events if e["type"] == "action_completed")
    assert not done or max(done.values()) == 1, "an item succeeds once"


def check_compensations(plan: Plan, execution: ExecutionSummary, events: list[dict[str, Any]]) -> int:
    """Of a failed execution all that had succeeded is undone, the last first, one after the other."""
    done = [(e["step"], e["item"]) for e in events if e["type"] == "action_completed"]
    undone = [(e["step"], e["item"]) for e in events if e["type"] in UNDONE]
    if execution.status == "failed":
        assert undone == [key for key in reversed(done) if key[0] in plan.compensated]
        counts = Counter(e["type"] for e in events)
        [told] = [e["data"] for e in events if e["type"] == "execution_compensated"]
        assert told == {
            "completed": counts["compensation_completed"],
            "failed": counts["compensation_failed"],
        }
    else:
        assert execution.status == "cancelled" or not undone
    return len(undone)


async def check_leftovers(hand: Hand) -> None:
    for table in ("item", "inbox"):
        assert await hand.sql(f"select from tenax.{table}") == []
    assert await hand.sql(
        "select from tenax.execution c join tenax.execution p on p.id = c.parent_id"
        " where p.state = 'cancelled' and c.state in ('running', 'paused')"
    ) == []  # fmt: skip
    assert await hand.sql(
        "select execution_id, taken_by from tenax.signal where taken_by is not null group by 1, 2 having count(*) > 1"
    ) == [], "an item takes one signal"  # fmt: skip
    assert await hand.engine.recover() == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.settings(callback_url="http://tenax.test")
async def test_what_is_promised_holds_after_a_random_night_with_everything_in_it(hand, seed):
    await hand.engine.store_workflow(CHILD)
    await begin_to_undo(hand, 3)
    night = Night(hand, seed)
    for _ in range(3):
        await hand.submit(PARENT)
    await night.play(150)
    await night.dawn()
    decided, undone, states = 0, 0, Counter()
    for execution in await hand.engine.list(limit=500):
        events = list(await hand.events(execution.id))
        plan = await plan_of(hand, execution.id)
        check_attempts(events)
        decided += check_decisions(plan, events)
        undone += check_compensations(plan, execution, events)
        states[execution.status] += 1
    assert decided > 10
    assert undone > 0
    assert states["failed"]
    await check_leftovers(hand)
