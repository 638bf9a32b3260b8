"""Parts of steps: their definitions, and items of fan-outs with their attempts."""

from __future__ import annotations

import json

import pytest
from support.fan_out_workflows import by_item, fan, give_up

from tenax.errors import NotFound
from tenax.model.execution_views import Work


async def test_an_item_has_its_own_attempts_and_no_others(hand):
    id_ = await hand.submit(fan(list(range(12)), parallelism=12, retry={"max_attempts": 3, "jitter": 0}))
    leased = by_item(await hand.lease(slots=20))
    await hand.fail(leased[1])
    await hand.fail(leased[10])
    await hand.succeed(leased[0], {"rows": 3})
    works = await hand.engine.item_works(id_, "each", [1, 0])
    assert list(works) == [0, 1]
    assert (works[0].status, works[0].result, works[0].max_attempts) == ("succeeded", {"rows": 3}, 3)
    [attempt] = works[1].attempts
    assert (works[1].status, attempt.outcome, attempt.verdict, attempt.rule) == (
        "retrying",
        "failed",
        "retry",
        "retry",
    )
    assert attempt.failure["reason"] == "http_503"


async def test_an_item_is_the_same_as_in_a_fold_of_all_events(hand):
    from tenax.model.state.execution import fold

    id_ = await hand.submit(
        fan([1, 2, 3], parallelism=3, tolerate="100%", retry={"max_attempts": 2, "jitter": 0})
    )
    leased = by_item(await hand.lease())
    await give_up(hand, leased[0])
    await hand.fail(leased[2])
    await hand.pass_time(10)
    [again] = await hand.lease()
    await hand.succeed(again)
    folded = fold(await hand.engine.events(id_)).steps["each"].items
    works = await hand.engine.item_works(id_, "each", [0, 1, 2])
    expected = {
        number: Work(**{**item.shown(), "max_attempts": item.max_attempts or 2})
        for number, item in sorted(folded.items())
    }
    assert works == expected


async def test_items_that_have_not_begun_are_left_out(hand):
    id_ = await hand.submit(fan([1, 2, 3], parallelism=1))
    await hand.lease()
    assert list(await hand.engine.item_works(id_, "each", [0, 1, 2, 99])) == [0]


async def test_items_of_a_step_with_the_same_numbers_are_kept_apart(hand):
    both = json.loads(fan(["a"], parallelism=1))
    both["workflow"].append({**both["workflow"][0], "step": "other"})
    id_ = await hand.submit(json.dumps(both))
    leased = {a.step: a for a in await hand.lease()}
    await hand.succeed(leased["each"], "each")
    await hand.succeed(leased["other"], "other")
    assert (await hand.engine.item_works(id_, "other", [0]))[0].result == "other"


async def test_the_definition_of_a_step_has_its_resolved_policy(hand):
    id_ = await hand.submit(
        "name: x\ndefaults: {retry: {max_attempts: 7}}\n"
        "workflow: [{step: a, type: python, task: t, queue: slow, retry: {initial_delay: 4s}}]"
    )
    found = await hand.engine.step_definition(id_, "a")
    assert (found.step.queue, found.step.spec["task"]) == ("slow", "t")
    assert (found.policy.max_attempts, found.policy.initial_delay) == (7, 4.0)


async def test_unknown_steps_and_executions_are_named(hand):
    id_ = await hand.submit()
    with pytest.raises(NotFound, match="no step 'onyl'; did you mean `only`"):
        await hand.engine.step_definition(id_, "onyl")
    with pytest.raises(NotFound, match="no execution 999"):
        await hand.engine.item_works(999, "only", [0])


async def test_a_diagnosis_of_a_view_is_that_of_the_execution(hand):
    id_, attempt = await hand.start()
    await hand.fail(attempt)
    view = await hand.engine.get(id_)
    assert await hand.engine.diagnose_view(view, step="only") == await hand.engine.diagnose(id_, step="only")


async def test_a_completed_fan_out_is_diagnosed_by_its_items(hand):
    id_ = await hand.submit(fan([1, 2], parallelism=2, tolerate="100%"))
    leased = by_item(await hand.lease())
    await give_up(hand, leased[0])
    await hand.succeed(leased[1])
    found = await hand.engine.diagnose(id_, step="each")
    assert found.sentence == "Step each completed: 1 of 2 items succeeded."


async def test_a_failure_is_explained_however_long_ago_it_was(hand):
    both = json.loads(fan(list(range(300)), parallelism=300))
    first = {"step": "first", "type": "python", "task": "t", "on_failure": "continue", "retry": False}
    both["workflow"] = [first, {**both["workflow"][0], "needs": ["first"]}]
    id_ = await hand.submit(json.dumps(both))
    await give_up(hand, await hand.lease_one())
    soon = await hand.engine.diagnose(id_, step="first")
    for attempt in await hand.lease(slots=300):
        await hand.succeed(attempt)
    assert (await hand.engine.event_page(id_, limit=500)).older is not None
    assert (await hand.engine.diagnose(id_, step="first")).sentence == soon.sentence
    assert "It is not retried" in soon.sentence or "is final" in soon.sentence
