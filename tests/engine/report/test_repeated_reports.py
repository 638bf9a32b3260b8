"""Tests many repeated and late reports at once: they get the same answers, after one search of the log."""

from __future__ import annotations

from support.fan_out_workflows import fan
from support.statements.sent_statements import counting

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import Assignment, Report


def reported(leased: list[Assignment], outcome: Outcome) -> list[Report]:
    return [Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step, a.item) for a in leased]


async def test_the_same_reports_again_get_the_same_answers_however_many_they_are(hand):
    """An outcome and what was decided on it may not come apart, where the log has many events at once."""
    retry = {"max_attempts": 2, "initial_delay": 0, "jitter": 0}
    no = Outcome("failed", facts=Facts(status_code=503, message="x"))
    id_ = await hand.submit(fan(list(range(40)), parallelism=40, retry=retry, tolerate=40))
    for verdict in ("retry", "fail"):
        await hand.settle_down()
        reports = reported(await hand.lease(slots=40), no)
        first = await hand.engine.report(reports)
        assert {(answer.status, answer.verdict) for answer in first} == {("applied", verdict)}
        assert await hand.engine.report(reports) == first
    assert await hand.status(id_) == "completed"


async def test_a_late_result_says_of_which_item_it_is_though_that_is_gone(hand):
    id_ = await hand.submit(fan([0, 1], {"step": "z"}, parallelism=2, tolerate=2))
    leased = {(a.step, a.item): a for a in await hand.lease()}
    await hand.pass_time(31)
    await hand.engine.reap()
    answers = await hand.engine.report(reported(list(leased.values()), Outcome("succeeded", 1)))
    assert {answer.status for answer in answers} == {"late"}
    late = await hand.events_of(id_, "late_result")
    assert {(e["step"], e["item"]) for e in late} == {("each", 0), ("each", 1), ("z", None)}


async def test_late_and_repeated_reports_are_looked_up_at_once(hand):
    await hand.submit(fan(list(range(30)), parallelism=30, tolerate=30))
    leased = await hand.lease(slots=30)
    await hand.engine.report(reported(leased[:10], Outcome("succeeded", 1)))
    await hand.pass_time(31)
    await hand.engine.reap()
    looked = await counting(hand, "find_outcomes")
    answers = await hand.engine.report(reported(leased, Outcome("succeeded", 1)))
    assert [answer.status for answer in answers] == ["applied"] * 10 + ["late"] * 20
    assert len(looked) == 1
