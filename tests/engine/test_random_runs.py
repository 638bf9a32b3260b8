"""Runs random executions with every feature: children, waits, callbacks, polls, fan-outs, compensations, pauses, restarts.

Workers fail in many ways, freeze, repeat reports and report too late. No law may be broken at any moment. Finally all open executions are
led to their end. Then all that failed executions had done is undone, and nothing is left over.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from support.hand import Hand
from support.laws import verify
from support.strategies.random_runs import CHILD, PARENT, Night, begin_to_undo

from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.views import ExecutionSummary

POLICIES = """
name: policies
workflow:
  - step: first
    type: python
    task: t:t
    timeout: 20s
    retry: {max_attempts: 4, initial_delay: 2, jitter: 0.5, infra_attempts: 1, rules: [{on: [http_429], max_attempts: 2, initial_delay: 7}]}
  - {step: left, type: python, task: "t:t", needs: [first], retry: {max_attempts: 3, backoff: decorrelated, give_up_after: 40s}}
  - {step: right, type: python, task: "t:t", needs: [first], retry: {max_attempts: 2, retry_when: "{{ status_code >= 500 or error != None }}"}, goal: true}
  - {step: last, type: python, task: "t:t", needs: [left, right], retry: 2}
"""
ODD = [
    Outcome("succeeded"),
    Outcome("failed", facts=Facts(status_code=429, retry_after=5.0), usage=Usage(cost_usd=0.25)),
    Outcome("failed", facts=Facts(connection="refused"), after=1.5),
]
UNDOABLE = ("job", "poll", "call", "each", "do")
"""The steps of PARENT and CHILD with compensations."""


class OddNight(Night):
    def outcome(self, kind: str | None = None) -> Outcome:
        is_odd = kind is None and self.dice.random() < 0.3
        return self.dice.choice(ODD) if is_odd else super().outcome(kind)

    async def submit(self) -> None:
        if self.dice.random() < 0.4:
            await self.hand.submit(self.dice.choice([PARENT, POLICIES]))


def check_compensations(execution: ExecutionSummary, events: list[dict[str, Any]]) -> int:
    """Of a failed execution all that had succeeded is undone, the last first, one after the other."""
    counts = Counter(e["type"] for e in events)
    done = [(e["step"], e["item"]) for e in events if e["type"] == "action_completed"]
    assert len(set(done)) == len(done), "an item succeeds once"
    undone = [
        (e["step"], e["item"])
        for e in events
        if e["type"] in ("compensation_completed", "compensation_failed")
    ]
    if execution.status == "failed" and execution.workflow != "policies":
        assert undone == [key for key in reversed(done) if key[0] in UNDOABLE]
        [told] = [e["data"] for e in events if e["type"] == "execution_compensated"]
        assert told == {
            "completed": counts["compensation_completed"],
            "failed": counts["compensation_failed"],
        }
    elif execution.status != "cancelled":
        assert not undone
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


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.settings(callback_url="http://tenax.test")
async def test_what_is_promised_holds_after_a_random_night_with_everything_in_it(hand, seed):
    await hand.engine.store_workflow(CHILD)
    await begin_to_undo(hand, 3)
    night = OddNight(hand, seed, repeats=3)
    for source in (PARENT, POLICIES) * 3:
        await hand.submit(source)
    for _ in range(6):
        await night.play(30)
        assert (await verify(night.hand))["violations"] == []
        assert await night.hand.engine.recover() == []
    await night.dawn()
    report = await verify(night.hand)
    assert report["violations"] == []
    assert report["decisions"] > 20
    undone, states, kinds = 0, Counter(), Counter()
    for execution in await hand.engine.list(limit=500):
        events = list(await hand.events(execution.id))
        undone += check_compensations(execution, events)
        states[execution.status] += 1
        kinds.update(e["type"] for e in events)
    assert undone > 0
    assert states["failed"]
    assert kinds["late_result"]
    await check_leftovers(hand)
