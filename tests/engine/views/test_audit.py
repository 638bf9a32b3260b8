"""The audit: who did what, to what, when and why, in the transaction of the action."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.hand import CANCELLED, ONE_STEP, Hand, one_postgres

from tenax.engine.operate import family
from tenax.engine.operate.operator_action import ActionRequest
from tenax.engine.operate.workflow_pauses import WorkflowMark
from tenax.errors import Conflict, UsageError
from tenax.model.events.audit import AuditFilter, read_target
from tenax.model.filters.parse import parse_filter
from tenax.store.fleet.tokens import create_token, revoke_token

FAN_OUT = """
name: many
workflow:
  - step: each
    type: python
    task: some:task
    for_each: [1, 2, 3]
    tolerate: 100%
    retry: {max_attempts: 1}
"""
WAITS = "name: waits\nworkflow: [{step: ask, type: wait}]\n"


async def told(hand: Hand, **wanted: object) -> list[tuple[object, ...]]:
    """Returns the entries, the oldest first, without their ids and times."""
    found = await hand.engine.audit(AuditFilter(**wanted))
    return [(one.actor, one.action, one.kind, one.target, one.reason) for one in reversed(found)]


async def test_actions_on_executions_are_audited(hand):
    failing, attempt = await hand.start()
    await hand.engine.pause(failing, actor="ada", reason="look")
    await hand.engine.pause(failing, actor="ada", reason="again")  # changes nothing
    await hand.engine.resume(failing, actor="ada")
    await hand.fail(attempt)
    asked = ActionRequest("retry", step="only", reason="it is back")
    await hand.engine.act(failing, asked, actor="bob")
    await hand.engine.cancel(failing, actor="ada", reason="enough")
    anew = await hand.engine.run_anew(failing, actor="cyd", reason="once more")
    id_ = str(failing)
    assert await told(hand) == [
        ("ada", "pause", "execution", id_, "look"),
        ("ada", "resume", "execution", id_, None),
        ("bob", "retry_now", "execution", id_, "it is back"),
        ("ada", "cancel", "execution", id_, "enough"),
        ("cyd", "retry", "execution", id_, "once more"),
    ]
    newest, *_ = await hand.engine.audit()
    assert newest.data == {"execution": anew.id}
    [retried] = await hand.engine.audit(AuditFilter(actor="bob"))
    assert (retried.step, retried.item) == ("only", None)


async def test_a_refused_action_is_not_audited(hand):
    done, attempt = await hand.start()
    await hand.succeed(attempt)
    with pytest.raises(Conflict):
        await hand.engine.cancel(done, actor="ada")
    assert await told(hand) == []


async def test_only_the_execution_that_was_named_is_audited(hand):
    """Neither its descendants, nor what a paused workflow does to its executions."""
    execution_id = await hand.submit()
    mark = WorkflowMark(execution_id, "one", paused=True)
    await family.pause(hand.engine.context, execution_id, actor="ada", reason=None, mark=mark)
    await family.cancel_for_parent(hand.engine.context, execution_id, "nobody waits for it any more")
    assert await hand.types(execution_id) == [
        "execution_started", "step_enqueued", "operator_action", "execution_paused", *CANCELLED,
    ]  # fmt: skip
    assert await told(hand) == []


async def test_signals_and_approvals_are_audited(hand):
    execution_id = await hand.submit(WAITS)
    await hand.settle_down()
    await hand.engine.signal(execution_id, "go", data={"secret": 1}, key="k", actor="ada", reason="late")
    await hand.engine.decide_approval(execution_id, "ask", approved=True, actor="bob", reason="fine")
    id_ = str(execution_id)
    assert await told(hand) == [
        ("ada", "signal", "execution", id_, "late"),
        ("bob", "approve", "execution", id_, "fine"),
    ]
    signal = (await hand.engine.audit())[-1]
    assert signal.data == {"signal": "go", "key": "k"}


async def test_dead_letters_are_audited_together(hand):
    _, first = await hand.start(FAN_OUT.replace("[1, 2, 3]", "[1]"))
    await hand.fail(first)
    await hand.submit(FAN_OUT)
    while attempts := await hand.lease():
        for attempt in attempts:
            await hand.fail(attempt)
    letters = [
        int(row["item_id"]) for row in await hand.sql("select item_id from tenax.dead_letter order by 1")
    ]
    await hand.engine.letters.discard(letters[:1], actor="ada", note="known")
    await hand.engine.letters.discard(letters[1:], actor="ada", note="all of them")
    alone, together = reversed(await hand.engine.audit(AuditFilter(kind="dead_letters")))
    assert (alone.target, alone.data, alone.reason) == (str(letters[0]), {}, "known")
    assert (together.target, sorted(together.data["letters"])) == (None, letters[1:])


async def test_the_fleet_is_audited(hand):
    await hand.register("w1")
    await hand.submit()
    engine = hand.engine
    await engine.store_workflow(ONE_STEP, actor="eve")
    await engine.pause_worker("w1", actor="ada", reason="new kernel")
    await engine.pause_queue("default", actor="ada", reason="callee is away")
    await engine.limit_queue("default", concurrency=3, rate=None, burst=None, actor="bob")
    await engine.pause_workflow("one", actor="bob", reason="wait")
    await engine.filters.save("mine", "status=failed", actor="cyd")
    await engine.filters.remove("mine", actor="cyd", reason="unused")
    assert await told(hand) == [
        ("eve", "workflow_store", "workflow", "one", None),
        ("ada", "worker_pause", "worker", "w1", "new kernel"),
        ("ada", "queue_pause", "queue", "default", "callee is away"),
        ("bob", "queue_limit", "queue", "default", None),
        ("bob", "workflow_pause", "workflow", "one", "wait"),
        ("cyd", "filter_save", "filter", "mine", None),
        ("cyd", "filter_remove", "filter", "mine", "unused"),
    ]
    [limit] = await engine.audit(AuditFilter(action="queue_limit"))
    assert limit.data == {"concurrency": 3, "rate": None, "burst": None}


@one_postgres
async def test_tokens_are_audited_without_their_secrets(hand):
    async with hand.engine.context.transaction() as tx:
        number, secret = await create_token(tx, "ci", "operator", actor="ada")
        await revoke_token(tx, number, actor="bob")
        await revoke_token(tx, number, actor="bob")  # it is revoked already
    found = await hand.engine.audit(AuditFilter(kind="token", target=str(number)))
    assert [(one.actor, one.action, one.data) for one in reversed(found)] == [
        ("ada", "token_create", {"name": "ci", "role": "operator"}),
        ("bob", "token_revoke", {"name": "ci", "role": "operator"}),
    ]
    assert secret not in str(found)


@one_postgres
async def test_a_bulk_job_is_one_entry(hand):
    executions = [await hand.submit() for _ in range(3)]
    jobs = hand.engine.bulk
    job = await jobs.create("cancel", parse_filter("status=running"), reason="wrong input", actor="ada")
    await jobs.start(job.id, actor="bob")
    while (await jobs.get(job.id)).state == "running":
        await hand.engine.bulk_runner.work()
    assert [await hand.status(one) for one in executions] == ["cancelled"] * 3
    [entry] = await hand.engine.audit()
    assert (entry.actor, entry.action, entry.kind, entry.target) == ("bob", "bulk_start", "bulk", str(job.id))
    assert entry.data == {"does": "cancel", "filter": "status=running", "executions": 3}


async def test_pages_lead_both_ways(hand):
    for n in range(7):
        await hand.engine.filters.save(f"f{n}", "status=failed", actor="ada" if n % 2 else "bob")
    first = await hand.engine.audit(limit=3)
    second = await hand.engine.audit(before=first[-1].id, limit=3)
    assert [one.target for one in (*first, *second)] == ["f6", "f5", "f4", "f3", "f2", "f1"]
    assert await hand.engine.audit(after=second[0].id, limit=3) == first
    ada = AuditFilter(actor="ada")
    assert [one.target for one in await hand.engine.audit(ada, limit=2)] == ["f5", "f3"]
    names = await hand.engine.audit_names()
    assert (names.actors, names.actions) == (["ada", "bob"], ["filter_save"])


async def test_entries_are_filtered_by_time(hand):
    await hand.engine.filters.save("early", "status=failed", actor="ada")
    await hand.wait(60)
    await hand.engine.filters.save("late", "status=failed", actor="ada")
    [row] = await hand.sql("select tenax.now() as now")
    border = row["now"] - timedelta(seconds=30)
    assert [one[3] for one in await told(hand, since=border)] == ["late"]
    assert [one[3] for one in await told(hand, until=border)] == ["early"]


def test_a_target_is_a_kind_or_one_of_it():
    assert read_target(None) == (None, None)
    assert read_target("queue") == ("queue", None)
    assert read_target("queue:a:b") == ("queue", "a:b")
    with pytest.raises(UsageError, match="no kind of target 'que'"):
        read_target("que")
