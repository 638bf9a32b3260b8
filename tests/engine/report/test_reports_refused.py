"""Tests reports that memory cannot decide on, or that the statement refuses: nothing is lost, and nothing is doubled."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from support.child_workflows import begun, calling, child_of
from support.compensation_workflows import UNDO
from support.hand import CANCELLED, STARTED, STEP_DONE, Hand
from support.recorded.report_paths import answered, chain, decided_from_memory, failure, left_behind, success

from tenax.engine.caches.lease_cache import LeaseCache
from tenax.engine.report.report import report
from tenax.errors import Conflict
from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.durations import format_duration
from tenax.model.wire import Assignment, Release, Report

RETRY = "retry: {max_attempts: 3, initial_delay: 5s, jitter: 0}"
TWO_CHAINS = f"""
name: two
workflow:
  - {{step: a, type: python, task: "t:t", {RETRY}}}
  - {{step: b, type: python, task: "t:t", needs: [a]}}
  - {{step: c, type: python, task: "t:t", {RETRY}}}
  - {{step: d, type: python, task: "t:t", needs: [c]}}
"""
CHAIN_DONE = [*STARTED, *STEP_DONE, "step_enqueued", "action_started", *STEP_DONE, "execution_completed"]
APPLIED, AGAIN, LATE = ("applied", "complete"), ("applied", "retry"), ("late", None)


@dataclass(frozen=True)
class Way:
    """Describes how an attempt ends, and the result if nothing prevents it."""

    told: Any
    verdict: str
    events: list[str]

    @property
    def answer(self) -> tuple[str, str]:
        return "applied", self.verdict


WAYS = {
    "success": Way(success, "complete", STEP_DONE),
    "failure": Way(failure, "retry", ["action_error", "step_retry"]),
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return WAYS[request.param]


async def refused(hand: Hand, id_: int, *reports: Report) -> None:
    """Nothing of it is decided on from memory, and nothing is changed."""
    before = await left_behind(hand, id_)
    assert await decided_from_memory(hand, *reports) == set()
    assert await left_behind(hand, id_) == before


# -- the execution is not as it was


@pytest.mark.parametrize("steps", [1, 2])
async def test_a_cancelled_execution_hears_it_late(hand, way, steps):
    id_, a = await hand.start(chain(steps, RETRY))
    await hand.engine.cancel(id_, actor="ann")
    await refused(hand, id_, way.told(a))
    assert await answered(hand, way.told(a)) == [LATE]
    assert (await hand.types(id_))[3:] == [*CANCELLED, "late_result"]
    assert await hand.lease() == []
    assert await hand.sql("select from tenax.item") == []


async def test_a_paused_execution_hears_it_and_waits_with_what_follows(hand, way):
    id_, a = await hand.start(chain(2, RETRY))
    await hand.engine.pause(id_, actor="ann")
    await refused(hand, id_, way.told(a))
    assert await answered(hand, way.told(a)) == [way.answer]
    await hand.clock.advance(10)
    assert await hand.lease() == []
    await hand.engine.resume(id_, actor="ann")
    b = await hand.lease_one()
    assert (b.step, b.attempt) == (("s1", 1) if way.told is success else ("s0", 2))
    assert await decided_from_memory(hand, success(b, 2)) == {b.item_id}
    assert await hand.counts(id_, *way.events) == ((2, 2) if way.told is success else (1, 1))
    assert await hand.status(id_) == ("completed" if way.told is success else "running")


@pytest.mark.parametrize("steps", [1, 2])
async def test_an_execution_that_someone_else_is_changing_is_not_waited_for(hand, way, steps):
    theirs, mine = [await hand.submit(chain(steps, RETRY)) for _ in range(2)]
    leased = {a.execution_id: a for a in await hand.lease()}
    told = [way.told(leased[theirs]), way.told(leased[mine])]
    async with hand.engine.context.transaction() as tx:
        await tx.fetch("select from tenax.execution where id = $1 for update", theirs)
        assert await decided_from_memory(hand, *told, verdict=way.verdict) == {leased[mine].item_id}
        assert await hand.types(theirs) == STARTED
    assert await answered(hand, *told) == [way.answer] * 2
    for id_ in (theirs, mine):
        assert (await hand.types(id_))[3:5] == way.events
        assert await hand.counts(id_, *way.events) == (1, 1)


async def test_a_report_waits_for_whoever_holds_the_execution_and_sees_what_came_of_it(hand):
    id_, a = await hand.start(chain(2))
    async with hand.engine.context.transaction() as tx:
        await tx.fetch("select from tenax.execution where id = $1 for update", id_)
        reporting = asyncio.create_task(report(hand.engine.context, [success(a, 1)]))
        while not await hand.sql("select from pg_locks where not granted and pid <> pg_backend_pid()"):
            assert not reporting.done(), "it cannot be decided on while someone else holds it"
    [answer] = await reporting
    assert (answer.status, answer.verdict) == APPLIED
    assert (await hand.lease_one()).step == "s1"
    assert await hand.types(id_) == CHAIN_DONE[:7]


async def test_a_failing_execution_starts_nothing_but_undoes_what_still_succeeded(hand):
    source = TWO_CHAINS.replace("{step: a, type: python", f"{{step: a, {UNDO}, type: python")
    id_ = await hand.submit(source)
    first = {a.step: a for a in await hand.lease()}
    await hand.fail(first["c"], status_code=404)
    assert [*await hand.sql("select compensation from tenax.execution")] == [("waiting",)]
    await refused(hand, id_, success(first["a"], 1))
    assert await answered(hand, success(first["a"], 1)) == [("applied", "stop")]
    undo = await hand.lease_one()
    assert (undo.step, undo.compensates, undo.spec["args"]) == ("a", True, {"undo": 1})
    assert await decided_from_memory(hand, success(undo)) == set(), "what undoes a step is no success of it"
    assert (await hand.succeed(undo)).status == "applied"
    execution = await hand.get(id_)
    assert (execution["status"], execution["compensation"]) == ("failed", "completed")
    assert await hand.counts(
        id_, "action_completed", "compensation_completed", "execution_failed", "step_enqueued"
    ) == (1, 1, 1, 2)


async def test_an_execution_that_has_failed_records_what_still_ran(hand):
    id_ = await hand.submit(TWO_CHAINS)
    first = {a.step: a for a in await hand.lease()}
    await hand.fail(first["c"], status_code=404)
    assert await hand.status(id_) == "failed"
    await refused(hand, id_, success(first["a"], 1))
    assert await answered(hand, success(first["a"], 1)) == [("applied", "stop")]
    assert await hand.lease() == []
    assert (await hand.types(id_))[-2:] == STEP_DONE


async def test_the_only_goal_does_not_end_an_execution_that_has_more_to_do(hand):
    goal = "{step: b, type: python, task: 't:t', goal: true}"
    id_ = await hand.submit(f"name: g\nworkflow: [{{step: a, type: python, task: 't:t'}}, {goal}]\n")
    first = {a.step: a for a in await hand.lease()}
    await refused(hand, id_, success(first["b"], 1))
    assert await answered(hand, success(first["b"], 1)) == [APPLIED]
    assert await hand.status(id_) == "running"
    assert await answered(hand, success(first["a"], 1)) == [APPLIED]
    assert (await hand.get(id_))["result"] == {"b": 1}
    assert await hand.counts(id_, "execution_completed") == (1,)


# -- the lease is not the one


async def test_a_lease_that_ran_out_and_was_given_anew(hand, way):
    id_, old = await hand.start(chain(2, RETRY), worker="frozen")
    await hand.pass_time(30)
    assert await hand.engine.reap() == 1
    await hand.clock.advance(5)
    new = await hand.lease_one("fresh")
    assert new.item_id == old.item_id
    await refused(hand, id_, way.told(old))
    assert await answered(hand, way.told(old)) == [LATE]
    if way.told is success:  # it may have been quarantined before: the locked way looks for its dead letter
        assert await decided_from_memory(hand, success(new), verdict="complete") == set()
        assert await answered(hand, success(new)) == [APPLIED]
    else:
        assert await decided_from_memory(hand, way.told(new), verdict=way.verdict) == {new.item_id}
    lost = 0 if way.told is success else 1  # the retry after the lease that ran out
    assert await hand.counts(id_, "late_result", "action_started", *way.events) == (1, 2, 1, 1 + lost)


async def test_both_leases_of_one_item_in_one_batch(hand):
    """The first was handed back, so both are first attempts: only the token tells them apart."""
    for order in (1, -1):
        id_, old = await hand.start(chain(2))
        await hand.hand_back(old)
        new = await hand.lease_one()
        told = [success(old, "old"), success(new, "new")][::order]
        assert await answered(hand, *told) == [LATE, APPLIED][::order]
        assert (await hand.get(id_))["steps"]["s0"]["result"] == "new"
        assert await hand.counts(
            id_, "late_result", "action_completed", "step_completed", "step_enqueued"
        ) == (1, 1, 1, 2)
        await hand.engine.cancel(id_, actor="ann")


async def test_a_token_that_names_another_item_ends_neither(hand):
    ids = [await hand.submit(chain(2)) for _ in range(2)]
    a, b = await hand.lease()
    crossed = Report(a.execution_id, a.item_id, 1, b.token, Outcome("succeeded"), a.step)
    assert await decided_from_memory(hand, crossed) == set()
    assert await answered(hand, crossed) == [LATE]
    assert await answered(hand, success(a), success(b)) == [APPLIED, APPLIED]
    assert [(await hand.types(id_)).count("action_completed") for id_ in ids] == [1, 1]


async def test_a_token_with_another_execution_is_late_and_changes_nothing(hand):
    first, second = [await hand.submit(chain(2)) for _ in range(2)]
    leased = {a.execution_id: a for a in await hand.lease()}
    mine = leased[first]
    crossed = Report(second, mine.item_id, 1, mine.token, Outcome("succeeded"), mine.step)
    before = [await left_behind(hand, id_) for id_ in (first, second)]
    assert await answered(hand, crossed) == [LATE]
    assert [await left_behind(hand, id_) for id_ in (first, second)] == before
    assert await answered(hand, success(mine)) == [APPLIED]


async def test_a_token_that_is_told_of_three_times_is_decided_on_once(hand):
    """The first report names another item, so the lease still stands; the other two are the same."""
    id_, a = await hand.start(chain(2))
    wrong = Report(id_, a.item_id + 100, 1, a.token, Outcome("succeeded"), a.step)
    assert await answered(hand, wrong, success(a, 1), success(a, 1)) == [LATE, APPLIED, APPLIED]
    assert await hand.counts(id_, "action_completed", "step_completed", "step_enqueued") == (1, 1, 2)


async def test_a_release_that_is_told_twice_or_of_another_execution_is_heard_once(hand):
    first, second = [await hand.submit(chain(2)) for _ in range(2)]
    leased = {a.execution_id: a for a in await hand.lease()}
    mine = leased[first]
    back = Release(first, mine.item_id, 1, mine.token, "draining")
    await hand.engine.release([Release(second, mine.item_id, 1, mine.token, "draining")])
    assert await hand.counts(first, "lease_released") == (0,)
    await hand.engine.release([back, back])
    assert await hand.counts(first, "lease_released") == (1,)


# -- said more than once


@pytest.mark.parametrize("steps", [1, 2])
async def test_the_same_report_twice(hand, way, steps):
    id_, a = await hand.start(chain(steps, RETRY))
    assert await answered(hand, way.told(a), way.told(a)) == [way.answer] * 2
    once = await left_behind(hand, id_)
    assert await answered(hand, way.told(a), way.told(a)) == [way.answer] * 2
    assert await left_behind(hand, id_) == once
    assert (await hand.types(id_))[:5] == [*STARTED, *way.events]
    await hand.clock.advance(5)
    for b in await hand.lease():
        assert await answered(hand, way.told(a), success(b)) == [way.answer, APPLIED]
    assert await hand.counts(id_, "late_result", "action_error") == (0, int(way.told is failure))


async def test_the_same_report_to_two_servers_at_once(hand):
    other = await hand.restarted()
    for _ in range(10):
        id_, a = await hand.start(chain(2))
        answers = await asyncio.gather(answered(hand, success(a)), answered(other, success(a)))
        assert answers == [[APPLIED], [APPLIED]]
        b = await hand.lease_one()
        answers = await asyncio.gather(answered(other, success(b)), answered(hand, success(b)))
        assert answers == [[APPLIED], [APPLIED]]
        assert await hand.types(id_) == CHAIN_DONE


async def test_executions_that_are_cancelled_while_they_are_reported_end_one_way(hand):
    other = await hand.restarted()
    ids = [await hand.submit(chain(1 + n % 2)) for n in range(30)]
    leased = await hand.lease(slots=30)

    async def cancel() -> None:
        for id_ in reversed(ids):
            with contextlib.suppress(Conflict):  # it is complete
                await other.engine.cancel(id_, actor="ann")

    async def tell() -> dict[int, str]:
        in_turn = sorted(leased, key=lambda a: a.execution_id)
        answers = [
            await hand.engine.report([success(a, 1) for a in in_turn[n : n + 3]]) for n in range(0, 30, 3)
        ]
        return dict(zip(ids, [answer.status for some in answers for answer in some], strict=True))

    statuses, _ = await asyncio.gather(tell(), cancel())
    for n, id_ in enumerate(ids):
        counts = Counter(await hand.types(id_))
        was_in_time = statuses[id_] == "applied"
        assert counts["action_completed"] == was_in_time
        assert counts["late_result"] == (not was_in_time)
        assert counts["execution_completed"] + counts["execution_cancelled"] == 1
        if n % 2 == 0:
            assert await hand.status(id_) == ("completed" if was_in_time else "cancelled")
        else:
            assert await hand.status(id_) == "cancelled", "its second step was not done"
    assert await hand.sql("select from tenax.item") == []


# -- more in one batch than one of each


async def test_two_items_of_one_execution(hand):
    id_ = await hand.submit(TWO_CHAINS)
    assert await answered(hand, *map(failure, await hand.lease())) == [AGAIN, AGAIN]
    await hand.clock.advance(5)
    first, second = await hand.lease()
    assert await answered(hand, failure(first), success(second, second.step)) == [AGAIN, APPLIED]
    await hand.clock.advance(10)
    for _ in range(2):
        told = [success(a, a.step) for a in await hand.lease()]
        assert await answered(hand, *told) == [APPLIED] * len(told)
    assert await hand.lease() == []
    execution = await hand.get(id_)
    assert (execution["status"], execution["result"]) == ("completed", {"b": "b", "d": "d"})
    assert await hand.counts(id_, "action_error", "step_retry", *STEP_DONE) == (3, 3, 4, 4)
    assert await hand.counts(id_, "step_enqueued", "execution_completed") == (4, 1)


async def test_a_batch_of_all_kinds_is_answered_in_its_order(hand):
    ids = {name: await hand.submit(chain(2)) for name in ("plain", "cancelled", "failed", "used", "again")}
    leased = {a.execution_id: a for a in await hand.lease()}
    own: dict[str, Assignment] = {name: leased[id_] for name, id_ in ids.items()}
    await hand.engine.cancel(ids["cancelled"], actor="ann")
    failed = Report(ids["failed"], own["failed"].item_id, 1, own["failed"].token, Outcome("failed"), "s0")
    done = {name: success(own[name]) for name in ("cancelled", "again", "plain")}
    used = success(own["used"], usage=Usage(tokens=5))
    told = [done["cancelled"], done["again"], failed, done["plain"], used, done["again"]]
    assert await answered(hand, *told) == [LATE, APPLIED, ("applied", "fail"), APPLIED, APPLIED, APPLIED]
    last = {"plain": "step_enqueued", "cancelled": "late_result", "failed": "execution_failed"}
    assert {name: (await hand.types(ids[name]))[-1] for name in last} == last
    assert {a.execution_id for a in await hand.lease()} == {ids[name] for name in ("plain", "used", "again")}


# -- more to be told than a result, or to others


@pytest.mark.parametrize(("name", "value", "told"), [
    ("usage", Usage(cost_usd=0.5, tokens=7), {"cost_usd": 0.5, "tokens": 7}),
    ("after", 5.0, 5.0),
])  # fmt: skip
async def test_what_else_an_outcome_says_is_kept(hand, name: str, value: Any, told: Any):
    id_, a = await hand.start(chain(2))
    assert await decided_from_memory(hand, success(a, 1, **{name: value})) == {a.item_id}
    [data] = await hand.data_of(id_, "action_completed")
    assert (data["result"], data[name]) == (1, told)


async def test_a_retry_that_used_something_up_says_so(hand):
    id_, a = await hand.start(chain(2, RETRY))
    assert await answered(hand, failure(a, usage=Usage(tokens=7))) == [AGAIN]
    [data] = await hand.data_of(id_, "action_error")
    assert data["usage"] == {"cost_usd": None, "tokens": 7}


async def test_the_parent_hears_of_a_child_whose_last_step_is_like_any_other(hand):
    await hand.engine.store_workflow(chain(2))
    id_ = await begun(hand, calling(name="chain"))
    child = await child_of(hand, id_)
    a = await hand.lease_one()
    assert await decided_from_memory(hand, success(a, 1)) == {a.item_id}, (
        "nobody waits for what is in the middle"
    )
    b = await hand.lease_one()
    await refused(hand, child, success(b, 2))
    assert await answered(hand, success(b, 2)) == [APPLIED]
    await hand.settle_down()
    assert (await hand.get(id_))["result"] == {"call": {"s1": 2}}
    assert await hand.types(child) == CHAIN_DONE
    assert await hand.counts(id_, "action_completed") == (1,)


async def test_an_execution_that_retries_another_is_decided_step_by_step_to_its_end(hand):
    first = await hand.submit(chain(3))
    await hand.fail(await hand.lease_one(), status_code=404)
    id_ = (await hand.engine.run_anew(first, actor="ann")).id
    for step in ("s0", "s1"):
        a = await hand.lease_one()
        assert a.step == step
        await refused(hand, id_, success(a, step))
        assert await answered(hand, success(a, step)) == [APPLIED]
    last = await hand.lease_one()
    assert await decided_from_memory(hand, success(last, "end")) == {last.item_id}
    execution = await hand.get(id_)
    assert (execution["status"], execution["result"]) == ("completed", {"s2": "end"})
    assert await hand.counts(id_, "action_completed") == (3,)


# -- failures that are retried


async def test_a_plain_retry_is_decided_on_from_memory_and_starts_when_it_is_due(hand):
    id_, a = await hand.start(chain(2, RETRY))
    assert await decided_from_memory(hand, failure(a), verdict="retry") == {a.item_id}
    assert await hand.lease() == []
    await hand.clock.advance(5)
    again = await hand.lease_one()
    assert (again.item_id, again.attempt, again.is_retry) == (a.item_id, 2, True)
    assert (await hand.types(id_))[2:] == ["action_started", "action_error", "step_retry", "action_started"]


@pytest.mark.parametrize(
    ("more", "facts"),
    [
        ("retry: false", {}),
        (RETRY, {"status_code": 404}),
        (RETRY, {"fatal": True}),
        (RETRY, {"failure_class": "logical"}),
        ("concurrency: {limit: 1}, " + RETRY, {}),
    ],
)
async def test_what_is_no_plain_retry_is_decided_in_full(hand, more, facts):
    id_, a = await hand.start(chain(2, more))
    await refused(hand, id_, failure(a, **facts))
    [(status, _)] = await answered(hand, failure(a, **facts))
    assert status == "applied"
    assert await hand.counts(id_, "action_error") == (1,)


@pytest.mark.parametrize("is_short", [True, False])
async def test_a_message_that_postgresql_cannot_hold_is_kept_as_far_as_it_can_be(hand, is_short):
    id_, a = await hand.start(chain(1, RETRY))
    if not is_short:
        hand.engine.context.lease_cache = LeaseCache()
    told = Outcome("failed", facts=Facts(message="a\x00b \ud800 \u00e9"))
    assert await answered(hand, Report(id_, a.item_id, a.attempt, a.token, told)) == [AGAIN]
    [error] = await hand.sql("select last_error from tenax.item")
    assert error["last_error"] == "a\ufffdb ? \u00e9"


async def test_each_failure_of_a_batch_has_a_roll_of_its_own(hand):
    ids = [await hand.submit(chain(1, "retry: {max_attempts: 3, initial_delay: 5s}")) for _ in range(6)]
    leased = await hand.lease()
    told = [failure(a, traceback="Traceback ...") for a in leased]
    rows = hand.engine.context.roll
    drawn = iter([0.0, 0.25, 0.5, 0.75, 0.9, 0.1])
    hand.engine.context.roll = lambda: next(drawn)
    assert await decided_from_memory(hand, *told, verdict="retry") == {a.item_id for a in leased}
    hand.engine.context.roll = rows
    delays = []
    for id_ in ids:
        [explained] = await hand.engine.explain(id_)
        waits = (await hand.events(id_))[-1]["data"]
        assert waits["decision"]["roll"] == waits["decision"]["delay"]["roll"]
        assert waits["delay_seconds"] == waits["decision"]["delay"]["delay"]
        assert f"retried in {format_duration(waits['delay_seconds'])} (" in explained.decision["reason"]
        delays.append(waits["delay_seconds"])
    assert sorted(delays) == [4.0, 4.2, 4.5, 5.0, 5.5, 5.8]
    [[kept]] = await hand.sql(
        "select array_agg(extract(epoch from available_at - created_at)::float8 order by 1) from tenax.item"
    )
    assert [round(seconds, 6) for seconds in sorted(kept)] == sorted(delays)
