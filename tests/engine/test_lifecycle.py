"""Tests the exact sequences of section 5 of the contract: one work item from submit to its end."""

from __future__ import annotations

import pytest
from support.hand import EXHAUSTED, ONE_STEP

from tenax.model.attempt.outcome import Facts, Outcome

FAILS_TWICE = [
    ("execution_started", None),
    ("step_enqueued", None),
    ("action_started", 1),
    ("action_error", 1),
    ("step_retry", 1),
    ("action_started", 2),
    ("action_error", 2),
    ("step_retry", 2),
    ("action_started", 3),
    ("action_completed", 3),
    ("step_completed", None),
    ("execution_completed", None),
]


async def test_fails_twice_then_succeeds(hand):
    id_ = await hand.submit()
    for delay in (1.0, 2.0):
        answer = await hand.fail(await hand.lease_one())
        assert (answer.status, answer.verdict) == ("applied", "retry")
        assert await hand.lease() == [], "a retry does not start before its time"
        await hand.clock.advance(delay - 0.001)
        assert await hand.lease() == []
        await hand.clock.advance(0.001)
    answer = await hand.succeed(await hand.lease_one(), {"rows": 7})
    assert answer.verdict == "complete"

    events = await hand.events(id_)
    assert [(e["type"], e["attempt"]) for e in events] == FAILS_TWICE
    assert [e["seq"] for e in events] == list(range(1, 13))
    assert len({e["id"] for e in events}) == len(events)
    assert [e["data"]["delay_seconds"] for e in events if e["type"] == "step_retry"] == [1.0, 2.0]
    assert events[3]["data"]["error"] == "503 Service Unavailable"
    assert events[3]["data"]["failure"]["class"] == "transient"
    assert events[3]["data"]["failure"]["reason"] == "http_503"
    assert events[2]["data"]["retry"] == {"attempt": 1, "max_attempts": 3, "is_retry": False}
    assert events[5]["data"]["retry"] == {"attempt": 2, "max_attempts": 3, "is_retry": True}
    execution = await hand.get(id_)
    assert execution["status"] == "completed"
    assert execution["result"] == {"only": {"rows": 7}}
    assert await hand.sql("select from tenax.item") == []


async def test_all_attempts_fail(hand):
    id_ = await hand.submit()
    for _ in range(3):
        await hand.fail(await hand.lease_one())
        await hand.clock.advance(10)
    assert (await hand.types(id_))[-4:] == ["action_error", *EXHAUSTED]
    exhausted = (await hand.events(id_))[-3]["data"]
    assert (exhausted["attempts"], exhausted["max_attempts"]) == (3, 3)
    assert exhausted["final_error"] == "503 Service Unavailable"
    execution = await hand.get(id_)
    assert execution["status"] == "failed"
    assert execution["failure"]["step"] == "only"
    assert execution["steps"]["only"]["status"] == "failed"
    assert await hand.lease() == []


@pytest.mark.parametrize("retry", ["retry: 3", "retry: false"])
async def test_a_failure_that_is_not_retried_names_its_reason(hand, retry):
    source = ONE_STEP.replace(ONE_STEP.splitlines()[-1].strip(), retry)
    id_ = await hand.submit(source)
    answer = await hand.fail(await hand.lease_one(), status_code=404)
    assert answer.verdict == "fail"
    types = await hand.types(id_)
    assert types[-3:] == ["action_error", "step_failed_terminal", "execution_failed"]
    assert "step_retry_exhausted" not in types
    assert (await hand.events(id_))[-2]["data"]["reason"]


async def test_not_completed_counts_and_snooze_does_not(hand):
    id_ = await hand.submit()
    await hand.report(await hand.lease_one(), Outcome("snoozed", after=60))
    assert await hand.lease() == []
    await hand.clock.advance(60)
    await hand.report(await hand.lease_one(), Outcome("not_completed", facts=Facts()))
    await hand.clock.advance(1)
    await hand.succeed(await hand.lease_one())
    events = await hand.events(id_)
    kinds = [e["type"] for e in events]
    assert kinds[2:8] == [
        "action_started",
        "action_snoozed",
        "step_retry",
        "action_started",
        "action_not_completed",
        "step_retry",
    ]
    retries = [e["data"]["decision"] for e in events if e["type"] == "step_retry"]
    assert [r["after"]["counted"] for r in retries] == [0, 1]


async def test_explain_names_rule_class_evidence_attempts_and_delay(hand):
    id_ = await hand.submit()
    await hand.fail(await hand.lease_one(), status_code=429, retry_after=7.0)
    [explained] = await hand.engine.explain(id_)
    assert explained.verdict == "retry"
    text = explained.text
    for said in ("transient", "http_429", "attempt 1 of 3 (2 retries left)", "7s", "429"):
        assert said in text
    await hand.clock.advance(6.9)
    assert await hand.lease() == [], "Retry-After is a floor"
    await hand.clock.advance(0.1)
    assert len(await hand.lease()) == 1


async def test_the_same_key_is_the_same_execution(hand):
    first = await hand.submit(key="nightly")
    assert await hand.submit(key="nightly") == first
    assert await hand.submit(key="other") != first
    assert len(await hand.engine.list()) == 2


@pytest.mark.parametrize("value", ["a\x00b", "\ud800", 2**70, float("nan")])
async def test_a_result_that_cannot_be_kept_exactly_is_refused(hand, value):
    id_ = await hand.submit()
    await hand.succeed(await hand.lease_one(), {"value": value})
    failure = (await hand.get(id_))["failure"]
    assert (failure["class"], failure["reason"]) == ("invalid", "invalid_result")


async def test_the_end_of_a_step_says_how_many_attempts_counted_and_which_was_the_last(hand):
    id_ = await hand.submit()
    await hand.report(await hand.lease_one(), Outcome("snoozed", after=1.0))
    for _ in range(3):
        await hand.clock.advance(10)
        await hand.fail(await hand.lease_one())
    exhausted, failed, _ = (await hand.events(id_))[-3:]
    for told in (exhausted, failed):
        names = ("attempts", "attempt", "max_attempts", "final_error")
        assert [told["data"][name] for name in names] == [3, 4, 3, "503 Service Unavailable"]


async def test_a_snooze_past_its_limit_is_an_error_that_counts(hand):
    source = ONE_STEP.replace("jitter: 0}", "jitter: 0, max_snoozes: 1}")
    id_ = await hand.submit(source)
    for _ in range(4):
        await hand.report(await hand.lease_one(), Outcome("snoozed", after=1.0))
        await hand.clock.advance(10)
    told = [e for e in await hand.events(id_) if e["type"] in ("action_snoozed", "action_error")]
    assert [e["type"] for e in told] == ["action_snoozed", *["action_error"] * 3]
    assert {e["data"]["failure"]["reason"] for e in told[1:]} == {"snooze_limit"}
    step = (await hand.get(id_))["steps"]["only"]
    assert [one["outcome"] for one in step["attempts"]] == ["snoozed", "failed", "failed", "failed"]
    assert step["counted"] == 3


@pytest.mark.parametrize(("limit", "exhausted"), [(1, []), (2, [(2, 2)])])
async def test_a_rule_that_is_used_up_says_so_by_its_own_limit(hand, limit, exhausted):
    rules = f"jitter: 0, rules: [{{on: [http_503], max_attempts: {limit}}}]}}"
    id_ = await hand.submit(ONE_STEP.replace("jitter: 0}", rules))
    for _ in range(limit):
        await hand.fail(await hand.lease_one())
        await hand.clock.advance(10)
    events = await hand.events(id_)
    told = [e["data"] for e in events if e["type"] == "step_retry_exhausted"]
    assert [(data["attempts"], data["max_attempts"]) for data in told] == exhausted
    assert events[-1]["type"] == "execution_failed"


async def test_an_attempt_handed_back_makes_no_retry(hand):
    _, a = await hand.start()
    await hand.hand_back(a)
    a = await hand.lease_one()
    assert (a.attempt, a.is_retry) == (2, False)
    await hand.fail(a)
    await hand.clock.advance(1)
    a = await hand.lease_one()
    assert (a.attempt, a.is_retry) == (3, True)
