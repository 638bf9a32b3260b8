"""What a test injects goes through a real worker and the real decisions, with the clock of the test."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenax.errors import UsageError
from tenax.testing import Tester, completed, failed

ORDER = """
name: order
input: {order: {}}
workflow:
  - step: charge
    type: python
    task: "testing.shop:charge"
    args: {order: "{{ input.order }}"}
    timeout: 10m
    retry: {max_attempts: 4, initial_delay: 2h, max_delay: 1d}
  - step: ship
    type: python
    task: "testing.shop:ship"
    args: {receipt: "{{ steps.charge.result.receipt }}"}
    needs: [charge]
"""
INPUT = {"order": {"id": 7}}
CALL = """
name: call
workflow:
  - step: call
    type: http
    url: http://localhost:1/orders
    retry: {max_attempts: 3, initial_delay: 1m, max_delay: 10m}
"""


def _charged() -> list[int]:
    from testing import shop

    return shop.CHARGED


def test_nothing_is_injected(tenax: Tester) -> None:
    execution = tenax.run(ORDER, input=INPUT)
    assert execution == completed
    assert execution.result == {"ship": "parcel for R-7"}
    assert execution.id == 1, "each test begins with an empty database"


def test_failures_at_two_attempts(tenax: Tester) -> None:
    tenax.fail("charge", attempt=[1, 2], error=ConnectionError("down"))
    before = tenax.now
    execution = tenax.run(ORDER, input=INPUT)
    assert execution == completed
    assert [one.outcome for one in execution.attempts("charge")] == ["failed", "failed", "succeeded"]
    assert [one.failure and one.failure["reason"] for one in execution.attempts("charge")] == [
        "connection_failed",
        "connection_failed",
        None,
    ]
    execution.assert_delays("charge", [7200, 14400])
    assert tenax.now - before == timedelta(hours=6)


def test_every_attempt_fails(tenax: Tester) -> None:
    tenax.fail(
        "testing.shop:charge",
        attempt=None,
        facts={"message": "no", "failure_class": "transient", "reason": "odd"},
    )
    execution = tenax.run(ORDER, input=INPUT)
    assert execution == failed
    execution.assert_failed(reason="odd", failure_class="transient")
    execution.assert_attempts("charge", 4)
    execution.assert_events(
        "step_retry", "step_retry", "step_retry", "step_retry_exhausted", "execution_failed"
    )
    execution.assert_no_events("action_completed")
    assert "attempts_exhausted" in execution.explanation


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        ({"status_code": 503}, "http_503"),
        ({"error": TimeoutError}, "exception_TimeoutError"),
        ({"exit_code": 7}, "exit_code_7"),
        ({}, "exception_InjectedFailure"),
    ],
)
def test_kinds_of_failures(tenax: Tester, cause: dict, reason: str) -> None:
    tenax.fail("call", **cause)
    tenax.succeed("call", result={"status_code": 200, "headers": {}, "data": {"ok": True}})
    execution = tenax.run(CALL)
    assert execution.result["call"]["data"] == {"ok": True}
    assert [one.failure and one.failure["reason"] for one in execution.attempts()] == [reason, None]
    assert execution.delays() == [60]


def test_a_permanent_failure_is_not_retried(tenax: Tester) -> None:
    tenax.fail("charge", error=ValueError("no amount"))
    execution = tenax.run(ORDER, input=INPUT)
    execution.assert_failed(failure_class="logical")
    execution.assert_attempts("charge", 1)


def test_a_worker_is_lost_before_the_work(tenax: Tester) -> None:
    _charged().clear()
    tenax.lose_worker("charge", attempt=1)
    before = tenax.now
    execution = tenax.run(ORDER, input=INPUT)
    assert execution == completed
    execution.assert_events(
        "action_started", "lease_expired", "step_retry", "action_completed", step="charge"
    )
    [lost, _] = execution.attempts("charge")
    assert lost.failure is not None
    assert (lost.outcome, lost.failure["reason"]) == ("lost", "worker_heartbeat_stale")
    assert tenax.now - before == timedelta(seconds=30, hours=2), (
        "the lease has expired, and the retry was due"
    )
    assert _charged() == [7]


def test_a_worker_is_lost_after_the_work(tenax: Tester) -> None:
    _charged().clear()
    tenax.lose_worker("charge", attempt=1, after_work=True)
    execution = tenax.run(ORDER, input=INPUT)
    assert execution == completed
    assert _charged() == [7, 7], "the work was done, nobody heard of it, and it was done again"


def test_a_lost_worker_is_not_counted(tenax: Tester) -> None:
    tenax.lose_worker("charge", attempt=[1, 2])
    tenax.fail("charge", attempt=[3, 4, 5, 6])
    execution = tenax.run(ORDER, input=INPUT)
    assert execution == failed
    execution.assert_attempts("charge", 6)


def test_a_timeout(tenax: Tester) -> None:
    tenax.time_out("charge", attempt=2)
    tenax.fail("charge", attempt=1)
    before = tenax.now
    execution = tenax.run(ORDER, input=INPUT)
    assert execution == completed
    timed_out = execution.attempts("charge")[1]
    assert timed_out.failure is not None
    assert (timed_out.failure["class"], timed_out.failure["message"]) == ("timeout", "timed out after 600 s")
    assert tenax.now - before == timedelta(hours=2 + 4, minutes=10)


FAN_OUT = """
name: fan
workflow:
  - step: many
    type: python
    task: "testing.shop:ship"
    args: {receipt: "{{ item }}"}
    for_each: [a, b, c]
    retry: {max_attempts: 3, initial_delay: 1h, max_delay: 1d}
"""


def test_one_item_of_a_fan_out(tenax: Tester) -> None:
    tenax.fail("many", item=1, attempt=[1, 2])
    tenax.lose_worker("many", item=2)
    execution = tenax.run(FAN_OUT)
    assert execution.result == {"many": ["parcel for a", "parcel for b", "parcel for c"]}
    execution.assert_attempts("many", 1, item=0)
    execution.assert_attempts("many", 3, item=1)
    execution.assert_delays("many", [3600, 7200], item=1)
    execution.assert_attempts("many", 2, item=2)


UNDONE = """
name: undone
workflow:
  - step: book
    type: python
    task: "testing.shop:ship"
    args: {receipt: hotel}
    compensate: {type: python, task: "testing.shop:ship", args: {receipt: no hotel}, retry: {max_attempts: 3, initial_delay: 1h}}
  - {step: pay, type: python, task: "testing.shop:refuse", args: {order: {id: 1}}, needs: [book]}
"""


def test_a_compensation_fails_once(tenax: Tester) -> None:
    tenax.fail("book", compensation=True)
    execution = tenax.run(UNDONE)
    assert (execution.status, execution.view.compensation) == ("failed", "completed")
    execution.assert_events("compensation_error", "compensation_retry", "compensation_completed")


def test_an_attempt_before_all_and_the_last_before_earlier_ones(tenax: Tester) -> None:
    tenax.succeed("charge", result={"receipt": "first"})
    tenax.succeed("charge", result={"receipt": "second"})
    tenax.fail("charge", attempt=1)
    execution = tenax.run(ORDER, input=INPUT)
    assert execution.result == {"ship": "parcel for second"}
    complaint = tenax.missed_injections()
    assert complaint is not None
    assert "result={'receipt': 'first'}) was never reached" in complaint
    tenax.forget_injections()


def test_what_is_not_reached_is_named(tenax: Tester) -> None:
    tenax.fail("charge", attempt=[1, 3], error=ValueError("no"))
    tenax.lose_worker("shop")
    tenax.run(ORDER, input=INPUT)
    complaint = tenax.missed_injections()
    assert complaint is not None
    assert complaint.splitlines()[:3] == [
        "tenax.fail('charge', attempt=[1, 3], error=ValueError('no')) was not reached at attempt 3",
        "tenax.lose_worker('shop', attempt=1) was never reached",
        "attempts that began on a worker: charge (testing.shop:charge) attempt 1",
    ]
    tenax.forget_injections()


def test_wrong_injections(tenax: Tester) -> None:
    with pytest.raises(ValueError, match="attempts are numbered from 1, not 0"):
        tenax.fail("charge", attempt=0)
    with pytest.raises(UsageError, match="a failure has one cause"):
        tenax.fail("charge", status_code=503, exit_code=1)
    with pytest.raises(UsageError, match=r"these are no facts of a failure: .*status_code"):
        tenax.fail("charge", facts={"status_code": "many"})
    with pytest.raises(UsageError, match=r"a failure has no fact 'statuscode'; did you mean .status_code"):
        tenax.fail("charge", facts={"statuscode": 503})


def test_jitter_is_drawn_by_the_test(tenax: Tester) -> None:
    tenax.roll = 1.0
    tenax.fail("charge")
    execution = tenax.run(ORDER, input=INPUT)
    execution.assert_delays("charge", [7200 * 1.2])
