"""Tests submissions by the name of a stored workflow: planned once, and never by an outdated definition."""

from __future__ import annotations

import pytest
from support.hand import Hand
from support.statements.sent_statements import counting

from tenax.model.wire import Submission

GREETS = """
name: greets
version: 1
workflow:
  - {step: only, type: python, task: "t:hello"}
"""
PARENT = """
name: parent
workflow:
  - {step: child, type: workflow, workflow: greets}
"""
BY_FILE = """
name: by-file
workflow:
  - {step: child, type: workflow, file: child.yaml}
"""


def says(word: str, version: int = 1) -> str:
    return GREETS.replace("t:hello", f"t:{word}").replace("version: 1", f"version: {version}")


async def submit(hand: Hand, name: str, count: int = 1) -> list[int]:
    submitted = await hand.engine.submit([Submission(workflow=name)] * count)
    return [one.id for one in submitted]


async def task_of(hand: Hand, execution_id: int) -> str:
    """The task of the first step that a worker would run, of the execution or of its child."""
    await hand.settle_down()
    [leased] = [a for a in await hand.lease() if await _belongs(hand, a.execution_id, execution_id)]
    return str(leased.spec["task"])


async def _belongs(hand: Hand, execution_id: int, to: int) -> bool:
    execution = await hand.get(execution_id)
    return execution_id == to or (execution["parent"] or {}).get("execution_id") == to


async def test_a_batch_by_name_is_planned_once_and_the_next_one_not_at_all(hand):
    await hand.engine.store_workflow(GREETS)
    planned = await counting(hand, "find_named_workflow")
    assert len(await submit(hand, "greets", 20)) == 20
    await submit(hand, "greets", 20)
    assert len(planned) == 1
    checked = await counting(hand, "find_current_workflows")
    await submit(hand, "greets", 20)
    assert (len(planned), len(checked)) == (1, 1), "one statement says that it is still current"


async def test_what_another_server_stores_under_the_name_is_used_at_once(hand):
    other = await hand.restarted()
    await hand.engine.store_workflow(GREETS)
    [first] = await submit(hand, "greets")
    assert await task_of(hand, first) == "t:hello"
    await hand.clock.advance(1)
    await other.engine.store_workflow(says("bye"))
    [second] = await submit(hand, "greets")
    assert await task_of(hand, second) == "t:bye"
    await hand.clock.advance(1)
    await other.engine.store_workflow(GREETS)
    [third] = await submit(hand, "greets")
    assert await task_of(hand, third) == "t:hello", "the first definition was stored again"


async def test_a_name_with_a_version_stays_with_it(hand):
    await hand.engine.store_workflow(GREETS)
    await submit(hand, "greets@1")
    await hand.clock.advance(1)
    await hand.engine.store_workflow(says("bye", version=2))
    [old], [new] = await submit(hand, "greets@1"), await submit(hand, "greets")
    assert [(await hand.get(id_))["version"] for id_ in (old, new)] == ["1", "2"]


async def test_a_parent_by_name_follows_the_name_of_its_child(hand):
    await hand.engine.store_workflow(GREETS)
    await hand.engine.store_workflow(PARENT)
    [first] = await submit(hand, "parent")
    assert await task_of(hand, first) == "t:hello"
    await hand.clock.advance(1)
    await (await hand.restarted()).engine.store_workflow(says("bye"))
    [second] = await submit(hand, "parent")
    assert await task_of(hand, second) == "t:bye"


async def test_a_parent_by_name_keeps_the_file_that_it_was_last_planned_with(hand):
    await hand.engine.store_workflow(BY_FILE, filename="parent.yaml", files={"child.yaml": GREETS})
    [first] = await submit(hand, "by-file")
    assert await task_of(hand, first) == "t:hello"
    await hand.clock.advance(1)
    await hand.engine.store_workflow(BY_FILE, filename="parent.yaml", files={"child.yaml": says("bye")})
    [second] = await submit(hand, "by-file")
    assert await task_of(hand, second) == "t:bye"


@pytest.mark.settings(plan_memory=3 * 100_000)
async def test_the_names_in_memory_are_bounded(hand):
    await hand.engine.store_workflow(GREETS)
    await submit(hand, "greets")
    named = hand.engine.context.named_plans
    [entry] = (await named.find(["greets"])).values()
    for n in range(20):
        named.keep(f"another {n}", entry)
    assert await named.find(["greets"]) == {}, "the one that was used least lately has gone"
    assert list(await named.find(["another 19"])) == ["another 19"]
