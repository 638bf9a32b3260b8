"""Bulk jobs, driven by hand: a frozen set, a rate, a canary, stop and resume, and another leader in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.hand import Hand

from tenax.engine.bulk import runner as runner_module
from tenax.errors import Busy, Conflict, NotFound, TenaxError, UsageError
from tenax.model.filters.parse import parse_filter
from tenax.model.filters.views import BulkJob

FLAKY = """
name: flaky
input: {n: {type: integer, default: 0}}
workflow:
  - {step: only, type: python, task: "t:t", retry: {max_attempts: 3, initial_delay: 1h, max_delay: 1h, jitter: 0}}
"""
ONCE = FLAKY.replace("name: flaky", "name: once").replace("max_attempts: 3", "max_attempts: 1")


async def job_of(hand: Hand, action: str, text: str, **more: Any) -> BulkJob:
    return await hand.engine.bulk.create(
        action, parse_filter(text), **{"reason": "the fix is out", "actor": "ann", **more}
    )


async def started(hand: Hand, action: str, text: str, **more: Any) -> int:
    job = await job_of(hand, action, text, **more)
    await hand.engine.bulk.start(job.id, actor="bob")
    return job.id


async def work(hand: Hand) -> int:
    """Gives each running job one turn. Returns the number of executions that were acted on or closed."""
    _, acted = await hand.engine.bulk_runner.work()
    return acted


async def finish(hand: Hand) -> None:
    while await work(hand):
        pass


async def counts(hand: Hand, job_id: int) -> tuple[str, int, int, int, int]:
    job = await hand.engine.bulk.get(job_id)
    return (job.state, job.counts.pending, job.counts.done, job.counts.skipped, job.counts.failed)


async def retrying(hand: Hand, count: int, source: str = FLAKY) -> list[int]:
    """Executions of which an attempt has failed."""
    ids = [await hand.submit(source, input={"n": n}) for n in range(count)]
    for assignment in await hand.lease(slots=count):
        await hand.fail(assignment)
    return ids


async def test_a_preview_counts_shows_a_sample_and_does_nothing(hand):
    ids = await retrying(hand, 12)
    await hand.submit(ONCE)
    job = await job_of(hand, "cancel", "workflow=flaky since=1h", rate=5.0)
    assert (job.state, job.total, job.counts.pending) == ("preview", 12, 12)
    assert [one.id for one in job.sample] == ids[:10]
    assert (job.sample[0].workflow, job.sample[0].status) == ("flaky", "running")
    assert job.filter.startswith("workflow=flaky since=2"), "its times are fixed"
    assert await work(hand) == 0
    assert await counts(hand, job.id) == ("preview", 12, 0, 0, 0)
    [listed] = await hand.engine.bulk.list()
    assert (listed.id, listed.total, listed.sample) == (job.id, 12, [])


async def test_the_set_is_frozen_and_each_execution_has_an_audit_record(hand):
    ids = await retrying(hand, 3)
    job = await job_of(hand, "cancel", "workflow=flaky status=running")
    later = await hand.submit(FLAKY)
    await hand.engine.cancel(ids[1], actor="eve")
    await hand.engine.bulk.start(job.id, actor="bob")
    await finish(hand)
    assert await counts(hand, job.id) == ("completed", 0, 2, 1, 0)
    assert [await hand.status(one) for one in (*ids, later)] == ["cancelled"] * 3 + ["running"]
    [who] = await hand.data_of(ids[0], "operator_action")
    assert who == {"action": "cancel", "actor": "bob", "reason": "the fix is out", "bulk": job.id}
    [eve] = await hand.data_of(ids[1], "operator_action")
    assert eve["actor"] == "eve"
    [problem] = (await hand.engine.bulk.get(job.id)).problems
    assert (problem.id, problem.state, problem.note) == (ids[1], "skipped", "the filter no longer selects it")
    found = await hand.engine.bulk.get(job.id)
    assert (found.actor, found.started_by, found.reason) == ("ann", "bob", "the fix is out")
    fleet = await hand.sql(
        "select data from tenax.event where type = 'operator_action' and execution_id is null"
    )
    assert [row["data"] for row in fleet] == [
        f'{{"bulk": {job.id}, "actor": "bob", "action": "bulk_start", "reason": "the fix is out"}}'
    ]


async def test_what_is_not_legal_is_skipped_with_its_reason(hand):
    ids = await retrying(hand, 2)
    await hand.engine.pause(ids[0], actor="ann")
    done = await hand.submit(ONCE)
    await hand.succeed(await hand.lease_one())
    job_id = await started(hand, "pause", "since=1h")
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 1, 2, 0)
    notes = {one.id: one.note for one in (await hand.engine.bulk.get(job_id)).problems}
    assert notes[ids[0]] == "it was so already"
    assert notes[done] == f"execution {done} is completed: there is nothing to pause"


async def test_pause_and_resume_in_bulk(hand):
    ids = await retrying(hand, 3)
    await started(hand, "pause", "workflow=flaky")
    await finish(hand)
    assert [await hand.status(one) for one in ids] == ["paused"] * 3
    await started(hand, "resume", "status=paused")
    await finish(hand)
    assert [await hand.status(one) for one in ids] == ["running"] * 3


async def test_retry_in_bulk_starts_waiting_retries_now_and_failed_executions_again(hand):
    [waiting] = await retrying(hand, 1)
    [failed] = await retrying(hand, 1, ONCE)
    job_id = await started(hand, "retry", "since=1h")
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 2, 0, 0)
    assert [e["action"] for e in await hand.data_of(waiting, "operator_action")] == ["retry_now"]
    assert await hand.status(failed) == "running"
    [who] = await hand.data_of(failed, "operator_action")
    assert (who["action"], who["actor"], who["bulk"]) == ("retry", "bob", job_id)
    assert sorted(a.execution_id for a in await hand.lease()) == [waiting, failed]


async def test_the_rate_bounds_how_many_are_acted_on_in_a_second(hand):
    await retrying(hand, 40)
    job_id = await started(hand, "cancel", "workflow=flaky", rate=5.0)
    assert await work(hand) == 1
    assert await work(hand) == 0, "the next one is due in a fifth of a second"
    acted = 1
    for _ in range(5):
        await hand.clock.advance(0.2)
        acted += await work(hand)
    assert acted == 6
    await hand.clock.advance(100)
    assert await work(hand) == 6, "a pause of the server makes up for one second and no more"
    await hand.clock.advance(0.1)
    assert await work(hand) == 0
    for _ in range(27):
        await hand.clock.advance(0.2)
        await work(hand)
    assert await counts(hand, job_id) == ("running", 1, 39, 0, 0)
    await hand.clock.advance(0.2)
    await finish(hand)
    await hand.clock.advance(0.2)
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 40, 0, 0)


async def test_a_rate_of_less_than_one_a_second(hand):
    await retrying(hand, 2)
    job_id = await started(hand, "cancel", "workflow=flaky", rate=1 / 60)
    assert [await work(hand), await work(hand)] == [1, 0]
    await hand.clock.advance(59)
    assert await work(hand) == 0
    await hand.clock.advance(1)
    assert await work(hand) == 1
    assert (await counts(hand, job_id))[2] == 2


async def test_stop_and_resume(hand):
    await retrying(hand, 5)
    job_id = await started(hand, "cancel", "workflow=flaky", rate=1.0)
    await work(hand)
    stopped = await hand.engine.bulk.stop(job_id, actor="eve", reason="wrong ones")
    assert (stopped.state, stopped.note) == ("stopped", "stopped by eve: wrong ones")
    await hand.clock.advance(10)
    assert await work(hand) == 0
    assert (await hand.engine.bulk.stop(job_id, actor="eve")).state == "stopped"
    resumed = await hand.engine.bulk.resume(job_id, actor="dan")
    assert (resumed.state, resumed.note, resumed.started_by) == ("running", None, "dan")
    for _ in range(5):
        await hand.clock.advance(1)
        await work(hand)
    assert await counts(hand, job_id) == ("completed", 0, 5, 0, 0)
    rows = await hand.sql("select data ->> 'actor' as actor from tenax.event where type = 'operator_action' and "
                          "data ->> 'action' = 'cancel' order by id")  # fmt: skip
    assert [row["actor"] for row in rows] == ["bob"] + ["dan"] * 4
    with pytest.raises(Conflict, match="is completed: there is nothing to stop"):
        await hand.engine.bulk.stop(job_id, actor="eve")
    with pytest.raises(Conflict, match="only a stopped job can be resumed"):
        await hand.engine.bulk.resume(job_id, actor="eve")
    with pytest.raises(Conflict, match="only a preview can be started"):
        await hand.engine.bulk.start(job_id, actor="eve")


async def test_nothing_is_acted_on_after_a_stop_in_the_middle_of_a_turn(hand, monkeypatch):
    ids = await retrying(hand, 4)
    job_id = await started(hand, "cancel", "workflow=flaky")
    apply = runner_module.apply_action

    async def stopping(job, context, execution_id, mark):
        changed = await apply(job, context, execution_id, mark)
        if execution_id == ids[1]:
            await hand.engine.bulk.stop(job_id, actor="eve")
        return changed

    monkeypatch.setattr(runner_module, "apply_action", stopping)
    await work(hand)
    assert await counts(hand, job_id) == ("stopped", 2, 2, 0, 0)
    assert [await hand.status(one) for one in ids] == ["cancelled"] * 2 + ["running"] * 2


async def test_a_canary_that_fails_stops_the_job_and_says_so(hand):
    await retrying(hand, 20)
    job_id = await started(hand, "retry", "workflow=flaky", canary=4, max_failed=25.0)
    assert await work(hand) == 4
    assert await work(hand) == 0, "it waits for the end of the first four"
    leased = await hand.lease(slots=4)
    await hand.clock.advance(1)
    await hand.fail(leased[0])
    assert await work(hand) == 0
    assert (await counts(hand, job_id))[0] == "running", "a quarter may fail"
    await hand.fail(leased[1])
    assert await work(hand) == 0
    job = await hand.engine.bulk.get(job_id)
    assert (job.state, job.canary_state) == ("stopped", "failed")
    assert job.note == "its canary failed: 2 of 4 executions failed (50 %), and 25 % may"
    assert (job.counts.done, job.counts.pending) == (4, 16)
    resumed = await hand.engine.bulk.resume(job_id, actor="ann")
    assert resumed.canary_state == "overruled"
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 20, 0, 0)


async def test_a_canary_that_passes_lets_the_rest_go_on(hand):
    ids = await retrying(hand, 10)
    job_id = await started(hand, "retry", "workflow=flaky", canary=3)
    await finish(hand)
    leased = await hand.lease(slots=3)
    assert sorted(a.execution_id for a in leased) == ids[:3]
    for n, assignment in enumerate(leased):
        assert await work(hand) == 0
        assert (await hand.engine.bulk.get(job_id)).canary_state == "open", n
        await hand.succeed(assignment)
    await finish(hand)
    job = await hand.engine.bulk.get(job_id)
    assert (job.state, job.canary_state, job.counts.done) == ("completed", "passed", 10)


async def test_a_canary_takes_others_for_those_that_are_skipped(hand):
    ids = await retrying(hand, 6)
    job = await job_of(hand, "cancel", "status=running", canary=2)
    await hand.engine.cancel(ids[0], actor="eve")
    await hand.engine.bulk.start(job.id, actor="ann")
    await finish(hand)
    assert await counts(hand, job.id) == ("completed", 0, 5, 1, 0)


async def test_the_canary_of_new_executions_waits_for_their_ends(hand):
    await retrying(hand, 3, ONCE)
    job_id = await started(hand, "retry", "status=failed", canary=1)
    assert await work(hand) == 1
    assert await work(hand) == 0
    await hand.clock.advance(1)
    await hand.fail(await hand.lease_one())
    await work(hand)
    assert (await hand.engine.bulk.get(job_id)).canary_state == "failed"


async def test_another_server_goes_on_and_two_at_once_act_once(hand):
    ids = await retrying(hand, 30)
    job_id = await started(hand, "retry", "workflow=flaky", rate=10.0)
    await work(hand)
    other = await hand.restarted()
    await hand.clock.advance(1)
    await asyncio.gather(work(hand), work(other))
    for _ in range(40):
        await hand.clock.advance(0.3)
        await asyncio.gather(work(hand), work(other))
    assert await counts(hand, job_id) == ("completed", 0, 30, 0, 0)
    for one in ids:
        assert await hand.counts(one, "operator_action") == (1,), "each was acted on once"


async def test_only_the_leader_works(hand):
    await hand.look()
    other = await hand.restarted()
    await other.look()
    assert hand.engine.maintenance.leadership.leads
    assert not other.engine.maintenance.leadership.leads
    assert hand.engine.bulk_runner._leads()
    assert not other.engine.bulk_runner._leads()
    await hand.engine.maintenance.leadership.resign()
    await other.look()
    assert other.engine.bulk_runner._leads()


async def test_several_jobs_have_turns(hand, monkeypatch):
    monkeypatch.setattr(runner_module, "AT_ONCE", 2)
    await retrying(hand, 6)
    await retrying(hand, 6, ONCE.replace("max_attempts: 1", "max_attempts: 2"))
    first, second = (
        await started(hand, "cancel", "workflow=flaky"),
        await started(hand, "pause", "workflow=once"),
    )
    assert await work(hand) == 4
    assert [(await counts(hand, one))[2] for one in (first, second)] == [2, 2]
    await finish(hand)
    assert [(await counts(hand, one))[0] for one in (first, second)] == ["completed"] * 2


async def test_a_fault_of_one_execution_does_not_stop_the_others(hand, monkeypatch):
    ids = await retrying(hand, 3)
    apply = runner_module.apply_action

    async def failing(job, context, execution_id, mark):
        if execution_id == ids[1]:
            raise ZeroDivisionError("a fault")
        return await apply(job, context, execution_id, mark)

    monkeypatch.setattr(runner_module, "apply_action", failing)
    job_id = await started(hand, "cancel", "workflow=flaky")
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 2, 0, 1)
    [problem] = (await hand.engine.bulk.get(job_id)).problems
    assert (problem.id, problem.note) == (ids[1], "ZeroDivisionError: a fault")


async def test_an_execution_that_is_locked_for_too_long_holds_up_no_other_one(hand, monkeypatch):
    ids = await retrying(hand, 3)
    [locked] = await retrying(hand, 1, ONCE.replace("max_attempts: 1", "max_attempts: 2"))
    apply = runner_module.apply_action
    busy = {ids[0], locked}

    async def waiting(job, context, execution_id, mark):
        if execution_id in busy:
            raise Busy("PostgreSQL could not do it in time")
        return await apply(job, context, execution_id, mark)

    monkeypatch.setattr(runner_module, "apply_action", waiting)
    stuck = await started(hand, "cancel", "workflow=once")
    job_id = await started(hand, "cancel", "workflow=flaky")
    assert await work(hand) == 2
    assert (await counts(hand, stuck))[:2] == ("running", 1)
    assert (await counts(hand, job_id))[:3] == ("running", 1, 2)
    assert await work(hand) == 0, "the runner waits before it tries them again"
    busy.clear()
    await finish(hand)
    assert [(await counts(hand, one))[0] for one in (stuck, job_id)] == ["completed"] * 2
    assert await hand.status(ids[0]) == "cancelled"


async def test_a_job_whose_filter_cannot_be_read_stops(hand):
    await retrying(hand, 1)
    job_id = await started(hand, "cancel", "workflow=flaky")
    await hand.sql("update tenax.bulk_job set filter = 'colour=red'")
    await work(hand)
    job = await hand.engine.bulk.get(job_id)
    assert (job.state, job.counts.pending) == ("stopped", 1)
    assert "it cannot go on: filter, column 1: there is no field `colour`" in (job.note or "")


async def test_previews_that_nobody_starts_are_forgotten(hand):
    await retrying(hand, 1)
    job = await job_of(hand, "cancel", "workflow=flaky")
    kept = await started(hand, "cancel", "workflow=flaky")
    await hand.clock.advance(86_401)
    await work(hand)
    with pytest.raises(NotFound, match=f"there is no bulk job {job.id}"):
        await hand.engine.bulk.get(job.id)
    assert (await hand.engine.bulk.get(kept)).total == 1


@pytest.mark.parametrize(
    ("action", "text", "more", "said"),
    [
        ("cancle", "status=failed", {}, "there is no bulk action 'cancle'; did you mean `cancel`?"),
        ("cancel", "", {}, "the filter is empty"),
        ("cancel", "status=failed", {"reason": " "}, "needs a reason"),
        ("cancel", "status=failed", {"rate": 0.0}, "`rate` must be from one a day"),
        ("cancel", "status=failed", {"rate": float("nan")}, "`rate` must be"),
        ("cancel", "status=failed", {"canary": 0}, "`canary` must be from 1"),
        (
            "pause",
            "status=failed",
            {"canary": 3},
            "a canary waits for the end of executions, and `pause` leads to none",
        ),
        ("cancel", "status=failed", {"max_failed": 3.0}, "give a `canary` as well"),
        ("cancel", "status=failed", {"canary": 3, "max_failed": 101.0}, "from 0 to 100 percent"),
        ("cancel", "@unknown", {}, "no filter is saved under the name 'unknown'"),
    ],
)
async def test_what_is_refused(hand, action, text, more, said):
    with pytest.raises((UsageError, NotFound)) as caught:
        await job_of(hand, action, text, **more)
    assert said in caught.value.message
    assert await hand.engine.bulk.list() == []


async def test_a_set_that_is_too_large_is_refused(hand, monkeypatch):
    from tenax.store.selection import bulk_jobs

    await retrying(hand, 4)
    monkeypatch.setattr(bulk_jobs, "MAX_EXECUTIONS", 3)
    with pytest.raises(UsageError, match="selects more than 3 executions"):
        await job_of(hand, "cancel", "workflow=flaky")
    assert await hand.engine.bulk.list() == []
    monkeypatch.setattr(bulk_jobs, "MAX_EXECUTIONS", 4)
    assert (await job_of(hand, "cancel", "workflow=flaky")).total == 4


async def test_a_job_of_nothing_is_complete_at_once(hand):
    job_id = await started(hand, "cancel", "workflow=nothing")
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 0, 0, 0)


async def test_history_stays_lawful(hand):
    await retrying(hand, 5)
    await retrying(hand, 5, ONCE)
    for action in ("retry", "pause", "resume", "cancel"):
        await started(hand, action, "since=1h")
        await finish(hand)
    verified = await hand.engine.verify()
    assert verified.violations == []


STEPS = """
name: steps
input: {n: {type: integer, default: 0}}
workflow:
  - {step: a, type: python, task: "t:t", retry: {max_attempts: 3, initial_delay: 1h, max_delay: 1h, jitter: 0}}
  - {step: b, type: python, task: "t:t", needs: [a]}
"""


@pytest.mark.parametrize(
    ("action", "more", "becomes"),
    [
        ("reset", {}, "retrying"),
        ("resolve", {"step": "a"}, "completed"),
        ("complete", {"step": "a", "result": {"by": "hand"}, "has_result": True}, "completed"),
        ("complete", {"step": "a", "result": None, "has_result": True}, "completed"),
        ("fail", {"step": "a"}, "failed"),
        ("reschedule", {"policy": {"initial_delay": "5s", "max_delay": "5s"}}, "retrying"),
    ],
)
async def test_every_action_on_items_works_in_bulk(hand, action, more, becomes):
    ids = await retrying(hand, 3, STEPS)
    job_id = await started(hand, action, "workflow=steps", **more)
    job = await hand.engine.bulk.get(job_id)
    assert (job.step, job.result, job.policy) == (more.get("step"), more.get("result"), more.get("policy"))
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 3, 0, 0)
    for id_ in ids:
        step = (await hand.get(id_))["steps"]["a"]
        assert step["status"] == becomes
        assert step["result"] == more.get("result")
        [who] = await hand.data_of(id_, "operator_action")
        assert (who["action"], who["reason"], who["bulk"]) == (action, "the fix is out", job_id)
    if action == "reschedule":
        await hand.pass_time(5)
        assert len(await hand.lease(slots=9)) == 3
    assert (await hand.engine.verify()).violations == []


@pytest.mark.parametrize(
    ("action", "more", "said"),
    [
        ("complete", {}, "complete needs the `result`"),
        ("retry", {"result": 1, "has_result": True}, "`result` is for complete"),
        ("reschedule", {}, "reschedule needs a `policy`"),
        ("reschedule", {"policy": {"initial_dealy": "5s"}}, "initial_delay"),
        ("cancel", {"step": "a"}, "whole executions"),
        ("redrive", {}, "redrive is for dead letters"),
    ],
)
async def test_a_job_that_could_act_on_nothing_is_refused_when_it_is_made(hand, action, more, said):
    with pytest.raises(TenaxError) as caught:
        await job_of(hand, action, "status=failed", **more)
    assert said in str(caught.value)
    assert await hand.engine.bulk.list() == []


async def test_only_the_newest_previews_of_an_actor_are_kept(hand, monkeypatch):
    monkeypatch.setattr(runner_module, "MAX_PREVIEWS", 2)
    await hand.submit(FLAKY)
    begun = await started(hand, "pause", "workflow=flaky", rate=0.001)
    await work(hand)
    own = [(await job_of(hand, "pause", "workflow=flaky")).id for _ in range(4)]
    other = (await job_of(hand, "pause", "workflow=flaky", actor="eve")).id
    await work(hand)
    assert [one.id for one in await hand.engine.bulk.list()] == [other, *own[:1:-1], begun]
