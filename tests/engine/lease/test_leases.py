"""Tests leases: fenced by their token, extended by heartbeats, expired into the one decision, handed back uncounted."""

from __future__ import annotations

import asyncio
import uuid

import pytest
from msgspec.structs import replace
from support.hand import CANCELLED, EXHAUSTED, ONE_STEP, Hand

from tenax.engine.late_results import MAX_LATE_RESULTS
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import Heartbeat, LeaseRequest, Report


async def test_a_lost_worker_is_retried_and_its_report_is_late(hand):
    id_, lost = await hand.start(worker="frozen")
    await hand.pass_time(30)
    assert await hand.engine.reap() == 1
    assert (await hand.types(id_))[-2:] == ["lease_expired", "step_retry"]
    before = await hand.get(id_)

    for _ in range(2):
        assert (await hand.succeed(lost, "too late")).status == "late"
        [late] = await hand.events_of(id_, "late_result")  # the same late report makes no second event
        assert (late["step"], late["data"]["result"]) == ("only", "too late")
    assert (await hand.get(id_))["steps"] == before["steps"]

    await hand.clock.advance(1)
    await hand.succeed(await hand.lease_one(), "right")
    assert (await hand.get(id_))["result"] == {"only": "right"}


async def test_a_late_report_never_touches_a_newer_attempt(hand):
    id_, old = await hand.start(worker="frozen")
    await hand.pass_time(30)
    await hand.engine.reap()
    await hand.clock.advance(1)
    new = await hand.lease_one("fresh")
    assert (await hand.fail(old)).status == "late"
    assert (await hand.succeed(new, 1)).verdict == "complete"
    assert await hand.status(id_) == "completed"


async def test_the_same_report_twice_gets_one_answer_and_one_event(hand):
    id_, first = await hand.start()
    answers = [await hand.fail(first) for _ in range(3)]
    assert [(a.status, a.verdict) for a in answers] == [("applied", "retry")] * 3
    await hand.clock.advance(1)
    second = await hand.lease_one()
    report = Report(id_, second.item_id, second.attempt, second.token, Outcome("succeeded", 1))
    both = await hand.engine.report([report, report])
    assert [(a.status, a.verdict) for a in both] == [("applied", "complete")] * 2
    assert (await hand.fail(first)).verdict == "retry"
    assert (await hand.types(id_)).count("action_error") == 1
    assert (await hand.types(id_)).count("action_completed") == 1
    assert "late_result" not in await hand.types(id_)


async def test_heartbeats_keep_a_lease_and_name_what_is_revoked(hand):
    id_, held = await hand.start()
    for _ in range(5):
        await hand.pass_time(20)
        assert (await hand.beat(held)).revoked == ()
        await hand.engine.reap()
    await hand.engine.cancel(id_, actor="me", reason="enough")
    [revoked] = (await hand.beat(held)).revoked
    assert revoked.token == held.token
    assert (await hand.succeed(held)).status == "late"
    assert await hand.status(id_) == "cancelled"
    assert (await hand.types(id_))[-4:] == [*CANCELLED, "late_result"]


async def test_after_a_gap_in_service_no_lease_expires_for_a_full_lease(hand):
    await hand.submit()
    await hand.lease_one()
    await hand.clock.advance(3600)
    await hand.engine.beat()
    assert await hand.engine.reap() == 0, "the worker could not have sent its heartbeat"
    await hand.pass_time(20)
    assert await hand.engine.reap() == 0
    await hand.pass_time(10)
    assert await hand.engine.reap() == 1


async def test_a_gap_is_seen_before_anything_is_reaped_even_if_no_server_has_said_that_it_is_back(hand):
    id_, held = await hand.start()
    await hand.clock.advance(200)
    await hand.engine.timers.tick()
    assert "lease_expired" not in await hand.types(id_)
    assert (await hand.beat(held)).revoked == ()
    assert (await hand.succeed(held)).verdict == "complete"


async def test_a_worker_that_was_lost_before_its_timeout_is_lost_however_late_that_is_seen(hand):
    source = ONE_STEP.replace("jitter: 0}", 'jitter: 0, retry_when: "{{ status_code >= 500 }}"}')
    id_ = await hand.submit(source)
    await hand.lease_one("gone")
    await hand.clock.advance(600)
    await hand.engine.beat()
    await hand.pass_time(30)
    assert await hand.engine.reap() == 1
    assert (await hand.types(id_))[-2:] == ["lease_expired", "step_retry"]


async def test_a_report_of_an_attempt_does_not_pass_for_another_of_the_same_grant(hand):
    id_ = await hand.submit()
    grant = str(uuid.uuid4())
    request = LeaseRequest("w1", grant, 1, ("python",))
    [first] = await hand.engine.dispatcher.lease_now(request)
    await hand.fail(first)
    await hand.clock.advance(1)
    [second] = await hand.engine.dispatcher.lease_now(request)
    assert second.token != first.token
    assert (await hand.fail(first)).verdict == "retry", "the same report again: the first answer"
    assert (await hand.succeed(first)).status == "late", "another one under the same token"
    assert await hand.status(id_) == "running"


# -- a second report under the same token


SAID = {
    "failed": Outcome("failed", facts=Facts(status_code=503)),
    "failed otherwise": Outcome("failed", facts=Facts(status_code=500)),
    "with another message": Outcome("failed", facts=Facts(status_code=503, message="no")),
    "succeeded": Outcome("succeeded", {"rows": [1]}),
    "with another result": Outcome("succeeded", {"rows": [2]}),
    "with no result": Outcome("succeeded"),
    "not completed": Outcome("not_completed", after=3.0),
    "snoozed": Outcome("snoozed", after=3.0),
    "snoozed longer": Outcome("snoozed", after=4.0),
    "poor me": Outcome("failed", facts=Facts(failure_class="worker_lost", message="poor me")),
    "odd": Outcome("succeeded", {"text": "a\0b", 3: float("nan")}),
}


@pytest.mark.parametrize("first", SAID)
async def test_the_same_report_again_is_silent_and_any_other_is_late(hand, first):
    id_, a = await hand.start()
    answer = await hand.report(a, SAID[first])
    events = len(await hand.events(id_))
    assert await hand.report(a, SAID[first]) == answer
    assert len(await hand.events(id_)) == events, "the same report again leaves nothing"
    others = [name for name in SAID if name != first]
    for name in (*others, *others):
        assert (await hand.report(a, SAID[name])).status == "late", name
    late = await hand.data_of(id_, "late_result")
    # What cannot be kept is a failure, whatever the worker calls it.
    told = ["failed" if name == "odd" else SAID[name].status for name in others]
    assert [one["status"] for one in late] == told
    assert await hand.report(a, SAID[first]) == answer


async def test_a_contradiction_in_the_same_batch_is_late(hand):
    id_, a = await hand.start()
    reports = [Report(a.execution_id, a.item_id, a.attempt, a.token, SAID[name], a.step, a.item)
               for name in ("failed", "succeeded", "failed")]  # fmt: skip
    answers = await hand.engine.report(reports)
    assert (answers[0].status, answers[0].verdict) == ("applied", "retry")
    assert [one["status"] for one in await hand.data_of(id_, "late_result")] == ["succeeded"]
    assert await hand.status(id_) == "running"
    others = [
        replace(reports[0], outcome=SAID[name])
        for name in ("with another result", "snoozed", "failed otherwise")
    ]
    for _ in range(2):
        assert {one.status for one in await hand.engine.report(others)} == {"late"}
    assert len(await hand.data_of(id_, "late_result")) == 4, "each once, though several were written together"


async def test_contradictions_under_one_token_are_recorded_up_to_a_limit(hand):
    id_, a = await hand.start()
    await hand.succeed(a, 0)
    for n in range(1, MAX_LATE_RESULTS + 5):
        assert (await hand.succeed(a, n)).status == "late"
    assert [one["result"] for one in await hand.data_of(id_, "late_result")] == list(
        range(1, MAX_LATE_RESULTS + 1)
    )


async def test_a_worker_cannot_say_that_it_was_lost(hand):
    id_ = await hand.submit(ONE_STEP.replace("jitter: 0}", "jitter: 0, infra_attempts: 5}"))
    await hand.fail(await hand.lease_one(), failure_class="worker_lost", message="poor me")
    [error] = await hand.events_of(id_, "action_error")
    assert error["data"]["failure"]["class"] == "transient"


async def test_nor_can_it_say_why_a_child_failed(hand):
    id_, work = await hand.start()
    await hand.fail(work, status_code=503, child={"made": "up"})
    [error] = await hand.events_of(id_, "action_error")
    assert "child" not in error["data"]["failure"]
    assert (await hand.engine.verify()).violations == []


async def test_a_snooze_for_another_time_under_the_same_token_breaks_no_law(hand):
    id_, work = await hand.start()
    await hand.report(work, Outcome("snoozed", after=5))
    assert (await hand.report(work, Outcome("snoozed", after=10))).status == "late"
    assert len(await hand.events_of(id_, "late_result")) == 1
    assert (await hand.engine.verify()).violations == []


@pytest.mark.parametrize("reason", ["worker_heartbeat_stale", "queue_ttl_expired", "worker_wait_expired"])
@pytest.mark.parametrize("known", [True, False], ids=["leased here", "leased through another server"])
async def test_nor_can_it_give_a_reason_that_only_the_server_knows(hand, reason, known):
    """The policy would forgive such a failure, and would not evaluate `retry_when`."""
    policy = "max_attempts: 2, infra_attempts: 5, retry_when: 'false'"
    id_, work = await hand.start(ONE_STEP.replace("max_attempts: 3", policy))
    server = hand if known else await hand.restarted()
    await server.fail(work, reason=reason, message="poor me")
    [error] = await hand.events_of(id_, "action_error")
    failure = error["data"]["failure"]
    assert (failure["class"], failure["reason"]) == ("transient", "unclassified")
    [ended] = await hand.events_of(id_, "step_failed_terminal")
    assert ended["data"]["decision"]["rule"] == "retry_when"


async def refuse(hand: Hand, worker: str) -> None:
    """It leases what there is, and has no handler for it."""
    await hand.hand_back(await hand.lease_one(worker), reason="no_handler", detail="no module some")


async def refused_by_the_first_of_two(hand: Hand) -> int:
    id_ = await hand.submit()
    await hand.register("w1")
    await hand.register("w2")
    await refuse(hand, "w1")
    return id_


async def test_a_worker_that_comes_back_is_asked_again_for_what_it_refused(hand):
    await refused_by_the_first_of_two(hand)
    await hand.register("w1")
    assert len(await hand.lease("w1")) == 1


async def test_what_the_last_live_workers_have_refused_is_not_found(hand):
    id_ = await refused_by_the_first_of_two(hand)
    await hand.pass_time(40)
    await hand.beat(worker="w1")
    await hand.engine.sweep()
    assert (await hand.get(id_))["failure"]["class"] == "not_found"


async def test_workers_that_leave_or_fall_silent_are_gone(hand):
    for name in ("polite", "silent", "lives"):
        await hand.register(name)
    await hand.engine.heartbeat(Heartbeat("polite", leaving=True))
    await hand.pass_time(100)
    await hand.beat(worker="lives")
    await hand.engine.sweep()
    states = {row["name"]: row["state"] for row in await hand.sql("select name, state from tenax.worker")}
    assert states == {"polite": "gone", "silent": "gone", "lives": "active"}
    lost = await hand.sql("select data from tenax.event where type = 'worker_lost'")
    assert [row["data"].count("silent") for row in lost] == [1]
    await hand.pass_time(10)
    await hand.clock.advance(8 * 86400)
    await hand.engine.sweep()
    assert len(await hand.sql("select from tenax.worker where name <> 'lives'")) == 0


async def test_the_server_enforces_the_timeout_of_a_silent_worker(hand):
    source = ONE_STEP.replace("task: some:task", "task: some:task\n    timeout: 5s")
    id_, held = await hand.start(source)
    await hand.clock.advance(5.5)
    assert await hand.engine.reap() == 0, "the worker's own report has a second of grace"
    await hand.beat(held)
    await hand.clock.advance(0.5)
    assert await hand.engine.reap() == 1
    failed = await hand.events_of(id_, "action_error")
    assert failed[0]["data"]["failure"]["class"] == "timeout"
    assert [r.token for r in (await hand.beat(held)).revoked] == [held.token]


async def test_a_server_with_a_longer_grace_sees_the_timeout_too(hand):
    source = ONE_STEP.replace("task: some:task", "task: some:task\n    timeout: 5s")
    id_, _ = await hand.start(source)
    other = await hand.restarted(timeout_grace=5.0)
    await hand.clock.advance(6)
    assert await other.engine.reap() == 1
    [failed] = await hand.events_of(id_, "action_error")
    assert failed["data"]["failure"]["class"] == "timeout"


async def test_an_expired_queue_entry_uses_an_attempt(hand):
    source = ONE_STEP.replace("task: some:task", "task: some:task\n    queue_ttl: 10s")
    id_ = await hand.submit(source)
    for _ in range(5):
        await hand.clock.advance(20)
        assert await hand.engine.reap() == 1
    events = await hand.events(id_)
    assert [e["attempt"] for e in events if e["type"] == "queue_expired"] == [1, 2, 3, 4, 5]
    assert [e["type"] for e in events][-3:] == EXHAUSTED
    assert "action_started" not in [e["type"] for e in events]
    assert events[2]["data"]["failure"]["class"] == "worker_unavailable", "there is no worker at all"


@pytest.mark.parametrize(
    ("worker", "ttl", "failure_class"),
    [
        ({}, 10, "queue_timeout"),
        ({"queues": ("mail",)}, 10, "worker_unavailable"),
        ({"runtimes": ("http",)}, 10, "worker_unavailable"),
        ({"execution_id": 999}, 10, "worker_unavailable"),
        ({"execution_id": 1}, 10, "queue_timeout"),
        pytest.param({}, 40, "worker_unavailable", id="silent meanwhile"),
    ],
)
async def test_the_time_in_the_queue_runs_out_with_and_without_an_able_worker(
    hand, worker, ttl, failure_class
):
    id_ = await hand.submit(ONE_STEP.replace("task: some:task", f"task: some:task\n    queue_ttl: {ttl}s"))
    assert id_ == 1
    await hand.register("w1", **worker)
    await hand.pass_time(ttl)
    assert await hand.engine.reap() == 1
    [expired] = await hand.data_of(id_, "queue_expired")
    assert (expired["failure"]["class"], expired["failure"]["reason"]) == (failure_class, "queue_ttl_expired")
    assert ("no live worker" in expired["error"]) == (failure_class == "worker_unavailable")


async def test_a_lease_handed_back_is_not_counted(hand):
    id_ = await hand.submit()
    for n in (1, 2, 3, 4, 5):
        a = await hand.lease_one()
        assert a.attempt == n, "attempt numbers only rise"
        await hand.hand_back(a)
    for _ in range(2):
        assert (await hand.fail(await hand.lease_one())).verdict == "retry"
        await hand.clock.advance(5)
    assert (await hand.fail(await hand.lease_one())).verdict == "fail"
    assert (await hand.types(id_)).count("lease_released") == 5


async def test_a_grant_whose_answer_never_came_is_handed_back(hand):
    id_ = await hand.submit()
    grant = str(uuid.uuid4())
    lost = LeaseRequest("w1", grant, 1, ("python",))
    [gone] = await hand.engine.dispatcher.lease_now(lost)
    await hand.engine.heartbeat(Heartbeat("w1", lost_grants=(grant,)))
    assert "lease_released" in await hand.types(id_)
    again = await hand.lease_one()
    assert again.item_id == gone.item_id


async def test_a_caller_that_goes_away_while_parked_loses_nothing(hand):
    request = LeaseRequest("w1", str(uuid.uuid4()), 1, ("python",), wait=60)
    parked = asyncio.create_task(hand.engine.lease(request))
    await asyncio.wait([parked], timeout=0.05)
    parked.cancel()
    await asyncio.wait([parked])
    await hand.submit()
    assert len(await hand.lease("w2")) == 1


async def test_a_caller_that_goes_away_while_it_is_served_takes_nobody_with_it(hand):
    await hand.submit()
    await hand.submit()
    dispatcher = hand.engine.dispatcher
    ask = [
        LeaseRequest(name, str(uuid.uuid4()), 1, ("python",), wait=wait)
        for name, wait in (("a", 0), ("b", 60))
    ]
    blocker = await hand.engine.context.database.connect()
    async with blocker.transaction():
        await blocker.execute("lock table tenax.item in access exclusive mode")
        impatient, patient = (asyncio.create_task(dispatcher.lease(request)) for request in ask)
        claim = asyncio.create_task(dispatcher.claim())
        await asyncio.wait([impatient], timeout=0.05)
        assert not impatient.done(), "its time is up, but the claim may have something for it"
        impatient.cancel()
        await asyncio.wait([impatient])
    await claim
    async with asyncio.timeout(10):
        [given] = await patient
        while not (handed_back := await hand.lease("c")):
            pass
    assert handed_back[0].item_id != given.item_id
    await blocker.close()


async def test_a_caller_that_goes_away_as_it_is_granted_something_has_it_handed_back(hand):
    await hand.submit()
    request = LeaseRequest("a", str(uuid.uuid4()), 1, ("python",), wait=60)
    caller = asyncio.create_task(hand.engine.dispatcher.lease(request))
    await asyncio.sleep(0)
    await hand.engine.dispatcher.claim()
    await asyncio.sleep(0)
    caller.cancel()  # it is granted, and would hear of it in the next turn of the loop
    await asyncio.wait([caller])
    assert caller.cancelled()
    assert len(await hand.lease("b")) == 1


async def test_a_worker_without_the_handler_hands_on_to_one_that_has_it(hand):
    id_ = await refused_by_the_first_of_two(hand)
    assert await hand.lease("w1") == [], "it is not asked again"
    await hand.succeed(await hand.lease_one("w2"))
    assert await hand.status(id_) == "completed"


async def test_a_handler_that_nobody_has_is_not_found(hand):
    id_ = await refused_by_the_first_of_two(hand)
    await refuse(hand, "w2")
    execution = await hand.get(id_)
    assert (execution["status"], execution["failure"]["class"]) == ("failed", "not_found")


async def test_workers_lease_only_what_they_can_run(hand):
    source = ONE_STEP.replace("task: some:task", "task: some:task\n    queue: gpu\n    labels: {zone: a}")
    await hand.submit(source)
    assert await hand.lease() == []
    assert await hand.lease(queues=("gpu",)) == []
    assert await hand.lease(queues=("gpu",), labels={"zone": "b"}) == []
    assert len(await hand.lease(queues=("default", "gpu"), labels={"zone": "a", "more": "yes"})) == 1


async def test_urgent_work_goes_first(hand):
    plain = [await hand.submit() for _ in range(3)]
    urgent = await hand.submit(ONE_STEP.replace("task: some:task", "task: some:task\n    priority: 9"))
    order = [a.execution_id for _ in range(4) for a in await hand.lease(slots=1)]
    assert order == [urgent, *plain]


async def test_own_execution_only(hand):
    await hand.submit()
    mine = await hand.submit()
    [a] = await hand.lease(execution_id=mine)
    assert a.execution_id == mine
