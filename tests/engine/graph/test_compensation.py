"""Tests compensations: when an execution fails, its successful steps are undone, the last first, by policies of their own."""

from __future__ import annotations

from support.compensation_workflows import (
    CHAIN,
    UNDO,
    compensation_of,
    failed_at_d,
    standing,
    told,
    undo_all,
    undo_next,
)

from tenax.model.attempt.outcome import Facts, Outcome

# -- the usual


async def test_three_completed_steps_are_undone_in_reverse_order(hand):
    id_ = await failed_at_d(hand)
    assert await standing(hand, id_) == ("running", "running"), "open until all is at rest"
    for step in "cba":
        a = await undo_next(hand, step)
        assert a.spec["args"] == {"undo": f"done {step}"}
        assert (a.attempt, a.max_attempts, a.is_retry) == (1, 2, False)
        assert (await hand.succeed(a, f"undone {step}")).verdict == "complete"
    assert await told(hand, id_, "step_failed_terminal") == [
        ("step_failed_terminal", "d"),
        ("execution_compensating", None),
        *[
            (kind, step)
            for step in "cba"
            for kind in ("compensation_enqueued", "compensation_started", "compensation_completed")
        ],
        ("execution_compensated", None),
        ("execution_failed", None),
    ]
    assert await hand.data_of(id_, "execution_compensated") == [{"completed": 3, "failed": 0}]
    execution = await hand.get(id_)
    assert (execution["status"], execution["compensation"]) == ("failed", "completed")
    assert (execution["failure"]["step"], execution["failure"]["reason"]) == ("d", "http_404")
    assert [execution["steps"][step]["status"] for step in "abcd"] == ["completed"] * 3 + ["failed"]
    undone = execution["steps"]["b"]["compensation"]
    assert (undone["status"], undone["result"], len(undone["attempts"])) == ("completed", "undone b", 1)
    assert execution["steps"]["d"]["compensation"] is None
    assert execution["steps"]["b"]["result"] == "done b", "what a step gave stays on record"
    assert await hand.sql("select from tenax.item") == []


async def test_an_execution_that_completes_undoes_nothing(hand):
    id_ = await hand.submit(CHAIN)
    for _ in "abcd":
        await hand.succeed(await hand.lease_one())
    assert await standing(hand, id_) == ("completed", None)
    assert await hand.lease() == []


async def test_where_nothing_had_succeeded_it_fails_at_once(hand):
    id_ = await hand.submit(CHAIN)
    await hand.fail(await hand.lease_one(), status_code=404)
    assert await standing(hand, id_) == ("failed", "completed")
    assert [kind for kind, _ in await told(hand, id_)] == [
        "execution_compensating",
        "execution_compensated",
        "execution_failed",
    ]


async def test_one_step_alone_is_undone_by_nothing(hand):
    source = f"name: one\nworkflow: [{{step: a, type: python, task: 't:t', {UNDO}}}]\n"
    id_ = await hand.submit(source)
    await hand.fail(await hand.lease_one(), status_code=404)
    assert await standing(hand, id_) == ("failed", "completed")
    assert await hand.lease() == []


# -- its own policy, ledger and states


async def test_a_compensation_that_fails_once_is_retried_by_its_own_policy(hand):
    id_ = await failed_at_d(hand)
    assert (await hand.fail(await undo_next(hand, "c"))).verdict == "retry"
    undone = await compensation_of(hand, id_, "c")
    assert (undone["status"], undone["counted"], undone["max_attempts"]) == ("retrying", 1, 2)
    assert (await hand.get(id_))["steps"]["c"]["status"] == "completed"
    await hand.clock.advance(4.9)
    assert await hand.lease() == [], "and the next one waits for it"
    await hand.clock.advance(0.1)
    again = await undo_next(hand, "c")
    assert (again.attempt, again.is_retry) == (2, True)
    await hand.succeed(again)
    assert await undo_all(hand) == ["b", "a"]
    assert (await told(hand, id_))[1:7] == [
        ("compensation_enqueued", "c"),
        ("compensation_started", "c"),
        ("compensation_error", "c"),
        ("compensation_retry", "c"),
        ("compensation_started", "c"),
        ("compensation_completed", "c"),
    ]
    [error] = await hand.data_of(id_, "compensation_error")
    assert (error["failure"]["reason"], error["error"]) == ("http_503", "503 Service Unavailable")
    [retry] = await hand.data_of(id_, "compensation_retry")
    assert (retry["delay_seconds"], retry["decision"]["after"]["counted"]) == (5.0, 1)
    assert await standing(hand, id_) == ("failed", "completed")
    explained = [e for e in await hand.engine.explain(id_, step="c") if e.compensation]
    assert [e.verdict for e in explained] == ["retry", "complete"]


async def test_one_that_fails_for_good_is_told_and_the_rest_still_run(hand):
    id_ = await failed_at_d(hand)
    await hand.succeed(await undo_next(hand, "c"))
    assert (await hand.fail(await undo_next(hand, "b"), status_code=403)).verdict == "fail"
    await hand.succeed(await undo_next(hand, "a"))
    assert await standing(hand, id_) == ("failed", "failed")
    assert await hand.data_of(id_, "execution_compensated") == [{"completed": 2, "failed": 1}]
    [failed] = await hand.data_of(id_, "compensation_failed")
    assert (failed["attempts"], failed["failure"]["class"]) == (1, "denied")
    undone = await compensation_of(hand, id_, "b")
    assert (undone["status"], undone["failure"]["reason"]) == ("failed", "http_403")
    execution = await hand.get(id_)
    assert execution["failure"]["step"] == "d", "why it failed is not why it could not be undone"
    assert execution["steps"]["b"]["status"] == "completed"
    [listed] = await hand.engine.list()
    assert listed.compensation == "failed"


async def test_one_whose_attempts_are_used_up_fails(hand):
    id_ = await failed_at_d(hand)
    assert (await hand.fail(await undo_next(hand, "c"))).verdict == "retry"
    await hand.clock.advance(5)
    assert (await hand.fail(await undo_next(hand, "c"))).verdict == "fail"
    assert await undo_all(hand) == ["b", "a"]
    assert await standing(hand, id_) == ("failed", "failed")
    types = await hand.types(id_)
    assert "step_retry_exhausted" not in types, "that is an event of a step"


async def test_a_lost_worker_costs_it_an_attempt_and_nothing_else(hand):
    id_ = await failed_at_d(hand)
    lost = await undo_next(hand, "c")
    await hand.wait(31)
    [error] = await hand.data_of(id_, "compensation_error")
    assert (error["failure"]["class"], error["how"]) == ("worker_lost", "lease_expired")
    await hand.pass_time(5)
    again = await hand.lease_one("w2")
    assert (again.step, again.attempt, again.compensates) == ("c", 2, True)
    assert (await hand.succeed(lost)).status == "late"
    [late] = await hand.events_of(id_, "late_result")
    assert (late["step"], late["attempt"], late["data"]["compensation"]) == ("c", 1, True)
    await hand.succeed(again)
    assert await undo_all(hand) == ["b", "a"]
    assert await standing(hand, id_) == ("failed", "completed")
    outcomes = [one["outcome"] for one in (await compensation_of(hand, id_, "c"))["attempts"]]
    assert outcomes == ["lost", "succeeded"]


async def test_its_timeout_is_its_own(hand):
    source = CHAIN.replace('task: "t:undo"', 'task: "t:undo", timeout: 20s')
    id_ = await failed_at_d(hand, source)
    undo = await undo_next(hand, "c")
    assert undo.timeout == 20
    for _ in range(4):
        await hand.pass_time(10)
        await hand.beat(undo)
        await hand.settle_down()
    [error] = await hand.data_of(id_, "compensation_error")
    assert error["failure"]["class"] == "timeout"


async def test_snoozed_not_completed_and_handed_back_as_any_other(hand):
    id_ = await failed_at_d(hand)
    await hand.report(await undo_next(hand, "c"), Outcome("snoozed", after=60))
    await hand.clock.advance(60)
    await hand.report(await undo_next(hand, "c"), Outcome("not_completed", facts=Facts()))
    await hand.clock.advance(5)
    a = await undo_next(hand, "c")
    await hand.hand_back(a)
    assert [d["how"] for d in await hand.data_of(id_, "compensation_error")] == [
        "action_snoozed",
        "action_not_completed",
    ]
    [back] = await hand.data_of(id_, "lease_released")
    assert back["compensation"] is True
    a = await undo_next(hand, "c")
    assert a.attempt == 4
    await hand.succeed(a)
    assert await undo_all(hand) == ["b", "a"]
    undone = await compensation_of(hand, id_, "c")
    assert (undone["status"], undone["counted"]) == ("completed", 2)
    assert (await hand.get(id_))["steps"]["c"]["status"] == "completed"


async def test_its_inputs_see_what_it_undoes_and_vary_with_its_attempts(hand):
    undo = (
        'compensate: {type: http, url: "http://x.test/{{ input.who }}/{{ steps.a.result.id }}", method: DELETE,'
        " headers: {try: 'n{{ attempt }}'}, retry: {max_attempts: 2, backoff: none, vary: [{}, {method: POST}]}}"
    )
    source = f"""
name: trip
input: {{who: {{}}}}
workflow:
  - {{step: a, type: python, task: "t:t", {undo}}}
  - {{step: b, type: python, task: "t:t", needs: [a]}}
"""
    id_ = await hand.submit(source, input={"who": "ann"})
    await hand.succeed(await hand.lease_one(), {"id": 7})
    await hand.fail(await hand.lease_one(), status_code=404)
    first = await undo_next(hand, "a")
    assert (first.runtime, first.spec["url"], first.spec["method"]) == (
        "http",
        "http://x.test/ann/7",
        "DELETE",
    )
    await hand.fail(first)
    second = await undo_next(hand, "a")
    assert (second.spec["method"], second.spec["headers"]) == ("POST", {"try": "n2"})
    started = await hand.data_of(id_, "compensation_started")
    assert [s.get("vary") for s in started] == [None, {"entry": 2, "override": {"method": "POST"}}]
    assert started[1]["retry"] == {"attempt": 2, "max_attempts": 2, "is_retry": True}
    assert first.receipt == second.receipt


async def test_one_that_cannot_be_rendered_fails_and_the_rest_still_run(hand):
    source = CHAIN.replace('needs: [b], compensate: {type: python, task: "t:undo", args: {undo: "{{ result }}"}',
                           'needs: [b], compensate: {type: python, task: "t:undo", args: {undo: "{{ result.no }}"}')  # fmt: skip
    assert source != CHAIN
    id_ = await failed_at_d(hand, source)
    assert await hand.lease() == []
    await hand.finish_background_work()
    assert await undo_all(hand) == ["b", "a"]
    [failed] = await hand.data_of(id_, "compensation_failed")
    assert failed["failure"]["reason"] == "template_error"
    assert await standing(hand, id_) == ("failed", "failed")
