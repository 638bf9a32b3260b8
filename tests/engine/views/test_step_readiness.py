"""`get_step_readiness_status_batch`: Tasker's boundary cases, and the eligibility that the one decision function agrees with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.hand import Hand, one_postgres
from support.letters import exhausted
from support.profiles import examples

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.decision import Controls, Ledger
from tenax.model.policy import Policy
from tenax.policy.retry.decide import decide
from tenax.policy.retry.resolve import compile_policy

GRAPH = """
name: graph
workflow:
  - {step: a, type: python, task: "some:task", retry: {max_attempts: 3, initial_delay: 4, jitter: 0}}
  - {step: b, type: python, task: "some:task", needs: [a]}
  - {step: c, type: python, task: "some:task", needs: [a, b]}
"""
SECONDS = 1.0


async def readiness(hand: Hand, execution_id: int, steps: list[str] | None = None) -> list[dict[str, Any]]:
    rows = await hand.sql(
        "select * from ops.get_step_readiness_status_batch(array[$1::bigint], $2::text[])",
        execution_id,
        steps,
    )
    return [dict(row) for row in rows]


async def with_numbers(
    hand: Hand, attempts: int, retryable: bool | None, max_attempts: int | None
) -> dict[str, Any]:
    """Returns the readiness of a step whose rows have these numbers, whoever wrote them."""
    execution_id = await hand.submit()
    body = {"retryable": retryable, "max_attempts": max_attempts}
    given = {name: value for name, value in body.items() if value is not None}
    [row] = await hand.sql("select policies ->> 'only' as hash from tenax.plan")
    await hand.sql("update tenax.policy set body = $1::jsonb where hash = $2", json.dumps(given), row["hash"])
    await hand.sql(
        "update tenax.item set ledger = jsonb_build_object('counted', $1::integer, 'exempted', 0), attempt = $1",
        attempts,
    )
    [found] = await readiness(hand, execution_id)
    return found


@pytest.mark.odd_log
@pytest.mark.parametrize(
    ("attempts", "retryable", "max_attempts", "eligible"),
    [
        # the six boundary cases
        (0, True, 0, True),
        (1, True, 0, False),
        (0, True, 1, True), (1, True, 1, False),
        (0, True, 3, True), (1, True, 3, True), (2, True, 3, True), (3, True, 3, False),
        (0, False, 3, True),
        (1, False, 3, False),
        # the table of a single execution
        (0, False, 1, True), (1, False, 1, False),
        # what is not given: retryable, and three attempts
        (2, None, None, True), (3, None, None, False),
        (999_998, True, 999_999, True), (999_999, True, 999_999, False),
    ],
)  # fmt: skip
async def test_eligibility_is_that_of_taskers_tables(hand, attempts, retryable, max_attempts, eligible):
    found = await with_numbers(hand, attempts, retryable, max_attempts)
    assert (found["attempts"], found["retry_eligible"], found["ready_for_execution"]) == (
        attempts,
        eligible,
        eligible,
    )
    assert found["max_attempts"] == (3 if max_attempts is None else max_attempts)


@one_postgres
async def test_unlimited_attempts_are_never_used_up(hand):
    execution_id, attempt = await hand.start(
        "{name: one, workflow: [{step: only, type: python, task: 'a:b', retry: {max_attempts: unlimited, jitter: 0}}]}"
    )
    for n in range(5):
        await hand.fail(attempt)
        [found] = await readiness(hand, execution_id)
        assert (found["attempts"], found["max_attempts"], found["retry_eligible"]) == (n + 1, None, True)
        await hand.wait(300)
        attempt = await hand.lease_one()


@one_postgres
async def test_the_formula_allows_what_the_decision_function_retries(hand):
    """For random numbers: with nothing else in the way, an attempt that failed is retried exactly if its step is eligible."""
    cases: list[tuple[int, bool, int | None, bool]] = []

    @examples_of(cases)
    def collect(counted: int, retryable: bool, max_attempts: int | None) -> bool:
        policy = Policy(max_attempts=max_attempts, retryable=retryable, infra_attempts=0)
        decision = decide(
            compile_policy(policy), Ledger(counted=counted - 1), Outcome("failed", facts=Facts(status_code=503)),
            attempt=counted, elapsed=SECONDS, controls=Controls(), roll=0.5,
        )  # fmt: skip
        assert decision.after.counted == counted
        return decision.verdict == "retry"

    collect()
    rows = await hand.sql(
        "select ops.is_retry_eligible(c, r, m) as eligible from unnest($1::integer[], $2::boolean[], $3::integer[])"
        " with ordinality as x (c, r, m, n) order by n",
        [case[0] for case in cases], [case[1] for case in cases],
        [2**31 - 1 if case[2] is None else case[2] for case in cases],
    )  # fmt: skip
    assert [row["eligible"] for row in rows] == [case[3] for case in cases]
    assert {case[3] for case in cases} == {True, False}


def examples_of(cases: list[tuple[int, bool, int | None, bool]]) -> Any:
    """Runs a function for random numbers, and keeps them with its answers."""

    def decorate(function: Any) -> Any:
        @settings(max_examples=examples(300), deadline=None)
        @given(st.integers(1, 9), st.booleans(), st.none() | st.integers(1, 9))
        def run(counted: int, retryable: bool, max_attempts: int | None) -> None:
            cases.append((counted, retryable, max_attempts, function(counted, retryable, max_attempts)))

        return run

    return decorate


@one_postgres
async def test_an_attempt_that_an_operator_granted_is_ready(hand):
    execution_id = await exhausted(hand)
    [found] = await readiness(hand, execution_id)
    assert (found["attempts"], found["retry_eligible"], found["ready_for_execution"]) == (3, False, False)
    await hand.retry(execution_id)
    [found] = await readiness(hand, execution_id)
    assert (
        found["attempts"],
        found["max_attempts"],
        found["retry_eligible"],
        found["ready_for_execution"],
    ) == (3, 4, True, True)
    await hand.fail(await hand.lease_one())
    [found] = await readiness(hand, execution_id)
    assert (found["attempts"], found["retry_eligible"]) == (4, False)
    await hand.act(execution_id, "reset", reason="mended")
    await hand.succeed(await hand.lease_one())
    [found] = await readiness(hand, execution_id)
    assert (found["state"], found["attempts"]) == ("completed", 1)


@one_postgres
async def test_a_policy_that_an_operator_gave_counts(hand):
    execution_id, attempt = await hand.start()
    await hand.fail(attempt)
    await hand.act(execution_id, "reschedule", policy={"max_attempts": 9})
    [found] = await readiness(hand, execution_id)
    assert (found["attempts"], found["max_attempts"], found["retry_eligible"]) == (1, 9, True)


async def test_a_graph_is_ready_where_its_parents_are_done(hand):
    execution_id, attempt = await hand.start(GRAPH)
    a, b, c = await readiness(hand, execution_id)
    assert [one["state"] for one in (a, b, c)] == ["running", "pending", "pending"]
    assert [one["dependencies_satisfied"] for one in (a, b, c)] == [True, False, False]
    assert (c["total_parents"], c["completed_parents"], a["last_failure_at"]) == (2, 0, None)
    started = await hand.clock.now()
    await hand.pass_time(1)
    await hand.fail(attempt)
    failed = await hand.clock.now()
    [a] = await readiness(hand, execution_id, ["a"])
    assert (a["state"], a["attempts"], a["ready_for_execution"]) == ("retrying", 1, False)
    assert (a["last_attempted_at"], a["last_failure_at"]) == (started, failed)
    assert ((a["next_retry_at"] - failed).total_seconds(), a["backoff_request_seconds"]) == (4, 4)
    await hand.pass_time(4)
    [a] = await readiness(hand, execution_id, ["a"])
    assert a["ready_for_execution"]
    await hand.succeed(await hand.lease_one())
    a, b, c = await readiness(hand, execution_id)
    assert [one["state"] for one in (a, b, c)] == ["completed", "queued", "pending"]
    assert [one["ready_for_execution"] for one in (a, b, c)] == [False, True, False]
    assert (c["completed_parents"], c["dependencies_satisfied"], b["attempts"]) == (1, False, 0)
    await hand.engine.pause(execution_id, actor="me")
    assert not any(one["ready_for_execution"] for one in await readiness(hand, execution_id))


async def test_the_steps_of_an_ended_execution_are_ended(hand):
    execution_id, attempt = await hand.start()
    await hand.succeed(attempt)
    [only] = await readiness(hand, execution_id)
    assert (only["state"], only["attempts"], only["ready_for_execution"]) == ("completed", 1, False)
    assert await readiness(hand, execution_id + 1) == []
