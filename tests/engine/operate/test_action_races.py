"""Operators' actions race with workers' reports, cancels and the reaper, on two servers at once: never are there two
decisions on one outcome, and every execution still reaches its end."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from support.hand import Hand, hand_on, one_postgres
from support.laws import verify
from support.profiles import examples

from tenax.engine.operate.operator_action import ActionRequest
from tenax.errors import Conflict, UsageError
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import Assignment, Report

pytestmark = one_postgres

WORK = """
name: raced
workflow:
  - {step: a, type: python, task: "t:t", retry: {max_attempts: 3, backoff: none}}
  - {step: each, type: python, task: "t:t", for_each: [1, 2, 3], parallelism: 2, tolerate: 1, retry: {max_attempts: 2, backoff: none}}
  - {step: z, type: python, task: "t:t", needs: [a, each]}
"""
ENDS = (
    "action_completed", "action_error", "action_not_completed", "action_snoozed", "lease_expired", "queue_expired",
)  # fmt: skip
"""The events of outcomes, each of which is decided on once."""
OUTCOMES = (
    Outcome("succeeded", [1]),
    Outcome("failed", facts=Facts(status_code=503)),
    Outcome("failed", facts=Facts(fatal=True, message="no")),
    Outcome("not_completed", facts=Facts()),
)
places = st.sampled_from(
    [(None, None), ("a", None), ("each", None), ("each", 0), ("each", 1), ("each", 2), ("z", None)]
)
actions = st.sampled_from(
    [
        "retry",
        "reset",
        "resolve",
        "complete",
        "fail",
        "reschedule",
        "retry",
        "reset",
        "pause",
        "resume",
        "cancel",
    ]
)
Move = tuple[list[tuple[str, tuple[str | None, int | None]]], list[Outcome], bool]
moves = st.lists(
    st.tuples(
        st.lists(st.tuples(actions, places), min_size=1, max_size=3),
        st.lists(st.sampled_from(OUTCOMES), max_size=3),
        st.booleans(),
    ),
    min_size=2,
    max_size=6,
)


async def act(hand: Hand, id_: int, action: str, place: tuple[str | None, int | None]) -> str:
    step, item = place if action not in ("pause", "resume", "cancel") else (None, None)
    more: dict[str, Any] = {"result": 7, "has_result": True} if action == "complete" else {}
    if action == "reschedule":
        more = {"policy": {"initial_delay": "1s", "backoff": "fixed", "jitter": 0}}
    try:
        await hand.engine.act(id_, ActionRequest(action, step, item, "why", **more), actor="ann")
    except (Conflict, UsageError):
        return "refused"
    return "done"


async def report(hand: Hand, leased: Assignment, outcome: Outcome) -> str:
    said = Report(
        leased.execution_id, leased.item_id, leased.attempt, leased.token, outcome, leased.step, leased.item
    )
    [answer] = await hand.engine.report([said])
    return answer.status


async def race(hand: Hand, other: Hand, played: list[Move]) -> Counter[str]:
    id_ = await hand.submit(WORK)
    held: list[Assignment] = []
    seen: Counter[str] = Counter()
    for asked, outcomes, reaps in played:
        held += await hand.lease(slots=9)
        reported, held = held[: len(outcomes)], held[len(outcomes) :]
        if reaps:
            await hand.pass_time(31)
        racing = [report(hand, one, outcome) for one, outcome in zip(reported, outcomes, strict=False)]
        racing += [act(server, id_, *one) for one, server in zip(asked, (other, hand, other), strict=False)]
        if reaps:
            racing.append(other.engine.reap())
        seen.update(map(str, await asyncio.gather(*racing)))
        await hand.settle_down()
    await to_its_end(hand, id_)
    await check(hand, id_)
    return seen


async def to_its_end(hand: Hand, id_: int) -> None:
    if await hand.status(id_) == "paused":
        await hand.engine.resume(id_, actor="ann")
    for _ in range(30):
        if await hand.status(id_) not in ("running", "paused"):
            return
        for one in await hand.lease(slots=9):
            await report(hand, one, OUTCOMES[0])
        await hand.wait(40)
    raise AssertionError(f"execution {id_} does not end")


async def check(hand: Hand, id_: int) -> None:
    events = await hand.events(id_)
    ended = Counter((e["step"], e["item"], e["attempt"]) for e in events if e["type"] in ENDS)
    assert [place for place, count in ended.items() if count > 1] == [], "two outcomes of one attempt"
    decided = Counter(
        (e["step"], e["item"], e["attempt"])
        for e in events
        if "decision" in e["data"] and e["type"] != "retry_released"
    )
    assert [place for place, count in decided.items() if count > 1] == [], "two decisions on one outcome"
    started = Counter((e["step"], e["item"], e["attempt"]) for e in events if e["type"] == "action_started")
    assert max(started.values(), default=1) == 1, "a number of an attempt was used twice"
    assert [one for one in (await verify(hand))["violations"] if one["execution"] == id_] == []


def test_actions_that_race_with_reports_leave_one_decision_on_each_outcome(
    request: pytest.FixtureRequest, any_database_url: str, tmp_path: Path
) -> None:
    with asyncio.Runner() as runner:
        opened = hand_on(any_database_url, tmp_path)
        hand = runner.run(opened.__aenter__())
        other = runner.run(hand.restarted())
        seen: Counter[str] = Counter()

        @seed(request.node.name)  # the same examples every time; the interleaving still differs
        @settings(
            max_examples=examples(20),
            deadline=None,
            database=None,
            suppress_health_check=[HealthCheck.too_slow],
        )
        @given(moves)
        def compare(played: list[Move]) -> None:
            seen.update(runner.run(race(hand, other, played)))

        try:
            compare()
        finally:
            runner.run(opened.__aexit__(None, None, None))
    assert min(seen["done"], seen["refused"], seen["applied"], seen["late"]) > 0, "all of them were seen"
