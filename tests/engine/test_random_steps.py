"""Runs random steps with workers that fail, freeze, and report twice or late, while time jumps. Every promise must hold in the log.

Each seed plays hundreds of moves on a real database. The checks read only events and live rows.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime

import pytest
from support.hand import Hand
from support.recorded.replay import STATUS, attempts_of, check_decisions, plan_of

from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.wire import Assignment

SOURCE = """
name: night
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
LIMITS = {"first": 4 + 1, "left": 3 + 2, "right": 2 + 2, "last": 2 + 2}
"""Counted attempts, and lost ones that are not counted."""


class Night:
    def __init__(self, hand: Hand, seed: int) -> None:
        self.hand = hand
        self.dice = random.Random(seed)
        self.held: list[Assignment] = []
        self.frozen: list[Assignment] = []
        self.reported: list[tuple[Assignment, Outcome]] = []
        hand.engine.context.roll = self.dice.random

    async def play(self, moves: int) -> None:
        moves_there_are = [self.submit, self.lease, self.lease, self.report, self.report, self.report, self.freeze,
                           self.report_late, self.report_twice, self.beat, self.hand_back, self.cancel]  # fmt: skip
        for _ in range(moves):
            await self.dice.choice(moves_there_are)()
            await self.hand.pass_time(self.dice.choice([0, 0, 0.5, 3, 12]))
            await self.hand.engine.reap()

    async def submit(self) -> None:
        await self.hand.submit(SOURCE)

    async def lease(self) -> None:
        self.held += await self.hand.lease(self.dice.choice(["w1", "w2"]), slots=self.dice.randint(1, 4))

    def take(self) -> Assignment | None:
        return self.held.pop(self.dice.randrange(len(self.held))) if self.held else None

    def outcome(self) -> Outcome:
        return self.dice.choice(
            [
                Outcome("succeeded", {"n": self.dice.random()}),
                Outcome("succeeded"),
                Outcome("failed", facts=Facts(status_code=503)),
                Outcome("failed", facts=Facts(status_code=429, retry_after=5.0), usage=Usage(cost_usd=0.25)),
                Outcome("failed", facts=Facts(fatal=True, message="no"), result={"why": "because"}),
                Outcome("failed", facts=Facts(connection="refused"), after=1.5),
                Outcome("not_completed", facts=Facts()),
                Outcome("snoozed", after=4.0),
            ]
        )

    async def report(self) -> None:
        if assignment := self.take():
            outcome = self.outcome()
            self.reported.append((assignment, outcome))
            await self.hand.report(assignment, outcome)

    async def freeze(self) -> None:
        if assignment := self.take():
            self.frozen.append(assignment)

    async def report_late(self) -> None:
        if self.frozen:
            await self.hand.report(self.dice.choice(self.frozen), self.outcome())

    async def report_twice(self) -> None:
        if self.reported:
            assignment, outcome = self.dice.choice(self.reported)
            await self.hand.report(assignment, outcome)

    async def beat(self) -> None:
        await self.hand.beat(*self.held)

    async def hand_back(self) -> None:
        if a := self.take():
            await self.hand.hand_back(a)

    async def cancel(self) -> None:
        open_ones = await self.hand.engine.list(states=["running"])
        if open_ones and self.dice.random() < 0.2:
            await self.hand.engine.cancel(self.dice.choice(open_ones).id, actor="dice")


def check_history(events: list[dict]) -> None:
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    for key, told in attempts_of(events).items():
        kinds = Counter(e["type"] for e in told)
        assert kinds["action_started"] == 1, f"{key}: an attempt number is used once"
        over = sum(kinds[end] for end in (*STATUS, "lease_released"))
        assert over <= 1, f"{key}: one end for each attempt: {kinds}"
    for step, limit in LIMITS.items():
        kinds = Counter(e["type"] for e in events if e["step"] == step)
        exempt = kinds["lease_released"] + kinds["action_snoozed"]
        assert kinds["action_started"] - exempt <= limit, f"{step} ran more often than it was allowed to"
    due: dict[str, datetime] = {}
    for e in events:
        if e["type"] == "step_retry":
            due[e["step"]] = datetime.fromisoformat(e["data"]["available_at"])
        elif e["type"] == "action_started" and e["step"] in due:
            assert datetime.fromisoformat(e["at"]) >= due.pop(e["step"]), "a retry waits its full delay"


async def check_live_rows(hand: Hand) -> None:
    """No open execution without something that will wake it, no live row of a closed one but what still runs."""
    assert await hand.sql(
        "select e.id from tenax.execution e where state = 'running'"
        " and not exists (select from tenax.item i where i.execution_id = e.id)"
    ) == []  # fmt: skip
    assert await hand.sql(
        "select i.id from tenax.item i join tenax.execution e on e.id = i.execution_id"
        " where e.state <> 'running' and i.state <> 'leased'"
    ) == []  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
async def test_what_is_promised_holds_after_a_random_night(hand, seed):
    night = Night(hand, seed)
    for _ in range(3):
        await night.submit()
    await night.play(220)
    decided = 0
    for execution in await hand.engine.list(limit=500):
        events = list(await hand.events(execution.id))
        check_history(events)
        decided += check_decisions(await plan_of(hand, execution.id), events)
    assert decided > 20
    await check_live_rows(hand)
    assert await hand.engine.recover() == []
