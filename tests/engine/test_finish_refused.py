"""What the short way of a report leaves alone, or is turned away from: it goes the long way, nothing is lost, and nothing is doubled."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from typing import Any

import pytest
from families import begun, calling, child_of
from finishing import chain, finished, left_behind, success
from hand import Hand
from undoing import UNDO

from tenax.engine.report import report
from tenax.errors import Conflict
from tenax.model.outcome import Outcome, Usage
from tenax.model.wire import Assignment, Release, Report

TWO_CHAINS = """
name: two
workflow:
  - {step: a, type: python, task: "t:t"}
  - {step: b, type: python, task: "t:t", needs: [a]}
  - {step: c, type: python, task: "t:t"}
  - {step: d, type: python, task: "t:t", needs: [c]}
"""
STARTED = ["execution_started", "step_enqueued", "action_started"]
STEP_DONE = ["action_completed", "step_completed"]
CHAIN_DONE = [*STARTED, *STEP_DONE, "step_enqueued", "action_started", *STEP_DONE, "execution_completed"]


async def refused(hand: Hand, id_: int, *reports: Report) -> None:
    """The short way takes none of them, and changes nothing."""
    before = await left_behind(hand, id_)
    assert await finished(hand, *reports) == set()
    assert await left_behind(hand, id_) == before


async def answered(hand: Hand, *reports: Report) -> list[tuple[str, str | None]]:
    return [(answer.status, answer.verdict) for answer in await hand.engine.report(reports)]


APPLIED = ("applied", "complete")
LATE = ("late", None)


# -- the execution is not as it was


async def test_a_cancelled_execution_hears_it_late(hand):
    for source in (chain(2), chain(1)):
        id_ = await hand.submit(source)
        a = await hand.lease_one()
        await hand.engine.cancel(id_, actor="ann")
        await refused(hand, id_, success(a))
        assert await answered(hand, success(a, 1)) == [LATE]
        assert (await hand.types(id_))[3:] == [
            "operator_action",
            "item_cancelled",
            "execution_cancelled",
            "late_result",
        ]
        assert await hand.lease() == []


async def test_a_paused_execution_takes_the_result_and_waits_with_the_next_step(hand):
    id_ = await hand.submit(chain(2))
    a = await hand.lease_one()
    await hand.engine.pause(id_, actor="ann")
    await refused(hand, id_, success(a))
    assert await answered(hand, success(a, 1)) == [APPLIED]
    assert await hand.lease() == []
    await hand.engine.resume(id_, actor="ann")
    b = await hand.lease_one()
    assert await finished(hand, success(b, 2)) == {b.item_id}
    assert (await hand.engine.get(id_))["result"] == {"s1": 2}
    counts = Counter(await hand.types(id_))
    assert (counts["action_completed"], counts["step_enqueued"], counts["execution_completed"]) == (2, 2, 1)


@pytest.mark.parametrize("steps", [1, 2])
async def test_an_execution_that_someone_else_is_changing_is_not_waited_for(hand, steps):
    id_ = await hand.submit(chain(steps))
    other = await hand.submit(chain(steps))
    a, b = await hand.lease()
    mine, theirs = (a, b) if a.execution_id == other else (b, a)
    async with hand.engine.core.transaction() as tx:
        await tx.fetch("select from tenax.execution where id = $1 for update", id_)
        assert await finished(hand, success(theirs), success(mine)) == {mine.item_id}
        assert await hand.types(id_) == STARTED
    assert await answered(hand, success(theirs), success(mine)) == [APPLIED, APPLIED]
    for one in (id_, other):
        assert (await hand.types(one))[3:5] == STEP_DONE
        assert (await hand.types(one)).count("action_completed") == 1


async def test_a_report_waits_for_whoever_holds_the_execution_and_sees_what_came_of_it(hand):
    id_ = await hand.submit(chain(2))
    a = await hand.lease_one()
    async with hand.engine.core.transaction() as tx:
        await tx.fetch("select from tenax.execution where id = $1 for update", id_)
        reporting = asyncio.create_task(report(hand.engine.core, [success(a, 1)]))
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
    assert await finished(hand, success(undo)) == set(), "what undoes a step is no success of it"
    assert (await hand.succeed(undo)).status == "applied"
    execution = await hand.engine.get(id_)
    assert (execution["status"], execution["compensation"]) == ("failed", "completed")
    counts = Counter(await hand.types(id_))
    assert (counts["action_completed"], counts["compensation_completed"], counts["execution_failed"]) == (
        1,
        1,
        1,
    )
    assert counts["step_enqueued"] == 2


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
    source = "name: g\nworkflow:\n- {step: a, type: python, task: 't:t'}\n- {step: b, type: python, task: 't:t', goal: true}\n"
    id_ = await hand.submit(source)
    first = {a.step: a for a in await hand.lease()}
    await refused(hand, id_, success(first["b"], 1))
    assert await answered(hand, success(first["b"], 1)) == [APPLIED]
    assert await hand.status(id_) == "running"
    assert await answered(hand, success(first["a"], 1)) == [APPLIED]
    assert (await hand.engine.get(id_))["result"] == {"b": 1}
    assert (await hand.types(id_)).count("execution_completed") == 1


# -- the lease is not the one


async def test_a_lease_that_ran_out_and_was_given_anew(hand):
    id_ = await hand.submit(chain(2, "retry: {max_attempts: 3, backoff: none}"))
    old = await hand.lease_one("frozen")
    await hand.pass_time(30)
    assert await hand.engine.reap() == 1
    new = await hand.lease_one("fresh")
    assert new.item_id == old.item_id
    await refused(hand, id_, success(old, "old"))
    assert await answered(hand, success(old, "old")) == [LATE]
    assert await finished(hand, success(new, "new")) == {new.item_id}
    assert (await hand.engine.get(id_))["steps"]["s0"]["result"] == "new"
    counts = Counter(await hand.types(id_))
    assert (counts["late_result"], counts["action_completed"], counts["action_started"]) == (1, 1, 2)


async def test_both_leases_of_one_item_in_one_batch(hand):
    """The first was handed back, so both are first attempts: only the token tells them apart."""
    for order in (1, -1):
        id_ = await hand.submit(chain(2))
        old = await hand.lease_one()
        await hand.engine.release([Release(id_, old.item_id, 1, old.token, "draining")])
        new = await hand.lease_one()
        told = [success(old, "old"), success(new, "new")][::order]
        assert await answered(hand, *told) == [LATE, APPLIED][::order]
        assert (await hand.engine.get(id_))["steps"]["s0"]["result"] == "new"
        counts = Counter(await hand.types(id_))
        assert (counts["late_result"], counts["action_completed"], counts["step_completed"]) == (1, 1, 1)
        assert counts["step_enqueued"] == 2
        await hand.engine.cancel(id_, actor="ann")


async def test_a_token_that_names_another_item_ends_neither(hand):
    ids = [await hand.submit(chain(2)) for _ in range(2)]
    a, b = await hand.lease()
    crossed = Report(a.execution_id, a.item_id, 1, b.token, Outcome("succeeded"), a.step)
    assert await finished(hand, crossed) == set()
    assert await answered(hand, crossed) == [LATE]
    assert await answered(hand, success(a), success(b)) == [APPLIED, APPLIED]
    assert [(await hand.types(id_)).count("action_completed") for id_ in ids] == [1, 1]


# -- said more than once


@pytest.mark.parametrize("steps", [1, 2])
async def test_the_same_report_twice(hand, steps):
    id_ = await hand.submit(chain(steps))
    a = await hand.lease_one()
    assert await answered(hand, success(a, 1), success(a, 1)) == [APPLIED, APPLIED]
    once = await left_behind(hand, id_)
    assert await answered(hand, success(a, 1), success(a, 1)) == [APPLIED, APPLIED]
    assert await left_behind(hand, id_) == once
    assert (await hand.types(id_))[:5] == [*STARTED, *STEP_DONE]
    assert len(await hand.types(id_)) == 6


async def test_the_same_report_to_two_servers_at_once(hand):
    other = await hand.restarted()
    for _ in range(10):
        id_ = await hand.submit(chain(2))
        a = await hand.lease_one()
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
    for _ in range(2):
        both = await hand.lease()
        assert len(both) == 2
        assert await answered(hand, *(success(a, a.step) for a in both)) == [APPLIED, APPLIED]
    execution = await hand.engine.get(id_)
    assert (execution["status"], execution["result"]) == ("completed", {"b": "b", "d": "d"})
    counts = Counter(await hand.types(id_))
    assert (counts["action_completed"], counts["step_completed"], counts["step_enqueued"]) == (4, 4, 4)
    assert counts["execution_completed"] == 1


async def test_a_batch_of_all_kinds_is_answered_in_its_order(hand):
    ids = {name: await hand.submit(chain(2)) for name in ("plain", "cancelled", "failed", "used", "again")}
    leased = {a.execution_id: a for a in await hand.lease()}
    own: dict[str, Assignment] = {name: leased[id_] for name, id_ in ids.items()}
    await hand.engine.cancel(ids["cancelled"], actor="ann")
    failed = Report(ids["failed"], own["failed"].item_id, 1, own["failed"].token, Outcome("failed"), "s0")
    used = success(own["used"], usage=Usage(tokens=5))
    told = [
        success(own["cancelled"]),
        success(own["again"]),
        failed,
        success(own["plain"]),
        used,
        success(own["again"]),
    ]
    assert await answered(hand, *told) == [LATE, APPLIED, ("applied", "fail"), APPLIED, APPLIED, APPLIED]
    for name, kind in [
        ("plain", "step_enqueued"),
        ("cancelled", "late_result"),
        ("failed", "execution_failed"),
    ]:
        assert (await hand.types(ids[name]))[-1] == kind
    assert sorted(a.execution_id for a in await hand.lease()) == sorted(
        ids[name] for name in ("plain", "used", "again")
    )


# -- more to be told than a result, or to others


@pytest.mark.parametrize(("name", "value", "told"), [
    ("usage", Usage(cost_usd=0.5, tokens=7), {"cost_usd": 0.5, "tokens": 7}),
    ("after", 5.0, 5.0),
])  # fmt: skip
async def test_what_else_an_outcome_says_is_kept(hand, name: str, value: Any, told: Any):
    id_ = await hand.submit(chain(2))
    a = await hand.lease_one()
    more = success(a, 1, **{name: value})
    assert await finished(hand, more) == {a.item_id}
    [data] = [e["data"] for e in await hand.engine.events(id_) if e["type"] == "action_completed"]
    assert (data["result"], data[name]) == (1, told)


async def test_the_parent_hears_of_a_child_whose_last_step_is_like_any_other(hand):
    await hand.engine.store_workflow(chain(2))
    id_ = await begun(hand, calling(name="chain"))
    child = await child_of(hand, id_)
    a = await hand.lease_one()
    assert await finished(hand, success(a, 1)) == {a.item_id}, "nobody waits for what is in the middle"
    b = await hand.lease_one()
    await refused(hand, child, success(b, 2))
    assert await answered(hand, success(b, 2)) == [APPLIED]
    await hand.settle_down()
    assert (await hand.engine.get(id_))["result"] == {"call": {"s1": 2}}
    assert await hand.types(child) == CHAIN_DONE
    assert (await hand.types(id_)).count("action_completed") == 1


async def test_an_execution_that_retries_another_is_decided_step_by_step_to_its_end(hand):
    first = await hand.submit(chain(4))
    await hand.succeed(await hand.lease_one(), "kept")
    await hand.fail(await hand.lease_one(), status_code=404)
    id_ = (await hand.engine.retry(first, actor="ann", from_failed=True))["id"]
    for step in ("s1", "s2"):
        a = await hand.lease_one()
        assert a.step == step
        await refused(hand, id_, success(a, step))
        assert await answered(hand, success(a, step)) == [APPLIED]
    last = await hand.lease_one()
    assert await finished(hand, success(last, "end")) == {last.item_id}
    execution = await hand.engine.get(id_)
    assert (execution["status"], execution["result"]) == ("completed", {"s3": "end"})
    assert execution["steps"]["s0"]["result"] == "kept"
    assert Counter(await hand.types(id_))["action_completed"] == 3


async def test_a_token_that_is_told_of_three_times_is_decided_on_once(hand):
    """The first report names another item, so the lease still stands; the other two are the same."""
    id_ = await hand.submit(chain(2))
    a = await hand.lease_one()
    wrong = Report(id_, a.item_id + 100, 1, a.token, Outcome("succeeded"), a.step)
    assert await answered(hand, wrong, success(a, 1), success(a, 1)) == [LATE, APPLIED, APPLIED]
    counts = Counter(await hand.types(id_))
    assert (counts["action_completed"], counts["step_completed"], counts["step_enqueued"]) == (1, 1, 2)


async def test_a_token_with_another_execution_is_late_and_changes_nothing(hand):
    first, second = [await hand.submit(chain(2)) for _ in range(2)]
    leased = {a.execution_id: a for a in await hand.lease()}
    mine = leased[first]
    crossed = Report(second, mine.item_id, 1, mine.token, Outcome("succeeded"), mine.step)
    before = [await left_behind(hand, id_) for id_ in (first, second)]
    assert await answered(hand, crossed) == [LATE]
    assert [await left_behind(hand, id_) for id_ in (first, second)] == before
    assert await answered(hand, success(mine)) == [APPLIED]


async def test_a_release_that_is_told_twice_or_of_another_execution_is_heard_once(hand):
    first, second = [await hand.submit(chain(2)) for _ in range(2)]
    leased = {a.execution_id: a for a in await hand.lease()}
    mine = leased[first]
    back = Release(first, mine.item_id, 1, mine.token, "draining")
    await hand.engine.release([Release(second, mine.item_id, 1, mine.token, "draining")])
    assert (await hand.types(first)).count("lease_released") == 0
    await hand.engine.release([back, back])
    assert (await hand.types(first)).count("lease_released") == 1
