"""Tests which definition a child is started with, and with which inputs."""

from __future__ import annotations

import asyncio
import re

import pytest
from support.child_workflows import LEAF, MIDDLE, TOP, WORK, begun, calling, children_of, do

from tenax.errors import InvalidInput, NotFound
from tenax.model.wire import Submission


async def test_names_are_resolved_at_submit_and_kept(hand):
    newer = LEAF.replace("steps.do.result }}", "steps.do.result }} of the newer")
    await hand.engine.store_workflow(LEAF)
    id_ = await hand.submit(calling())
    assert (await hand.engine.store_workflow(newer)).created
    await hand.settle_down()
    await do(hand, "x")
    assert (await hand.get(id_))["result"] == {"call": {"got": "x"}}
    id_ = await begun(hand, calling())
    await do(hand, "x")
    assert (await hand.get(id_))["result"] == {"call": {"got": "x of the newer"}}


async def test_a_version_is_asked_for_by_its_label(hand):
    for version in ("1", "2"):
        told = await hand.engine.store_workflow(
            LEAF.replace("name: leaf", f"name: leaf\nversion: {version}").replace("got", f"v{version}")
        )
        assert (told.name, told.version, told.created) == ("leaf", version, True)
    for name, key in (("leaf@1", "v1"), ("leaf@2", "v2"), ("leaf", "v2")):
        id_ = await begun(hand, calling(name=name))
        await do(hand, "x")
        assert (await hand.get(id_))["result"] == {"call": {key: "x"}}
    assert [w.version for w in await hand.engine.workflows("leaf")] == ["2", "1"]
    with pytest.raises(NotFound, match="no workflow named 'leaf' with version '3'"):
        await hand.submit(calling(name="leaf@3"))


async def test_a_version_may_start_an_earlier_one_of_the_same_name(hand):
    newer = "name: leaf\nversion: 2\nworkflow: [{step: wrapped, type: workflow, workflow: leaf@1}]\n"
    await hand.engine.store_workflow(LEAF.replace("name: leaf", "name: leaf\nversion: 1"))
    await hand.engine.store_workflow(newer)
    id_ = await begun(hand, calling())
    await do(hand, "x")
    assert (await hand.get(id_))["result"] == {"call": {"wrapped": {"got": "x"}}}


async def test_definitions_that_are_named_again_and_again_are_planned_once(hand):
    """Ten files, each starting the next one twenty times: as a tree they would be more than a million million."""
    steps = "".join(f"  - {{step: s{n}, type: workflow, file: NEXT}}\n" for n in range(20))
    files = {
        f"f{n}.yaml": f"name: f{n}\nworkflow:\n{steps}".replace("NEXT", f"f{n + 1}.yaml") for n in range(9)
    } | {"f9.yaml": LEAF}
    async with asyncio.timeout(20):
        id_ = await hand.submit(files["f0.yaml"], files=files)
        assert await hand.engine.is_called_back(id_) is False
    assert len(await hand.sql("select from tenax.plan")) == 10


async def test_there_is_an_end_to_how_deep_it_goes(hand):
    again = "name: f{0}\nworkflow: [{{step: s, type: workflow, file: f{1}.yaml}}]\n"
    files = {f"f{n}.yaml": again.format(n, n + 1) for n in range(30)}
    with pytest.raises(InvalidInput, match="20 levels at most"):
        await hand.submit(files["f0.yaml"], files=files)


async def test_an_unknown_name_is_refused_at_submit(hand):
    with pytest.raises(NotFound, match="no workflow named 'leaf'") as refused:
        await hand.submit(calling())
    assert "tenax workflows" in str(refused.value.remedy)
    assert await hand.engine.list() == []


async def test_files_are_found_from_the_folder_of_the_file_that_names_them(hand):
    top = "name: top\nworkflow: [{step: outer, type: workflow, file: parts/middle.yaml}]\n"
    middle = "name: middle\nworkflow: [{step: inner, type: workflow, file: ../deep/leaf.yaml}]\n"
    files = {"parts/middle.yaml": middle, "deep/leaf.yaml": LEAF}
    id_ = await begun(hand, top, files=files, base_dir="/flows")
    work = await hand.lease_one()
    assert (work.workflow, work.base_dir and re.sub(r"[^/]+/\.\./", "", work.base_dir)) == (
        "leaf",
        "/flows/deep",
    )
    await hand.succeed(work, 1)
    await hand.settle_down()
    assert (await hand.get(id_))["result"] == {"outer": {"inner": {"got": 1}}}
    with pytest.raises(InvalidInput, match=r"starts the file '\.\./deep/leaf.yaml', which was not given"):
        await hand.submit(top, files={"parts/middle.yaml": middle})


async def test_a_stored_workflow_keeps_the_files_that_it_was_stored_with(hand):
    middle = "name: middle\nworkflow: [{step: inner, type: workflow, file: parts/leaf.yaml}]\n"
    await hand.engine.store_workflow(middle, files={"parts/leaf.yaml": LEAF})
    by_step = await begun(hand, TOP)
    [by_name] = await hand.engine.submit([Submission(workflow="middle")])
    await hand.settle_down()
    await do(hand, 1)
    assert (await hand.get(by_step))["result"] == {"outer": {"inner": {"got": 1}}}
    assert (await hand.get(by_name.id))["result"] == {"inner": {"got": 1}}


async def test_a_circle_is_refused(hand):
    again = "name: {0}\nworkflow: [{{step: s, type: workflow, file: {1}.yaml}}]\n"
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


async def test_a_name_means_what_was_stored_last_and_no_submission_moves_it(hand):
    other = LEAF.replace("default: 0", "default: 7")
    first = await hand.engine.store_workflow(LEAF)
    await hand.submit(other)
    await hand.clock.advance(1)
    assert [w.hash for w in await hand.engine.workflows("leaf")] == [first.hash]
    second = await hand.engine.store_workflow(other)
    assert (first.created, second.created) == (True, True)
    await hand.clock.advance(1)
    again = await hand.engine.store_workflow(LEAF)
    assert (again.created, again.hash) == (False, first.hash), "the way back"
    assert [w.hash for w in await hand.engine.workflows("leaf")] == [first.hash, second.hash]
    await hand.lease()
    await begun(hand, calling())
    assert [a.spec["args"]["n"] for a in await hand.lease()] == [0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (", input: {m: 5}", "m: workflow `leaf` has no such input"),
        ("", "n: workflow `leaf` requires it, and it is not given"),
    ],
)
async def test_inputs_that_a_child_cannot_take_are_refused_at_submit(hand, given, said):
    await hand.engine.store_workflow(LEAF.replace("default: 0", "required: true"))
    with pytest.raises(InvalidInput, match=said):
        await hand.submit(calling(given))


@pytest.mark.parametrize(
    ("given", "reason", "said"),
    [
        ("{n: five}", "invalid_parameters", "n"),
        ("'{{ [1] }}'", "template_error", "it must give a mapping"),
        ("{n: '{{ 1 // 0 }}'}", "template_error", "0"),
    ],
)
async def test_a_child_whose_input_is_wrong_fails_the_step(hand, given, reason, said):
    await hand.engine.store_workflow(LEAF)
    id_ = await begun(hand, calling(f", input: {given}, retry: 3"))
    failure = (await hand.get(id_))["failure"]
    assert (failure["class"], failure["reason"]) == ("invalid", reason)
    assert said in failure["message"]
    assert await children_of(hand, id_) == []
