"""Tests callbacks. A success of any attempt counts while the item is open, and a failure only of the current one. All others are late."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from support.hand import ASYNC, CALLED_BACK, STEP_DONE, Hand

from tenax.errors import NotFound
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import Assignment, Report
from tenax.policy.receipt import receipt

BASE = "http://tenax.test"
pytestmark = pytest.mark.settings(callback_url=BASE)
ITEMS = ASYNC.replace(
    "    retry:", "    for_each: [a, b, c]\n    parallelism: 1\n    tolerate: 1\n    retry:"
)
TWO_STEPS = ASYNC + "  - {step: then, type: python, task: 't:t', needs: [job]}\n"
FAILED = Outcome("failed", facts=Facts(status_code=503, message="the queue is full"))
ACCEPTED = Outcome("accepted", {"status_code": 202})


async def accept_next(hand: Hand) -> Assignment:
    assignment = await hand.lease_one()
    assert (await hand.report(assignment, ACCEPTED)).status == "applied"
    return assignment


async def failed_once(hand: Hand, source: str = ASYNC) -> Assignment:
    """The first attempt, which is over; the second waits for its time."""
    first = await hand.accepted(source)
    assert (await hand.call_back(first, FAILED)).verdict == "retry"
    return first


async def only_step(hand: Hand, a: Assignment) -> dict[str, Any]:
    return (await hand.get(a.execution_id))["steps"]["job"]


# -- the usual


async def test_a_2xx_ends_the_lease_and_the_callback_ends_the_attempt(hand):
    a = await hand.accepted(TWO_STEPS)
    assert await hand.lease() == []
    assert await hand.sql("select from tenax.item where lease_token is not null") == []
    step = await only_step(hand, a)
    assert (step["status"], step["waiting"]["for"]) == ("running", "callback")
    await hand.wait(3599)
    assert (await hand.call_back(a)).verdict == "complete"
    step = await only_step(hand, a)
    assert (step["result"], step["attempt"], step["counted"]) == ({"pages": 3}, 1, 1)
    assert (await hand.lease_one()).step == "then"
    [done] = await hand.events_of(a.execution_id, "action_completed")
    assert done["data"]["via"] == "callback"
    assert (await hand.types(a.execution_id))[2:6] == ["action_started", "action_accepted", *STEP_DONE]


async def test_the_url_names_item_attempt_receipt_and_step(hand):
    _, a = await hand.start(ITEMS)
    url = urlsplit(a.callback or "")
    assert f"{url.scheme}://{url.netloc}" == BASE
    assert url.path == f"/v1/callbacks/{a.execution_id}/{a.item_id}/1/{a.receipt}"
    assert parse_qs(url.query) == {"step": ["job"], "item": ["0"]}


async def test_the_receipt_is_the_same_over_all_attempts_and_the_attempt_is_not(hand):
    first = await failed_once(hand)
    await hand.clock.advance(10)
    second = await hand.lease_one()
    assert (first.receipt, first.item_id) == (second.receipt, second.item_id)
    assert (first.attempt, second.attempt) == (1, 2)
    assert first.callback != second.callback


async def test_a_failure_of_the_current_attempt_is_judged_by_the_policy(hand):
    a = await failed_once(hand)
    [error] = await hand.events_of(a.execution_id, "action_error")
    assert (error["data"]["failure"]["reason"], error["data"]["via"]) == ("http_503", "callback")
    assert (await only_step(hand, a))["status"] == "retrying"
    await hand.clock.advance(10)
    second = await accept_next(hand)
    told = await hand.call_back(second, Outcome("failed", facts=Facts(fatal=True, message="no")))
    assert told.verdict == "fail"
    assert await hand.status(a.execution_id) == "failed"


# -- before the 2xx


async def test_a_success_may_come_before_the_2xx(hand):
    _, a = await hand.start(ASYNC)
    assert (await hand.call_back(a)).verdict == "complete"
    before = await hand.types(a.execution_id)
    assert (await hand.report(a, ACCEPTED)).status == "late"
    assert await hand.types(a.execution_id) == before, "that it was accepted is no news, and no result"
    assert (await hand.get(a.execution_id))["result"] == {"job": {"pages": 3}}


async def test_a_failure_may_come_before_the_2xx(hand):
    _, a = await hand.start(ASYNC)
    assert (await hand.call_back(a, FAILED)).verdict == "retry"
    assert (await hand.report(a, ACCEPTED)).status == "late"
    assert (await only_step(hand, a))["status"] == "retrying"
    assert (await hand.beat(a)).revoked


async def test_a_worker_that_sees_no_2xx_after_the_success_changes_nothing(hand):
    _, a = await hand.start(ASYNC)
    await hand.call_back(a)
    assert (await hand.fail(a)).status == "late"
    assert await hand.status(a.execution_id) == "completed"
    [late] = await hand.events_of(a.execution_id, "late_result")
    assert late["data"]["failure"]["reason"] == "http_503"


# -- again, and late


async def test_the_same_callback_again_is_late(hand):
    a = await hand.accepted(TWO_STEPS)
    assert (await hand.call_back(a)).status == "applied"
    assert (await hand.call_back(a)).status == "late"
    assert (await hand.call_back(a, FAILED)).status == "late"
    late = await hand.events_of(a.execution_id, "late_result")
    assert [(e["step"], e["attempt"], e["data"]["status"]) for e in late] == [("job", 1, "failed")]
    assert late[0]["data"]["via"] == "callback"
    assert len(await hand.events_of(a.execution_id, "action_completed")) == 1
    assert (await only_step(hand, a))["status"] == "completed"


async def test_the_same_failure_again_does_not_spend_another_attempt(hand):
    a = await failed_once(hand)
    assert (await hand.call_back(a, FAILED)).status == "late"
    assert (await only_step(hand, a))["counted"] == 1


async def test_the_failure_of_an_old_attempt_is_late_while_the_next_runs(hand):
    first = await failed_once(hand)
    await hand.clock.advance(10)
    for _ in range(2):  # while the worker has the second, and while its callee has
        assert (await hand.call_back(first, FAILED)).status == "late"
    second = await accept_next(hand)
    assert (await hand.call_back(first, FAILED)).status == "late"
    assert (await only_step(hand, second))["status"] == "running"
    assert await hand.events_of(first.execution_id, "late_result") == [], "it was applied once, in its time"
    assert (await hand.call_back(first, Outcome("failed", facts=Facts(status_code=500)))).status == "late"
    assert {e["attempt"] for e in await hand.events_of(first.execution_id, "late_result")} == {1}
    assert (await hand.call_back(second)).verdict == "complete"


async def test_the_success_of_an_old_attempt_is_accepted_while_the_retry_waits(hand):
    first = await failed_once(hand)
    assert (await hand.call_back(first)).verdict == "complete"
    execution = await hand.get(first.execution_id)
    assert (execution["status"], execution["result"]) == ("completed", {"job": {"pages": 3}})
    [done] = await hand.events_of(first.execution_id, "action_completed")
    assert done["attempt"] == 1
    assert done["data"]["decision"]["verdict"] == "complete"
    assert done["data"]["decision"]["attempt"] == 1
    await hand.clock.advance(60)
    assert await hand.lease() == [], "the retry does not start any more"


@pytest.mark.parametrize("by", ["worker", "callee"])
async def test_the_success_of_an_old_attempt_is_accepted_while_the_next_runs(hand, by):
    first = await failed_once(hand)
    await hand.clock.advance(10)
    second = await (accept_next(hand) if by == "callee" else hand.lease_one())
    assert (await hand.call_back(first)).verdict == "complete"
    assert await hand.status(first.execution_id) == "completed"
    if by == "worker":
        assert (await hand.beat(second)).revoked
        assert (await hand.succeed(second, "mine")).status == "late"
    assert (await hand.call_back(second, Outcome("succeeded", "mine"))).status == "late"
    execution = await hand.get(first.execution_id)
    assert execution["result"] == {"job": {"pages": 3}}
    assert [one["outcome"] for one in execution["steps"]["job"]["attempts"]] == [
        "failed",
        "superseded",
        "succeeded",
    ]
    [done] = await hand.events_of(first.execution_id, "action_completed")
    assert done["data"]["decision"]["attempt"] == 1


async def test_a_success_counts_while_an_attempt_that_was_handed_back_is_queued(hand):
    _, a = await hand.start(ASYNC)
    await hand.hand_back(a)
    assert (await hand.call_back(a, FAILED)).status == "late"
    assert (await hand.call_back(a)).verdict == "complete"
    assert await hand.lease() == []


@pytest.mark.parametrize("attempt", [0, 2, 99])
async def test_an_attempt_that_was_never_given_cannot_be_called_back(hand, attempt):
    a = await hand.accepted()
    with pytest.raises(NotFound, match="nothing to call back"):
        await hand.call_back(a, attempt=attempt)
    assert (await only_step(hand, a))["status"] == "running"
    await hand.engine.cancel(a.execution_id, actor="ann")
    with pytest.raises(NotFound, match="nothing to call back"):
        await hand.call_back(a, attempt=attempt)
    assert await hand.events_of(a.execution_id, "late_result") == []


async def test_nothing_counts_before_the_first_attempt(hand):
    _, a = await hand.start(ITEMS)
    [row] = await hand.sql("select id from tenax.item where item_no = 1")
    key = receipt(hand.engine.context.secret, a.execution_id, row["id"])
    with pytest.raises(NotFound, match="nothing to call back"):
        await hand.engine.callback(a.execution_id, row["id"], 0, key, CALLED_BACK, step="job", item=1)


async def test_after_the_end_it_is_recorded_with_its_step(hand):
    a = await hand.accepted()
    await hand.engine.cancel(a.execution_id, actor="ann")
    assert (await hand.call_back(a)).status == "late"
    [late] = await hand.events_of(a.execution_id, "late_result")
    assert (late["step"], late["attempt"], late["data"]["result"]) == ("job", 1, {"pages": 3})
    for step in ("nonsense", None):
        with pytest.raises(NotFound, match="nothing to call back"):
            await hand.engine.callback(a.execution_id, a.item_id, 1, a.receipt, CALLED_BACK, step=step)
    assert len(await hand.events_of(a.execution_id, "late_result")) == 1
    assert await hand.status(a.execution_id) == "cancelled"


async def test_who_has_no_receipt_is_told_nothing(hand):
    a, other = await hand.accepted(), await hand.accepted()
    for execution_id, item_id, key in (
        (a.execution_id, a.item_id, "0" * 32),
        (a.execution_id, a.item_id, ""),
        (a.execution_id, a.item_id, "n\u00efx"),
        (a.execution_id, a.item_id, other.receipt),
        (other.execution_id, a.item_id, a.receipt),
        (99, a.item_id, a.receipt),
    ):
        with pytest.raises(NotFound, match="nothing to call back under this address"):
            await hand.engine.callback(execution_id, item_id, 1, key, CALLED_BACK)
    assert await hand.events_of(a.execution_id, "late_result") == []


async def test_a_step_that_is_not_async_cannot_be_called_back(hand):
    """Its receipt is known to its callee as well; but its worker says how it ended."""
    _, a = await hand.start(ASYNC.replace("    async: {deadline: 1h}\n", ""))
    assert a.callback is None
    with pytest.raises(NotFound, match="nothing to call back under this address"):
        await hand.call_back(a)
    assert (await hand.succeed(a, 1)).status == "applied"


# -- the deadline


async def test_no_callback_by_the_deadline_is_a_timeout_that_the_policy_judges(hand):
    a = await hand.accepted()
    await hand.wait(3600)
    [error] = await hand.events_of(a.execution_id, "action_error")
    assert (error["data"]["failure"]["class"], error["data"]["failure"]["reason"]) == (
        "timeout",
        "callback_deadline",
    )
    assert (await only_step(hand, a))["status"] == "retrying"
    await hand.pass_time(10)
    second = await accept_next(hand)
    assert second.attempt == 2
    assert (await hand.call_back(a)).verdict == "complete", "the callee of the first was only slow"


async def test_deadlines_use_up_the_attempts(hand):
    await hand.submit(ASYNC)
    for _ in range(3):
        a = await accept_next(hand)
        await hand.wait(3600)
        await hand.pass_time(10)
    failure = (await hand.get(a.execution_id))["failure"]
    assert (failure["reason"], failure["attempts"]) == ("callback_deadline", 3)
    assert await hand.events_of(a.execution_id, "step_retry_exhausted")


async def test_the_deadline_outlives_the_server_and_a_gap_in_service_does_not_count(hand):
    """While no server was there, nobody could call back: there is one more lease for it."""
    a = await hand.accepted()
    await hand.clock.advance(2 * 3600)
    later = await hand.restarted()
    await later.settle_down()
    assert (await only_step(later, a))["status"] == "running"
    assert (await later.call_back(a)).verdict == "complete"
    b = await later.accepted()
    await later.clock.advance(2 * 3600)
    last = await hand.restarted()
    await last.wait(31)
    assert (await only_step(last, b))["status"] == "retrying"


# -- the worker's side


async def test_that_it_was_accepted_may_be_said_twice(hand):
    a = await hand.accepted()
    before = await hand.types(a.execution_id)
    again = await hand.report(a, ACCEPTED)
    assert again.status == "applied", "the same report again gets the first answer"
    assert await hand.types(a.execution_id) == before
    assert (await hand.call_back(a)).verdict == "complete"


async def test_reports_of_several_items_said_twice_get_each_their_own_answer(hand):
    source = ITEMS.replace("parallelism: 1", "parallelism: 3")
    await hand.submit(source)
    work = await hand.lease()
    outcomes = (FAILED, CALLED_BACK, ACCEPTED)
    reports = [
        Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step)
        for a, outcome in zip(work, outcomes, strict=True)
    ]
    first = await hand.engine.report(reports)
    assert [answer.verdict for answer in first] == ["retry", "complete", None]
    before = await hand.types(work[0].execution_id)
    assert await hand.engine.report(reports) == first
    assert await hand.types(work[0].execution_id) == before


async def test_the_late_report_of_an_item_names_it(hand):
    _, a = await hand.start(ITEMS)
    await hand.wait(31)
    assert (await hand.succeed(a)).status == "late"
    [late] = await hand.events_of(a.execution_id, "late_result")
    assert (late["step"], late["item"], late["attempt"]) == ("job", 0, 1)


async def test_a_synchronous_answer_of_an_async_step_ends_it(hand):
    """A callee that refuses: the worker reports a failure, not an acceptance."""
    _, a = await hand.start(ASYNC)
    assert (await hand.fail(a)).verdict == "retry"
    assert (await hand.call_back(a)).verdict == "complete", "and yet it had done it"


async def test_a_step_that_is_not_async_cannot_be_accepted(hand):
    id_ = await hand.submit()
    assert (await hand.report(await hand.lease_one(), ACCEPTED)).verdict == "fail"
    assert (await hand.get(id_))["failure"]["reason"] == "invalid_result"


@pytest.mark.settings(callback_url=None)
async def test_without_an_address_to_call_back_the_step_says_so(hand):
    id_ = await hand.submit(ASYNC)
    assert await hand.lease() == []
    await hand.finish_background_work()
    execution = await hand.get(id_)
    assert execution["status"] == "failed"
    assert (execution["failure"]["class"], execution["failure"]["reason"]) == ("invalid", "no_callback_url")
    assert "callback_url" in execution["failure"]["message"]


async def test_cancel_ends_what_a_callee_has(hand):
    a = await hand.accepted()
    await hand.engine.cancel(a.execution_id, actor="ann")
    assert (await only_step(hand, a))["status"] == "cancelled"
    assert await hand.sql("select from tenax.item") == []
    assert (await hand.call_back(a)).status == "late"


async def test_what_a_callee_has_when_the_execution_fails_may_finish_and_is_recorded(hand):
    source = ASYNC + "  - {step: other, type: python, task: 't:t'}\n"
    await hand.submit(source)
    work = {a.step: a for a in await hand.lease()}
    await hand.report(work["job"], ACCEPTED)
    await hand.fail(work["other"], status_code=404)
    assert await hand.status(work["job"].execution_id) == "failed"
    assert (await hand.call_back(work["job"])).verdict == "stop"
    assert (await only_step(hand, work["job"]))["status"] == "completed"


# -- fan-outs, pauses, polls


async def test_each_item_is_called_back_by_itself(hand):
    await hand.submit(ITEMS)
    a = await accept_next(hand)
    assert (a.item, await hand.lease()) == (0, []), "a callee that works has the item's place"
    assert (await hand.call_back(a, FAILED)).verdict == "retry"
    b = await accept_next(hand)
    assert b.item == 1, "a waiting retry frees its place"
    assert (await hand.call_back(a, Outcome("succeeded", "A"))).verdict == "complete"
    assert await hand.lease() == [], "the success of one that had no place frees none"
    assert (await hand.call_back(b, Outcome("failed", facts=Facts(fatal=True)))).verdict == "fail"
    c = await accept_next(hand)
    assert (await hand.call_back(c, Outcome("succeeded", "C"))).verdict == "complete"
    execution = await hand.get(a.execution_id)
    assert (execution["status"], execution["result"]) == ("completed", {"job": ["A", None, "C"]})
    assert (await hand.call_back(b)).status == "late"
    [late] = await hand.events_of(b.execution_id, "late_result")
    assert (late["step"], late["item"]) == ("job", 1)


async def test_a_callback_is_heard_during_a_pause(hand):
    a = await hand.accepted(TWO_STEPS)
    await hand.engine.pause(a.execution_id, actor="ann")
    assert (await hand.call_back(a)).verdict == "complete"
    assert await hand.lease() == []
    await hand.engine.resume(a.execution_id, actor="ann")
    assert (await hand.lease_one()).step == "then"


async def test_a_success_that_is_not_done_yet_runs_again(hand):
    source = ASYNC.replace("    retry:", "    until: {condition: result.pages == 3, delay: 7s}\n    retry:")
    a = await hand.accepted(source)
    assert (await hand.call_back(a, Outcome("succeeded", {"pages": 1}))).verdict == "retry"
    await hand.clock.advance(7)
    b = await accept_next(hand)
    assert b.attempt == 2
    assert (await hand.call_back(b)).verdict == "complete"
    assert (await only_step(hand, b))["counted"] == 1


async def test_an_old_attempt_that_was_not_done_yet_is_late_and_one_that_was_counts(hand):
    source = ASYNC.replace("    retry:", "    until: {condition: result.pages == 3, delay: 7s}\n    retry:")
    first = await failed_once(hand, source)
    assert (await hand.call_back(first, Outcome("succeeded", {"pages": 1}))).status == "late"
    await hand.clock.advance(10)
    second = await accept_next(hand)
    assert (await hand.call_back(first, Outcome("succeeded", {"pages": 2}))).status == "late"
    assert (await only_step(hand, second))["waiting"]["for"] == "callback", "the second goes on"
    assert (await hand.call_back(first)).verdict == "complete"


async def test_the_callee_of_a_step_that_is_not_async_has_nothing_to_call_back(hand):
    id_, a = await hand.start("name: p\nworkflow: [{step: w, type: http, url: 'http://x.test/'}]\n")
    for ended in (False, True):
        if ended:
            await hand.succeed(a)
        before = await hand.types(id_)
        for step in (None, "w", "nobody"):
            with pytest.raises(NotFound, match="nothing to call back"):
                await hand.engine.callback(id_, a.item_id, 1, a.receipt, Outcome("succeeded", "x"), step=step)
        assert await hand.types(id_) == before, "nor can it fill the log"
