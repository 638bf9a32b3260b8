"""Children: a step that is an execution of its own. What happens below is told above, and what is done above goes down."""

from __future__ import annotations

import asyncio
import contextlib
import re
from contextlib import AsyncExitStack
from typing import Any

import pytest
from hand import Hand

from tenax import task
from tenax.embed import local_worker
from tenax.engine.engine import Engine
from tenax.errors import Busy, Conflict, InvalidInput, NotFound, UsageError
from tenax.model.wire import Assignment, Submission
from tenax.settings import Settings
from tenax.store.connect import Database

WORK = "name: work\nworkflow: [{step: do, type: python, task: 't:t'}]\n"
LEAF = """
name: leaf
input: {n: {type: integer, default: 0}}
outputs: {got: "{{ steps.do.result }}"}
workflow:
  - {step: do, type: python, task: "t:t", args: {n: "{{ input.n }}"}, retry: {max_attempts: 2, backoff: none}}
"""
MIDDLE = "name: middle\nworkflow: [{step: inner, type: workflow, workflow: leaf}]\n"
TOP = "name: top\nworkflow: [{step: outer, type: workflow, workflow: middle}]\n"


def calling(more: str = "", name: str = "leaf") -> str:
    return f"name: parent\nworkflow: [{{step: call, type: workflow, workflow: {name}{more}}}]\n"


async def begun(hand: Hand, source: str, **more: Any) -> int:
    id_ = await hand.submit(source, **more)
    await hand.settle_down()
    return id_


async def three_levels(hand: Hand) -> list[int]:
    """An execution, its child, and the child of that, whose only step can be leased."""
    await hand.engine.store_workflow(LEAF)
    await hand.engine.store_workflow(MIDDLE)
    top = await begun(hand, TOP)
    middle = await child_of(hand, top, "outer")
    return [top, middle, await child_of(hand, middle, "inner")]


async def children_of(hand: Hand, id_: int, step: str = "call") -> list[dict[str, Any]]:
    return (await hand.engine.get(id_))["steps"][step]["children"]


async def child_of(hand: Hand, id_: int, step: str = "call") -> int:
    [child] = await children_of(hand, id_, step)
    return int(child["id"])


async def do(hand: Hand, result: Any = None) -> None:
    """What is ready is done, and what follows from that happens."""
    for assignment in await hand.lease():
        await hand.succeed(assignment, result)
    await hand.settle_down()


async def statuses(hand: Hand, ids: list[int]) -> list[str]:
    return [await hand.status(id_) for id_ in ids]


# -- up: how a child ends


def test_a_child_gives_its_result_to_the_step(play):
    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        id_ = await begun(hand, calling(", input: {n: 5}"))
        child = await child_of(hand, id_)
        below = await hand.engine.get(child)
        assert below["parent"] == {"execution_id": id_, "step": "call", "item": None, "attempt": 1}
        assert below["input"] == {"n": 5}
        assert (await hand.engine.get(id_))["steps"]["call"]["waiting"] == {"for": "child"}
        work = await hand.lease_one()
        assert (work.execution_id, work.spec["args"]) == (child, {"n": 5})
        await hand.succeed(work, "done")
        await hand.settle_down()
        assert (await hand.engine.get(id_))["result"] == {"call": {"got": "done"}}
        assert await hand.types(id_) == [
            "execution_started",
            "step_enqueued",
            "action_started",
            "action_completed",
            "step_completed",
            "execution_completed",
        ]
        started = (await hand.engine.events(id_))[2]["data"]
        assert (started["child"], started["worker"]) == (child, None)
        assert (await hand.engine.events(child))[0]["data"]["parent"]["execution_id"] == id_

    play(scene)


def test_waiting_for_a_child_uses_up_no_attempt_and_holds_no_slot(play):
    async def scene(hand: Hand):
        await hand.engine.store_workflow("name: leaf\nworkflow: [{step: s, type: wait}]\n")
        id_ = await begun(hand, calling(", retry: 3"))
        await hand.clock.advance(30 * 86400)
        await hand.settle_down()
        assert await hand.lease() == []
        step = (await hand.engine.get(id_))["steps"]["call"]
        assert (step["status"], step["attempt"], step["counted"]) == ("running", 1, 0)

    play(scene)


def test_a_failure_three_levels_down_is_told_above_with_its_class_and_history(play):
    async def scene(hand: Hand):
        top, middle, leaf = await three_levels(hand)
        for _ in range(2):
            await hand.fail(await hand.lease_one())
        await hand.settle_down()
        assert await statuses(hand, [top, middle, leaf]) == ["failed", "failed", "failed"]
        failure = (await hand.engine.get(top))["failure"]
        assert (failure["class"], failure["reason"]) == ("logical", "child_failed")
        assert (failure["step"], failure["attempts"]) == ("outer", 1)
        below = failure["child"]
        assert below["execution_id"] == middle
        assert (below["class"], below["reason"], below["step"]) == ("logical", "child_failed", "inner")
        deepest = below["child"]
        assert (deepest["execution_id"], deepest["step"], deepest["attempts"]) == (leaf, "do", 2)
        assert (deepest["class"], deepest["reason"]) == ("transient", "http_503")
        assert "503 Service Unavailable" in failure["message"]

    play(scene)


def test_retry_on_child_failed_starts_a_new_child_with_other_inputs(play):
    more = (
        ", input: {n: 1}, retry: {max_attempts: 3, initial_delay: 5s, jitter: 0,"
        " retry_on: [child_failed], vary: [{}, {input: {n: 2}}]}"
    )

    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        id_ = await begun(hand, calling(more))
        await hand.fail(await hand.lease_one(), status_code=404)
        await hand.settle_down()
        assert len(await children_of(hand, id_)) == 1, "the retry has its delay"
        await hand.clock.advance(5)
        await hand.settle_down()
        assert [(c["status"], c["attempt"]) for c in await children_of(hand, id_)] == [
            ("failed", 1),
            ("running", 2),
        ]
        again = await hand.lease_one()
        assert again.spec["args"] == {"n": 2}
        await hand.succeed(again, "better")
        await hand.settle_down()
        assert (await hand.engine.get(id_))["result"] == {"call": {"got": "better"}}
        started = [e["data"] for e in await hand.engine.events(id_) if e["type"] == "action_started"]
        assert [s.get("vary") for s in started] == [None, {"entry": 2, "override": {"input": {"n": 2}}}]
        assert len({s["child"] for s in started}) == 2

    play(scene)


def test_without_it_a_failed_child_is_not_retried(play):
    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        id_ = await begun(hand, calling(", retry: 3"))
        await hand.fail(await hand.lease_one(), status_code=404)
        await hand.settle_down()
        assert await hand.status(id_) == "failed"
        assert len(await children_of(hand, id_)) == 1

    play(scene)


def test_a_child_that_ends_at_once_is_heard(play):
    source = "name: leaf\nworkflow: [{step: do, type: python, task: 't:t', when: 'false'}]\n"
    broken = "name: leaf\ninput: {l: {default: 1}}\nworkflow: [{step: s, type: sleep, for: 1, for_each: '{{ input.l }}'}]\n"

    async def scene(hand: Hand):
        await hand.engine.store_workflow(source)
        id_ = await begun(hand, calling())
        assert (await hand.engine.get(id_))["result"] == {"call": {"do": None}}
        await hand.engine.store_workflow(broken)
        id_ = await begun(hand, calling())
        assert (await hand.engine.get(id_))["failure"]["child"]["reason"] == "template_error"

    play(scene)


def test_a_child_cancelled_by_itself_is_told_as_such_and_not_retried(play):
    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        id_ = await begun(hand, calling(", retry: {max_attempts: 3, retry_on: [child_failed]}"))
        await hand.engine.cancel(await child_of(hand, id_), actor="ann", reason="wrong day")
        await hand.settle_down()
        failure = (await hand.engine.get(id_))["failure"]
        assert (failure["class"], failure["reason"]) == ("cancelled", "child_cancelled")
        assert "wrong day" in failure["message"]
        assert len(await children_of(hand, id_)) == 1

    play(scene)


def test_a_child_that_still_runs_when_its_parent_fails_may_finish_and_is_recorded(play):
    source = """
name: parent
workflow:
  - {step: call, type: workflow, workflow: leaf}
  - {step: own, type: python, task: "t:t"}
"""

    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        id_ = await begun(hand, source)
        work = {a.step: a for a in await hand.lease()}
        await hand.fail(work["own"], status_code=404)
        await hand.settle_down()
        child = await child_of(hand, id_)
        assert await statuses(hand, [id_, child]) == ["failed", "running"]
        assert (await hand.succeed(work["do"], 1)).verdict == "complete"
        await hand.settle_down()
        assert await statuses(hand, [id_, child]) == ["failed", "completed"]
        assert (await hand.types(id_))[-2:] == ["action_completed", "step_completed"]
        assert (await hand.engine.get(id_))["failure"]["step"] == "own"

    play(scene)


def test_a_message_that_was_lost_is_sent_again_by_the_sweep(play):
    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        id_ = await begun(hand, calling())
        await hand.succeed(await hand.lease_one(), 1)
        assert len(await hand.sql("delete from tenax.inbox returning id")) == 1
        await hand.settle_down()
        assert await hand.status(id_) == "running"
        await hand.engine.sweep()
        await hand.engine.sweep()
        assert len(await hand.sql("select from tenax.inbox")) == 1, "once is enough"
        await hand.settle_down()
        assert await hand.status(id_) == "completed"

    play(scene)


def test_a_child_goes_on_under_another_server(play):
    async def scene(hand: Hand):
        ids = await three_levels(hand)
        later = await hand.restarted()
        await later.settle_down()
        assert len(await later.engine.list()) == 3
        await do(later, 1)
        assert await statuses(later, ids) == ["completed"] * 3
        assert await later.engine.recover() == []

    play(scene)


# -- who is a child of whom


def test_started_again_it_is_the_same_child(play):
    """The start is known by parent, step, item and attempt, should its transaction ever be done again."""

    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        id_ = await begun(hand, calling())
        child = await child_of(hand, id_)
        assert (await hand.engine.get(child))["key"] == f"tenax:child:{id_}:call::1"
        await hand.sql(
            "update tenax.item set state = 'queued', attempt = 0, awaiting = null where runtime = 'workflow'"
        )
        await hand.settle_down()
        assert await child_of(hand, id_) == child
        await do(hand, 1)
        assert await hand.status(id_) == "completed"

    play(scene)


def test_keys_of_the_servers_own_kind_are_refused(play):
    async def scene(hand: Hand):
        with pytest.raises(UsageError, match="cannot begin with 'tenax:'"):
            await hand.submit(key="tenax:child:1:call::1")

    play(scene)


def test_the_tree_shows_all_levels(play):
    async def scene(hand: Hand):
        ids = await three_levels(hand)
        tree = await hand.engine.tree(ids[0])
        seen = []
        while True:
            seen.append((tree["id"], tree["workflow"], tree["step"], tree["attempt"], tree["status"]))
            if not tree["children"]:
                break
            [tree] = tree["children"]
        assert seen == [
            (ids[0], "top", None, None, "running"),
            (ids[1], "middle", "outer", 1, "running"),
            (ids[2], "leaf", "inner", 1, "running"),
        ]
        with pytest.raises(NotFound):
            await hand.engine.tree(99)

    play(scene)


def test_a_fan_out_of_children_keeps_its_parallelism_and_its_order(play):
    more = ", input: {n: '{{ item }}'}, for_each: [10, 20, 30, 40, 50], parallelism: 2"

    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        id_ = await begun(hand, calling(more))
        held: list[Assignment] = []
        for done in range(5):
            held += await hand.lease()
            assert len(await children_of(hand, id_)) == min(done + 2, 5)
            last = max(held, key=lambda a: a.execution_id)
            held.remove(last)
            await hand.succeed(last, last.spec["args"]["n"] + 1)
            await hand.settle_down()
        assert (await hand.engine.get(id_))["result"] == {"call": [{"got": n} for n in (11, 21, 31, 41, 51)]}
        assert [c["item"] for c in await children_of(hand, id_)] == [0, 1, 2, 3, 4]

    play(scene)


# -- what is started


def test_names_are_resolved_at_submit_and_kept(play):
    newer = LEAF.replace("steps.do.result }}", "steps.do.result }} of the newer")

    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        id_ = await hand.submit(calling())
        assert (await hand.engine.store_workflow(newer))["created"]
        await hand.settle_down()
        await do(hand, "x")
        assert (await hand.engine.get(id_))["result"] == {"call": {"got": "x"}}
        id_ = await begun(hand, calling())
        await do(hand, "x")
        assert (await hand.engine.get(id_))["result"] == {"call": {"got": "x of the newer"}}

    play(scene)


def test_a_version_is_asked_for_by_its_label(play):
    async def scene(hand: Hand):
        for version in ("1", "2"):
            told = await hand.engine.store_workflow(
                LEAF.replace("name: leaf", f"name: leaf\nversion: {version}").replace("got", f"v{version}")
            )
            assert (told["name"], told["version"], told["created"]) == ("leaf", version, True)
        for name, key in (("leaf@1", "v1"), ("leaf@2", "v2"), ("leaf", "v2")):
            id_ = await begun(hand, calling(name=name))
            await do(hand, "x")
            assert (await hand.engine.get(id_))["result"] == {"call": {key: "x"}}
        assert [w["version"] for w in await hand.engine.workflows("leaf")] == ["2", "1"]
        with pytest.raises(NotFound, match="no workflow named 'leaf' with version '3'"):
            await hand.submit(calling(name="leaf@3"))

    play(scene)


def test_a_version_may_start_an_earlier_one_of_the_same_name(play):
    newer = "name: leaf\nversion: 2\nworkflow: [{step: wrapped, type: workflow, workflow: leaf@1}]\n"

    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF.replace("name: leaf", "name: leaf\nversion: 1"))
        await hand.engine.store_workflow(newer)
        id_ = await begun(hand, calling())
        await do(hand, "x")
        assert (await hand.engine.get(id_))["result"] == {"call": {"wrapped": {"got": "x"}}}

    play(scene)


def test_definitions_that_are_named_again_and_again_are_planned_once(play):
    """Ten files, each starting the next one twenty times: as a tree they would be more than a million million."""
    steps = "".join(f"  - {{step: s{n}, type: workflow, file: NEXT}}\n" for n in range(20))
    files = {
        f"f{n}.yaml": f"name: f{n}\nworkflow:\n{steps}".replace("NEXT", f"f{n + 1}.yaml") for n in range(9)
    } | {"f9.yaml": LEAF}

    async def scene(hand: Hand):
        async with asyncio.timeout(20):
            id_ = await hand.submit(files["f0.yaml"], files=files)
            assert await hand.engine.is_called_back(id_) is False
        assert len(await hand.sql("select from tenax.plan")) == 10

    play(scene)


def test_there_is_an_end_to_how_deep_it_goes(play):
    again = "name: f{0}\nworkflow: [{{step: s, type: workflow, file: f{1}.yaml}}]\n"
    files = {f"f{n}.yaml": again.format(n, n + 1) for n in range(30)}

    async def scene(hand: Hand):
        with pytest.raises(InvalidInput, match="20 levels at most"):
            await hand.submit(files["f0.yaml"], files=files)

    play(scene)


def test_an_unknown_name_is_refused_at_submit(play):
    async def scene(hand: Hand):
        with pytest.raises(NotFound, match="no workflow named 'leaf'") as refused:
            await hand.submit(calling())
        assert "tenax workflows" in str(refused.value.remedy)
        assert await hand.engine.list() == []

    play(scene)


def test_files_are_found_from_the_folder_of_the_file_that_names_them(play):
    top = "name: top\nworkflow: [{step: outer, type: workflow, file: parts/middle.yaml}]\n"
    middle = "name: middle\nworkflow: [{step: inner, type: workflow, file: ../deep/leaf.yaml}]\n"

    async def scene(hand: Hand):
        files = {"parts/middle.yaml": middle, "deep/leaf.yaml": LEAF}
        id_ = await begun(hand, top, files=files, base_dir="/flows")
        work = await hand.lease_one()
        assert (work.workflow, work.base_dir and re.sub(r"[^/]+/\.\./", "", work.base_dir)) == (
            "leaf",
            "/flows/deep",
        )
        await hand.succeed(work, 1)
        await hand.settle_down()
        assert (await hand.engine.get(id_))["result"] == {"outer": {"inner": {"got": 1}}}
        with pytest.raises(InvalidInput, match=r"starts the file '\.\./deep/leaf.yaml', which was not given"):
            await hand.submit(top, files={"parts/middle.yaml": middle})

    play(scene)


def test_a_stored_workflow_keeps_the_files_that_it_was_stored_with(play):
    middle = "name: middle\nworkflow: [{step: inner, type: workflow, file: parts/leaf.yaml}]\n"

    async def scene(hand: Hand):
        await hand.engine.store_workflow(middle, files={"parts/leaf.yaml": LEAF})
        by_step = await begun(hand, TOP)
        [by_name] = await hand.engine.submit([Submission(workflow="middle")])
        await hand.settle_down()
        await do(hand, 1)
        assert (await hand.engine.get(by_step))["result"] == {"outer": {"inner": {"got": 1}}}
        assert (await hand.engine.get(by_name.id))["result"] == {"inner": {"got": 1}}

    play(scene)


def test_a_circle_is_refused(play):
    again = "name: {0}\nworkflow: [{{step: s, type: workflow, file: {1}.yaml}}]\n"

    async def scene(hand: Hand):
        files = {"a.yaml": again.format("a", "b"), "b.yaml": again.format("b", "a")}
        with pytest.raises(InvalidInput, match=r"in a circle: file top.yaml -> file a.yaml -> file b.yaml"):
            await hand.submit(again.format("top", "a"), filename="top.yaml", files=files)
        with pytest.raises(InvalidInput, match="in a circle"):
            await hand.submit(
                again.format("a", "a"), filename="a.yaml", files={"a.yaml": "name: a\n" + files["a.yaml"][8:]}
            )
        await hand.engine.store_workflow(WORK.replace("name: work", "name: leaf"))
        await hand.engine.store_workflow(MIDDLE)
        await hand.engine.store_workflow(
            MIDDLE.replace("name: middle", "name: leaf").replace("workflow: leaf", "workflow: middle")
        )
        with pytest.raises(InvalidInput, match=r"in a circle: .*workflow middle -> workflow leaf"):
            await hand.submit(TOP)

    play(scene)


@pytest.mark.parametrize(
    ("given", "reason", "said"),
    [
        ("{n: five}", "invalid_parameters", "n"),
        ("{m: 5}", "invalid_parameters", "m"),
        ("'{{ [1] }}'", "template_error", "it must give a mapping"),
        ("{n: '{{ 1 // 0 }}'}", "template_error", "0"),
    ],
)
def test_a_child_whose_input_is_wrong_fails_the_step(play, given, reason, said):
    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        id_ = await begun(hand, calling(f", input: {given}, retry: 3"))
        failure = (await hand.engine.get(id_))["failure"]
        assert (failure["class"], failure["reason"]) == ("invalid", reason)
        assert said in failure["message"]
        assert await children_of(hand, id_) == []

    play(scene)


# -- down: what is done to a parent


def test_cancel_ends_everything_three_levels_down(play):
    async def scene(hand: Hand):
        ids = await three_levels(hand)
        other = await three_levels(hand)
        work = {a.execution_id: a for a in await hand.lease(slots=1)}
        assert list(work) == [ids[2]]
        assert await hand.engine.cancel(ids[0], actor="ann", reason="wrong day") is True
        assert await statuses(hand, ids) == ["cancelled"] * 3
        [held] = work.values()
        assert (await hand.beat(held)).revoked, "the worker hears of it"
        assert (await hand.succeed(held)).status == "late"
        await hand.clock.advance(3600)
        await hand.settle_down()
        await hand.engine.sweep()
        await hand.settle_down()
        assert {a.execution_id for a in await hand.lease()} == {other[2]}, "nothing of it starts any more"
        assert await statuses(hand, ids) == ["cancelled"] * 3
        assert await hand.sql("select from tenax.item where execution_id = any($1)", ids) == []
        who = [
            e["data"] for id_ in ids for e in await hand.engine.events(id_) if e["type"] == "operator_action"
        ]
        assert [w.get("because_of") for w in who] == [None, ids[0], ids[0]]

    play(scene)


def test_cancel_in_the_middle_ends_what_is_below_and_fails_what_is_above(play):
    async def scene(hand: Hand):
        top, middle, leaf = await three_levels(hand)
        await hand.engine.cancel(middle, actor="ann")
        await hand.settle_down()
        assert await statuses(hand, [top, middle, leaf]) == ["failed", "cancelled", "cancelled"]
        assert (await hand.engine.get(top))["failure"]["reason"] == "child_cancelled"

    play(scene)


def test_a_child_between_two_attempts_is_not_started_after_a_cancel(play):
    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        more = ", retry: {max_attempts: 3, initial_delay: 5s, jitter: 0, retry_on: [child_failed]}"
        id_ = await begun(hand, calling(more))
        await hand.fail(await hand.lease_one(), status_code=404)
        await hand.settle_down()
        await hand.engine.cancel(id_, actor="ann")
        await hand.clock.advance(60)
        await hand.settle_down()
        assert len(await children_of(hand, id_)) == 1

    play(scene)


def test_pause_and_resume_go_down(play):
    async def scene(hand: Hand):
        ids = await three_levels(hand)
        assert await hand.engine.pause(ids[0], actor="ann") is True
        assert await hand.engine.pause(ids[0], actor="ann") is False
        assert await statuses(hand, ids) == ["paused"] * 3
        await hand.settle_down()
        assert await hand.lease() == []
        assert await hand.engine.resume(ids[0], actor="ann") is True
        assert await hand.engine.resume(ids[0], actor="ann") is False
        assert await statuses(hand, ids) == ["running"] * 3
        await do(hand, 1)
        assert await statuses(hand, ids) == ["completed"] * 3
        for act in (hand.engine.pause, hand.engine.resume, hand.engine.cancel):
            with pytest.raises(Conflict, match="is completed"):
                await act(ids[0], actor="ann")

    play(scene)


def test_a_paused_parent_starts_no_child_and_hears_of_the_one_that_runs(play):
    source = """
name: parent
workflow:
  - {step: call, type: workflow, workflow: leaf}
  - {step: then, type: workflow, workflow: leaf, needs: [call]}
"""

    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        id_ = await begun(hand, source)
        work = await hand.lease_one()
        await hand.engine.pause(id_, actor="ann")
        await hand.succeed(work, 1)
        await hand.settle_down()
        steps = (await hand.engine.get(id_))["steps"]
        assert [steps[name]["status"] for name in ("call", "then")] == ["completed", "queued"]
        assert await children_of(hand, id_, "then") == []
        await hand.engine.resume(id_, actor="ann")
        await hand.settle_down()
        assert len(await children_of(hand, id_, "then")) == 1

    play(scene)


def test_the_timeout_of_the_step_cancels_the_child_and_a_retry_starts_another(play):
    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        more = ", timeout: 1m, retry: {max_attempts: 2, initial_delay: 1s, jitter: 0}"
        id_ = await begun(hand, calling(more))
        work = await hand.lease_one()
        for _ in range(6):
            await hand.pass_time(10)
            await hand.beat(work)
        await hand.settle_down()
        first = await child_of(hand, id_)
        assert await hand.status(first) == "cancelled"
        assert (await hand.succeed(work)).status == "late"
        [error] = [e["data"]["failure"] for e in await hand.engine.events(id_) if e["type"] == "action_error"]
        assert (error["class"], error["reason"]) == ("timeout", "attempt_timeout")
        await hand.pass_time(1)
        await hand.settle_down()
        await do(hand, 1)
        assert await hand.status(id_) == "completed"
        assert [c["status"] for c in await children_of(hand, id_)] == ["cancelled", "completed"]

    play(scene)


# -- many at once


FAMILY = """
name: parent
workflow:
  - step: call
    type: workflow
    workflow: middle
    for_each: [1, 2, 3, 4, 5, 6]
    parallelism: 6
    retry: {max_attempts: unlimited, backoff: none, retry_on: [child_failed]}
"""


async def _rival(url: str, home: Any, stack: AsyncExitStack) -> Engine:
    settings = Settings(home=home, database_url=url)
    database = await stack.enter_async_context(Database.open(settings))
    other = Engine(database, settings, roll=lambda: 0.5)
    await other.prepare()
    return other


def _size(tree: dict[str, Any]) -> int:
    return 1 + sum(_size(child) for child in tree["children"])


async def _work_until_cancelled(hand: Hand, ids: list[int]) -> None:
    """Starts children, leases and reports; every child fails, so that new ones are started all the time."""
    engine = hand.engine
    while any(one != "cancelled" for one in await statuses(hand, ids)):
        loops = [engine.server_steps.start(), engine.postman.deliver(), engine.reap()]
        for found in await asyncio.gather(*loops, return_exceptions=True):
            assert not isinstance(found, BaseException) or isinstance(found, Busy), found
        for assignment in await hand.lease(slots=5):
            with contextlib.suppress(Busy):
                await hand.fail(assignment, status_code=404)


def test_cancels_among_starts_and_reports_of_several_servers_leave_everything_cancelled(
    play, any_database_url, tmp_path
):
    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF.replace("max_attempts: 2", "max_attempts: 1"))
        await hand.engine.store_workflow(MIDDLE)
        ids = [await hand.submit(FAMILY) for _ in range(4)]
        async with AsyncExitStack() as stack:
            rivals = [await _rival(any_database_url, tmp_path, stack) for _ in range(2)]
            hands = [hand, *(Hand(rival, hand.clock) for rival in rivals)]

            async def cancel(id_: int, grown: int) -> None:
                while _size(await hand.engine.tree(id_)) < grown:
                    pass
                await asyncio.gather(*(h.engine.cancel(id_, actor="ann") for h in hands))

            async with asyncio.timeout(60):
                await asyncio.gather(
                    *(_work_until_cancelled(h, ids) for h in hands),
                    *(cancel(id_, 5 * n) for n, id_ in enumerate(ids, 1)),
                )
        await hand.settle_down()
        states = await hand.sql("select state, count(*) as n from tenax.execution group by 1")
        assert {row["state"] for row in states} <= {"cancelled", "completed", "failed"}
        assert await hand.sql("select from tenax.item") == []
        assert await hand.lease() == []

    play(scene)


@task(name="children_fine")
async def fine() -> int:
    return 1


BY_ITSELF = """
name: top
workflow:
  - step: call
    type: workflow
    workflow: middle
    for_each: [1, 2, 3]
    compensate: {type: python, task: children_fine}
  - {step: pause, type: sleep, for: 10ms, needs: [call]}
  - {step: told, type: wait, signal: go, needs: [pause]}
  - {step: doomed, type: sleep, for: "{{ steps.call.result }}", needs: [told]}
"""


def test_all_of_it_goes_on_by_itself_where_servers_run(any_database_url, tmp_path):
    """Each is woken by what it waits for: no sweep comes in this time."""
    leaf = "name: leaf\nworkflow: [{step: do, type: python, task: children_fine}]\n"

    async def running(stack: AsyncExitStack) -> Engine:
        settings = Settings(home=tmp_path, database_url=any_database_url, sweep=3600)
        database = await stack.enter_async_context(Database.open(settings))
        return await stack.enter_async_context(Engine(database, settings).running())

    async def scene() -> None:
        async with AsyncExitStack() as stack, asyncio.timeout(60):
            asked, works = await running(stack), await running(stack)
            await stack.enter_async_context(local_worker(works, name="far"))
            await asked.store_workflow(leaf)
            await asked.store_workflow(MIDDLE)
            [submitted] = await asked.submit([Submission(source=BY_ITSELF)])
            await works.signal(submitted.id, "go", actor="ann")
            cursor = None
            while (execution := await asked.get(submitted.id))["status"] == "running":
                cursor = (await asked.news(submitted.id, cursor=cursor, wait=20))["cursor"]
            assert (execution["status"], execution["compensation"]) == ("failed", "completed")
            assert execution["failure"]["step"] == "doomed"
            assert execution["steps"]["call"]["compensation"]["items"]["completed"] == 3

    asyncio.run(scene())


def test_many_submissions_share_one_stored_child(play):
    async def scene(hand: Hand):
        await hand.engine.store_workflow(LEAF)
        submissions = [Submission(source=calling(), key=f"k{n}") for n in range(50)]
        ids = [s.id for s in await hand.engine.submit(submissions)]
        assert [s.id for s in await hand.engine.submit(submissions)] == ids
        await hand.settle_down()
        for _ in range(5):
            await do(hand, 1)
        assert set(await statuses(hand, ids)) == {"completed"}
        assert len(await hand.sql("select from tenax.plan")) == 2

    play(scene)
