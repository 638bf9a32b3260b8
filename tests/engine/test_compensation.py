"""Compensations: when an execution fails, what had succeeded is undone, the last first, by rules of its own."""

from __future__ import annotations

from typing import Any

import pytest
from hand import Hand

from tenax.errors import Conflict
from tenax.model.outcome import Facts, Outcome
from tenax.model.wire import Assignment, Release

UNDO = """compensate: {type: python, task: "t:undo", args: {undo: "{{ result }}"},
                 retry: {max_attempts: 2, initial_delay: 5s, jitter: 0}}"""
CHAIN = f"""
name: trip
workflow:
  - {{step: a, type: python, task: "t:t", {UNDO}}}
  - {{step: b, type: python, task: "t:t", needs: [a], {UNDO}}}
  - {{step: c, type: python, task: "t:t", needs: [b], {UNDO}}}
  - {{step: d, type: python, task: "t:t", needs: [c], {UNDO}}}
"""
FAN_OUT = """
name: many
workflow:
  - step: each
    type: python
    task: t:t
    for_each: [x, y, z]
    parallelism: 3
    compensate: {type: python, task: "t:undo", args: {item: "{{ item }}", index: "{{ index }}", got: "{{ result }}"}}
  - {step: last, type: python, task: "t:t", needs: [each]}
"""
PARALLEL = f"""
name: trip
workflow:
  - {{step: a, type: python, task: "t:t", {UNDO}}}
  - {{step: b, type: python, task: "t:t", {UNDO}}}
  - {{step: c, type: python, task: "t:t"}}
"""


async def failed_at_d(hand: Hand, source: str = CHAIN, **more: Any) -> int:
    """a, b and c have succeeded, and d has failed for good."""
    id_ = await hand.submit(source, **more)
    for step in "abc":
        await hand.succeed(await hand.lease_one(), f"done {step}")
    await hand.fail(await hand.lease_one(), status_code=404)
    return id_


async def undo_next(hand: Hand, step: str) -> Assignment:
    """Leases the compensation that is next, which is the only thing to be leased."""
    assignment = await hand.lease_one()
    assert (assignment.step, assignment.compensates) == (step, True)
    return assignment


async def undo_all(hand: Hand) -> list[str]:
    undone = []
    while found := await hand.lease():
        [assignment] = found
        assert assignment.compensates
        undone.append(assignment.step)
        await hand.succeed(assignment)
    return undone


async def told(hand: Hand, id_: int, after: str = "execution_compensating") -> list[tuple[str, str | None]]:
    events = await hand.engine.events(id_)
    start = next(n for n, e in enumerate(events) if e["type"] == after)
    return [(e["type"], e["step"]) for e in events[start:]]


async def data_of(hand: Hand, id_: int, kind: str) -> list[dict[str, Any]]:
    return [e["data"] for e in await hand.engine.events(id_) if e["type"] == kind]


async def standing(hand: Hand, id_: int) -> tuple[str, str | None]:
    execution = await hand.engine.get(id_)
    return execution["status"], execution["compensation"]


async def compensation_of(hand: Hand, id_: int, step: str) -> dict[str, Any]:
    return (await hand.engine.get(id_))["steps"][step]["compensation"]


# -- the usual


def test_three_completed_steps_are_undone_in_reverse_order(play):
    async def scene(hand: Hand):
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
        assert await data_of(hand, id_, "execution_compensated") == [{"completed": 3, "failed": 0}]
        execution = await hand.engine.get(id_)
        assert (execution["status"], execution["compensation"]) == ("failed", "completed")
        assert (execution["failure"]["step"], execution["failure"]["reason"]) == ("d", "http_404")
        assert [execution["steps"][step]["status"] for step in "abcd"] == ["completed"] * 3 + ["failed"]
        undone = execution["steps"]["b"]["compensation"]
        assert (undone["status"], undone["result"], len(undone["attempts"])) == ("completed", "undone b", 1)
        assert execution["steps"]["d"]["compensation"] is None
        assert execution["steps"]["b"]["result"] == "done b", "what a step gave stays on record"
        assert await hand.sql("select from tenax.item") == []

    play(scene)


def test_an_execution_that_completes_undoes_nothing(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(CHAIN)
        for _ in "abcd":
            await hand.succeed(await hand.lease_one())
        assert await standing(hand, id_) == ("completed", None)
        assert await hand.lease() == []

    play(scene)


def test_where_nothing_had_succeeded_it_fails_at_once(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(CHAIN)
        await hand.fail(await hand.lease_one(), status_code=404)
        assert await standing(hand, id_) == ("failed", "completed")
        assert [kind for kind, _ in await told(hand, id_)] == [
            "execution_compensating",
            "execution_compensated",
            "execution_failed",
        ]

    play(scene)


def test_one_step_alone_is_undone_by_nothing(play):
    source = f"name: one\nworkflow: [{{step: a, type: python, task: 't:t', {UNDO}}}]\n"

    async def scene(hand: Hand):
        id_ = await hand.submit(source)
        await hand.fail(await hand.lease_one(), status_code=404)
        assert await standing(hand, id_) == ("failed", "completed")
        assert await hand.lease() == []

    play(scene)


# -- its own policy, ledger and states


def test_a_compensation_that_fails_once_is_retried_by_its_own_policy(play):
    async def scene(hand: Hand):
        id_ = await failed_at_d(hand)
        assert (await hand.fail(await undo_next(hand, "c"))).verdict == "retry"
        undone = await compensation_of(hand, id_, "c")
        assert (undone["status"], undone["counted"], undone["max_attempts"]) == ("retrying", 1, 2)
        assert (await hand.engine.get(id_))["steps"]["c"]["status"] == "completed"
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
        [error] = await data_of(hand, id_, "compensation_error")
        assert (error["failure"]["reason"], error["error"]) == ("http_503", "503 Service Unavailable")
        [retry] = await data_of(hand, id_, "compensation_retry")
        assert (retry["delay_seconds"], retry["decision"]["after"]["counted"]) == (5.0, 1)
        assert await standing(hand, id_) == ("failed", "completed")
        explained = [e for e in await hand.engine.explain(id_, step="c") if e["compensation"]]
        assert [e["verdict"] for e in explained] == ["retry", "complete"]

    play(scene)


def test_one_that_fails_for_good_is_told_and_the_rest_still_run(play):
    async def scene(hand: Hand):
        id_ = await failed_at_d(hand)
        await hand.succeed(await undo_next(hand, "c"))
        assert (await hand.fail(await undo_next(hand, "b"), status_code=403)).verdict == "fail"
        await hand.succeed(await undo_next(hand, "a"))
        assert await standing(hand, id_) == ("failed", "failed")
        assert await data_of(hand, id_, "execution_compensated") == [{"completed": 2, "failed": 1}]
        [failed] = await data_of(hand, id_, "compensation_failed")
        assert (failed["attempts"], failed["failure"]["class"]) == (1, "denied")
        undone = await compensation_of(hand, id_, "b")
        assert (undone["status"], undone["failure"]["reason"]) == ("failed", "http_403")
        execution = await hand.engine.get(id_)
        assert execution["failure"]["step"] == "d", "why it failed is not why it could not be undone"
        assert execution["steps"]["b"]["status"] == "completed"
        [listed] = await hand.engine.list()
        assert listed["compensation"] == "failed"

    play(scene)


def test_one_whose_attempts_are_used_up_fails(play):
    async def scene(hand: Hand):
        id_ = await failed_at_d(hand)
        assert (await hand.fail(await undo_next(hand, "c"))).verdict == "retry"
        await hand.clock.advance(5)
        assert (await hand.fail(await undo_next(hand, "c"))).verdict == "fail"
        assert await undo_all(hand) == ["b", "a"]
        assert await standing(hand, id_) == ("failed", "failed")
        types = await hand.types(id_)
        assert "step_retry_exhausted" not in types, "that is an event of a step"

    play(scene)


def test_a_lost_worker_costs_it_an_attempt_and_nothing_else(play):
    async def scene(hand: Hand):
        id_ = await failed_at_d(hand)
        lost = await undo_next(hand, "c")
        await hand.pass_time(31)
        await hand.settle_down()
        [error] = await data_of(hand, id_, "compensation_error")
        assert (error["failure"]["class"], error["how"]) == ("worker_lost", "lease_expired")
        await hand.pass_time(5)
        again = await hand.lease_one("w2")
        assert (again.step, again.attempt, again.compensates) == ("c", 2, True)
        assert (await hand.succeed(lost)).status == "late"
        [late] = [e for e in await hand.engine.events(id_) if e["type"] == "late_result"]
        assert (late["step"], late["attempt"], late["data"]["compensation"]) == ("c", 1, True)
        await hand.succeed(again)
        assert await undo_all(hand) == ["b", "a"]
        assert await standing(hand, id_) == ("failed", "completed")
        outcomes = [one["outcome"] for one in (await compensation_of(hand, id_, "c"))["attempts"]]
        assert outcomes == ["lost", "succeeded"]

    play(scene)


def test_its_timeout_is_its_own(play):
    source = CHAIN.replace('task: "t:undo"', 'task: "t:undo", timeout: 20s')

    async def scene(hand: Hand):
        id_ = await failed_at_d(hand, source)
        undo = await undo_next(hand, "c")
        assert undo.timeout == 20
        for _ in range(4):
            await hand.pass_time(10)
            await hand.beat(undo)
            await hand.settle_down()
        [error] = await data_of(hand, id_, "compensation_error")
        assert error["failure"]["class"] == "timeout"

    play(scene)


def test_snoozed_not_completed_and_handed_back_as_any_other(play):
    async def scene(hand: Hand):
        id_ = await failed_at_d(hand)
        await hand.report(await undo_next(hand, "c"), Outcome("snoozed", after=60))
        await hand.clock.advance(60)
        await hand.report(await undo_next(hand, "c"), Outcome("not_completed", facts=Facts()))
        await hand.clock.advance(5)
        a = await undo_next(hand, "c")
        await hand.engine.release([Release(a.execution_id, a.item_id, a.attempt, a.token, "draining")])
        assert [d["how"] for d in await data_of(hand, id_, "compensation_error")] == [
            "action_snoozed",
            "action_not_completed",
        ]
        [back] = await data_of(hand, id_, "lease_released")
        assert back["compensation"] is True
        a = await undo_next(hand, "c")
        assert a.attempt == 4
        await hand.succeed(a)
        assert await undo_all(hand) == ["b", "a"]
        undone = await compensation_of(hand, id_, "c")
        assert (undone["status"], undone["counted"]) == ("completed", 2)
        assert (await hand.engine.get(id_))["steps"]["c"]["status"] == "completed"

    play(scene)


def test_its_inputs_see_what_it_undoes_and_vary_with_its_attempts(play):
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

    async def scene(hand: Hand):
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
        started = await data_of(hand, id_, "compensation_started")
        assert [s.get("vary") for s in started] == [None, {"entry": 2, "override": {"method": "POST"}}]
        assert started[1]["retry"] == {"attempt": 2, "max_attempts": 2, "is_retry": True}
        assert first.receipt == second.receipt

    play(scene)


def test_one_that_cannot_be_rendered_fails_and_the_rest_still_run(play):
    source = CHAIN.replace('needs: [b], compensate: {type: python, task: "t:undo", args: {undo: "{{ result }}"}',
                           'needs: [b], compensate: {type: python, task: "t:undo", args: {undo: "{{ result.no }}"}')  # fmt: skip
    assert source != CHAIN

    async def scene(hand: Hand):
        id_ = await failed_at_d(hand, source)
        assert await hand.lease() == []
        while hand.engine.dispatcher._background:
            await next(iter(hand.engine.dispatcher._background))
        assert await undo_all(hand) == ["b", "a"]
        [failed] = await data_of(hand, id_, "compensation_failed")
        assert failed["failure"]["reason"] == "template_error"
        assert await standing(hand, id_) == ("failed", "failed")

    play(scene)


# -- what is undone


def test_what_still_runs_finishes_first_and_is_undone_too(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(PARALLEL)
        work = {a.step: a for a in await hand.lease()}
        await hand.succeed(work["b"], "B")
        await hand.fail(work["c"], status_code=404)
        assert await standing(hand, id_) == ("running", "running")
        assert await hand.lease() == [], "nothing is undone while something runs"
        assert (await hand.beat(work["a"])).revoked == ()
        assert (await hand.succeed(work["a"], "A")).verdict == "stop"
        assert await undo_all(hand) == ["a", "b"], "a was the last to complete"
        assert await standing(hand, id_) == ("failed", "completed")

    play(scene)


@pytest.mark.parametrize("end", ["fails", "is handed back", "is lost"])
def test_what_still_ran_and_did_not_succeed_is_not_undone(play, end):
    async def scene(hand: Hand):
        id_ = await hand.submit(
            PARALLEL.replace('task: "t:t", compensate', 'task: "t:t", retry: 3, compensate')
        )
        work = {a.step: a for a in await hand.lease()}
        await hand.succeed(work["b"], "B")
        await hand.fail(work["c"], status_code=404)
        a = work["a"]
        match end:
            case "fails":
                assert (await hand.fail(a)).verdict == "stop", "nothing is retried any more"
            case "is handed back":
                await hand.engine.release(
                    [Release(a.execution_id, a.item_id, a.attempt, a.token, "draining")]
                )
            case _:
                await hand.pass_time(31)
                await hand.settle_down()
        assert await undo_all(hand) == ["b"]
        assert await standing(hand, id_) == ("failed", "completed")

    play(scene)


def test_what_waits_when_it_fails_is_cancelled(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(
            PARALLEL.replace('task: "t:t", compensate', 'task: "t:t", retry: 3, compensate')
        )
        work = {a.step: a for a in await hand.lease()}
        await hand.succeed(work["b"], "B")
        assert (await hand.fail(work["a"])).verdict == "retry"
        await hand.fail(work["c"], status_code=404)
        assert await undo_all(hand) == ["b"]
        assert (await hand.engine.get(id_))["steps"]["a"]["status"] == "cancelled"

    play(scene)


def test_each_item_of_a_fan_out_is_undone_the_last_to_complete_first(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(FAN_OUT)
        work = {a.item: a for a in await hand.lease()}
        for item in (1, 2, 0):
            await hand.succeed(work[item], f"did {item}")
        await hand.fail(await hand.lease_one(), status_code=404)
        seen = []
        while found := await hand.lease():
            [undo] = found
            seen.append((undo.item, undo.spec["args"]))
            await hand.succeed(undo)
        assert seen == [
            (0, {"item": "x", "index": 0, "got": "did 0"}),
            (2, {"item": "z", "index": 2, "got": "did 2"}),
            (1, {"item": "y", "index": 1, "got": "did 1"}),
        ]
        assert await standing(hand, id_) == ("failed", "completed")
        undone = await compensation_of(hand, id_, "each")
        assert (undone["status"], undone["items"]["completed"], undone["items"]["total"]) == (
            "completed",
            3,
            3,
        )

    play(scene)


def test_a_fan_out_that_fails_undoes_those_of_its_items_that_succeeded(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(FAN_OUT)
        work = {a.item: a for a in await hand.lease()}
        await hand.succeed(work[0], "did 0")
        await hand.fail(work[1], status_code=404)
        assert await hand.lease() == [], "the third still runs"
        assert (await hand.succeed(work[2], "did 2")).verdict == "stop"
        seen = []
        while found := await hand.lease():
            [undo] = found
            seen.append((undo.item, undo.spec["args"]["got"]))
            await hand.succeed(undo)
        assert seen == [(2, "did 2"), (0, "did 0")]
        assert await standing(hand, id_) == ("failed", "completed")

    play(scene)


def test_what_a_callee_or_a_child_still_does_is_waited_for_and_undone_too(play):
    source = f"""
name: trip
workflow:
  - {{step: job, type: http, url: "http://x.test/", async: {{deadline: 1h}}, {UNDO}}}
  - {{step: call, type: workflow, workflow: done, {UNDO}}}
  - {{step: bad, type: python, task: "t:t"}}
"""

    async def scene(hand: Hand):
        await hand.engine.store_workflow("name: done\nworkflow: [{step: s, type: python, task: 't:t'}]\n")
        id_ = await hand.submit(source)
        await hand.settle_down()
        work = {a.step: a for a in await hand.lease()}
        await hand.report(work["job"], Outcome("accepted"))
        await hand.fail(work["bad"], status_code=404)
        await hand.settle_down()
        assert await hand.lease() == []
        await hand.succeed(work["s"], 1)
        await hand.settle_down()
        assert await hand.lease() == [], "the callee has not called back yet"
        job = work["job"]
        told = await hand.engine.callback(
            job.execution_id, job.item_id, 1, job.receipt, Outcome("succeeded", "late, but done")
        )
        assert told.verdict == "stop"
        assert await undo_all(hand) == ["job", "call"]
        assert await standing(hand, id_) == ("failed", "completed")

    play(scene, callback_url="http://tenax.test")


def test_a_callee_that_never_calls_back_does_not_hold_it_up_for_ever(play):
    source = PARALLEL.replace(
        '{step: a, type: python, task: "t:t"',
        '{step: a, type: http, url: "http://x.test/", async: {deadline: 1h}',
    )

    async def scene(hand: Hand):
        id_ = await hand.submit(source)
        work = {a.step: a for a in await hand.lease()}
        await hand.report(work["a"], Outcome("accepted"))
        await hand.succeed(work["b"])
        await hand.fail(work["c"], status_code=404)
        assert await hand.lease() == []
        await hand.pass_time(3600)
        await hand.settle_down()
        assert await undo_all(hand) == ["b"]
        assert await standing(hand, id_) == ("failed", "completed")

    play(scene, callback_url="http://tenax.test")


def test_an_execution_that_fails_as_it_is_submitted_is_not_left_open(play):
    source = PARALLEL.replace(
        '{step: c, type: python, task: "t:t"', "{step: c, type: sleep, for: 1, for_each: '{{ execution_id }}'"
    )

    async def scene(hand: Hand):
        id_ = await hand.submit(source)
        assert await standing(hand, id_) == ("failed", "completed")
        assert await hand.lease() == []
        assert await hand.sql("select from tenax.item") == []

    play(scene)


def test_a_step_whose_failure_was_forgiven_is_not_undone_and_undoes_nothing(play):
    source = f"""
name: trip
workflow:
  - {{step: a, type: python, task: "t:t", {UNDO}}}
  - {{step: b, type: python, task: "t:t", needs: [a], on_failure: {{value: 1}}, {UNDO}}}
  - {{step: c, type: python, task: "t:t", needs: [b]}}
"""

    async def scene(hand: Hand):
        id_ = await hand.submit(source)
        await hand.succeed(await hand.lease_one())
        await hand.fail(await hand.lease_one(), status_code=404)
        assert await standing(hand, id_) == ("running", None)
        await hand.fail(await hand.lease_one(), status_code=404)
        assert await undo_all(hand) == ["a"]
        assert await standing(hand, id_) == ("failed", "completed")

    play(scene)


def test_a_child_undoes_its_own_and_its_parent_hears_of_it_when_that_is_over(play):
    parent = f"""
name: parent
workflow:
  - {{step: first, type: workflow, workflow: done, {UNDO}}}
  - {{step: second, type: workflow, workflow: trip, needs: [first]}}
"""

    async def scene(hand: Hand):
        await hand.engine.store_workflow("name: done\nworkflow: [{step: s, type: python, task: 't:t'}]\n")
        await hand.engine.store_workflow(CHAIN)
        id_ = await hand.submit(parent)
        await hand.settle_down()
        await hand.succeed(await hand.lease_one(), 1)
        await hand.settle_down()
        for _ in "abc":
            await hand.succeed(await hand.lease_one())
        await hand.fail(await hand.lease_one(), status_code=404)
        await hand.settle_down()
        assert await standing(hand, id_) == ("running", None)
        for step in "cba":
            await hand.succeed(await undo_next(hand, step))
        await hand.settle_down()
        assert await standing(hand, id_) == ("running", "running")
        undo = await undo_next(hand, "first")
        assert undo.spec["args"] == {"undo": {"s": 1}}
        await hand.succeed(undo)
        assert await standing(hand, id_) == ("failed", "completed")
        assert (await hand.engine.get(id_))["failure"]["child"]["step"] == "d"

    play(scene)


def test_a_deadline_that_passes_undoes_what_was_done(play):
    source = CHAIN.replace("name: trip", "name: trip\ndeadline: 1m")

    async def scene(hand: Hand):
        id_ = await hand.submit(source)
        await hand.succeed(await hand.lease_one(), "A")
        running = await hand.lease_one()
        for _ in range(6):
            await hand.pass_time(10)
            await hand.beat(running)
        await hand.settle_down()
        assert await standing(hand, id_) == ("running", "running")
        await hand.succeed(running, "B")
        await hand.clock.advance(3600)
        await hand.settle_down()
        assert await undo_all(hand) == ["b", "a"], "no deadline ends that"
        execution = await hand.engine.get(id_)
        assert (execution["status"], execution["failure"]["reason"]) == ("failed", "execution_deadline")

    play(scene)


# -- people and servers in between


def test_a_cancel_in_the_middle_ends_it(play):
    async def scene(hand: Hand):
        id_ = await failed_at_d(hand)
        await hand.succeed(await undo_next(hand, "c"))
        undo = await undo_next(hand, "b")
        assert await hand.engine.cancel(id_, actor="ann") is True
        assert await standing(hand, id_) == ("cancelled", "cancelled")
        assert (await hand.succeed(undo)).status == "late"
        await hand.clock.advance(3600)
        await hand.settle_down()
        assert await hand.lease() == []
        cancelled = [
            e["step"] for e in await hand.engine.events(id_) if e["type"] == "compensation_cancelled"
        ]
        assert sorted(cancelled) == ["a", "b"]
        steps = (await hand.engine.get(id_))["steps"]
        assert [steps[name]["compensation"]["status"] for name in "abc"] == [
            "cancelled",
            "cancelled",
            "completed",
        ]
        assert await hand.sql("select from tenax.item") == []

    play(scene)


def test_a_cancel_while_something_still_runs_ends_that_too(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(PARALLEL)
        work = {a.step: a for a in await hand.lease()}
        await hand.succeed(work["b"])
        await hand.fail(work["c"], status_code=404)
        await hand.engine.cancel(id_, actor="ann")
        assert await standing(hand, id_) == ("cancelled", "cancelled")
        assert (await hand.succeed(work["a"])).status == "late"
        assert await hand.lease() == []
        assert await hand.sql("select from tenax.item") == []

    play(scene)


def test_a_cancel_undoes_nothing(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(CHAIN)
        await hand.succeed(await hand.lease_one())
        await hand.engine.cancel(id_, actor="ann")
        assert await standing(hand, id_) == ("cancelled", None)
        assert await hand.lease() == []

    play(scene)


def test_a_pause_in_the_middle_holds_it_and_a_resume_lets_it_go_on(play):
    async def scene(hand: Hand):
        id_ = await failed_at_d(hand)
        undo = await undo_next(hand, "c")
        await hand.engine.pause(id_, actor="ann")
        await hand.succeed(undo)
        await hand.settle_down()
        assert await hand.lease() == []
        assert await standing(hand, id_) == ("paused", "running")
        await hand.engine.resume(id_, actor="ann")
        assert await undo_all(hand) == ["b", "a"]
        assert await standing(hand, id_) == ("failed", "completed")

    play(scene)


def test_a_paused_execution_that_fails_undoes_once_it_is_resumed(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(CHAIN)
        await hand.succeed(await hand.lease_one())
        running = await hand.lease_one()
        await hand.engine.pause(id_, actor="ann")
        await hand.fail(running, status_code=404)
        assert await hand.lease() == []
        await hand.engine.resume(id_, actor="ann")
        assert await undo_all(hand) == ["a"]
        assert await standing(hand, id_) == ("failed", "completed")

    play(scene)


def test_it_goes_on_under_another_server(play):
    async def scene(hand: Hand):
        id_ = await failed_at_d(hand)
        await hand.fail(await undo_next(hand, "c"))
        later = await hand.restarted()
        assert await later.engine.recover() == []
        await later.clock.advance(5)
        again = await undo_next(later, "c")
        assert again.attempt == 2
        await later.succeed(again)
        last = await hand.restarted()
        assert await undo_all(last) == ["b", "a"]
        assert await standing(last, id_) == ("failed", "completed")

    play(scene)


@pytest.mark.parametrize("before", ["fails", "runs"])
@pytest.mark.parametrize("lost", ["compensates", "compensates and state = 'waiting'"])
def test_compensations_that_were_lost_are_rebuilt_from_the_log_and_granted_nothing(play, lost, before):
    async def scene(hand: Hand):
        id_ = await failed_at_d(hand)
        await hand.succeed(await undo_next(hand, "c"))
        undo = await undo_next(hand, "b")
        if before == "fails":
            await hand.fail(undo)
        await hand.sql(f"delete from tenax.item where {lost}")
        assert await hand.engine.recover() == ([id_] if lost == "compensates" else [])
        assert await standing(hand, id_) == ("running", "running")
        await hand.pass_time(31)
        await hand.settle_down()
        await hand.pass_time(5)
        again = await undo_next(hand, "b")
        assert (again.attempt, again.is_retry, again.spec["args"]) == (2, True, {"undo": "done b"})
        assert (await hand.fail(again)).verdict == "fail", "that was its last attempt"
        assert await undo_all(hand) == ["a"]
        assert await standing(hand, id_) == ("failed", "failed")
        assert await data_of(hand, id_, "execution_compensated") == [{"completed": 2, "failed": 1}]

    play(scene)


def test_retry_from_failed_runs_what_was_undone_again_and_what_came_after(play):
    source = f"""
name: trip
workflow:
  - {{step: look, type: python, task: "t:t"}}
  - {{step: book, type: python, task: "t:t", needs: [look], {UNDO}}}
  - {{step: tell, type: python, task: "t:t", needs: [book]}}
  - {{step: pay, type: python, task: "t:t", needs: [tell]}}
"""

    async def scene(hand: Hand):
        id_ = await hand.submit(source)
        for step in ("look", "book", "tell"):
            await hand.succeed(await hand.lease_one(), step)
        await hand.fail(await hand.lease_one(), status_code=404)
        with pytest.raises(Conflict):
            await hand.engine.signal(id_, "any", actor="ann")
        assert await undo_all(hand) == ["book"]
        new = (await hand.engine.retry(id_, actor="ann", from_failed=True))["id"]
        ran = []
        while found := await hand.lease():
            [a] = found
            ran.append(a.step)
            await hand.succeed(a, a.step)
        assert ran == ["book", "tell", "pay"]
        execution = await hand.engine.get(new)
        assert (execution["status"], execution["compensation"]) == ("completed", None)
        assert execution["steps"]["look"]["carried_from"] == id_

    play(scene)


def test_retry_now_starts_a_waiting_compensation_at_once(play):
    async def scene(hand: Hand):
        id_ = await failed_at_d(hand)
        await hand.fail(await undo_next(hand, "c"))
        assert await hand.lease() == []
        assert (await hand.engine.retry(id_, actor="ann"))["steps"] == ["c"]
        assert (await undo_next(hand, "c")).attempt == 2

    play(scene)
