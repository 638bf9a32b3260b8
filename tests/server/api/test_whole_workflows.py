"""Signals, approvals, pauses, items, children and stored workflows over HTTP, through the real client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from tenax.errors import Conflict, InvalidDefinition, NotFound
from tenax.model.execution_views import Execution
from tenax.model.views import ApprovalAnswer, ItemInfo, SignalAnswer, StoredWorkflow, Tree, WorkflowInfo
from tenax.model.wire import Submission
from tenax.sdk.client import Client
from tenax.server.schema.responses import PauseAnswer

WAITS = """
name: waits
workflow:
  - {step: paid, type: wait, signal: payment}
  - {step: allowed, type: wait, needs: [paid]}
"""
FAN_OUT = """
name: many
workflow:
  - step: each
    type: python
    task: t
    args: {n: "{{ item }}"}
    for_each: [10, 20, 30]
    parallelism: 2
"""
CHILD = "name: child\nworkflow: [{step: only, type: wait}]\n"
BY_NAME = "name: parent\nworkflow: [{step: calls, type: workflow, workflow: child}]\n"
BY_FILE = "name: parent\nworkflow: [{step: calls, type: workflow, file: sub/child.yaml}]\n"

Scene = Callable[[Client], Awaitable[None]]


def play(server: Any, scene: Scene) -> None:
    async def go() -> None:
        async with Client(server.url) as client, asyncio.timeout(60):
            await scene(client)

    asyncio.run(go())


def against(kind: Any, value: Any) -> Any:
    """The API's description does not lie about its answers: no key too many, none missing."""
    assert msgspec.to_builtins(msgspec.convert(value, kind)) == value
    return value


async def until(client: Client, id_: int, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The execution, once it is as wanted."""
    cursor = None
    while True:
        execution = await client.get(id_)
        if wanted(execution):
            return execution
        cursor = (await client.news(id_, cursor=cursor, wait=20))["cursor"]


def waiting_in(step: str) -> Callable[[dict[str, Any]], bool]:
    return lambda execution: execution["steps"][step]["status"] == "running"


def test_a_signal_and_an_approval_let_an_execution_go_on(server) -> None:
    async def scene(client: Client) -> None:
        id_ = (await client.submit(Submission(source=WAITS))).id
        await until(client, id_, waiting_in("paid"))
        first = against(SignalAnswer, await client.signal(id_, "payment", data={"sum": 3}, key="p1"))
        assert (first["delivered_to"], first["created"]) == ({"step": "paid", "item": None}, True)
        again = against(SignalAnswer, await client.signal(id_, "payment", data={"sum": 3}, key="p1"))
        assert again["created"] is False
        await until(client, id_, waiting_in("allowed"))
        approval = against(ApprovalAnswer, await client.approve(id_, "allowed", reason="looks right"))
        assert approval == {"id": id_, "step": "allowed", "item": None, "approved": True}
        execution = against(Execution, await client.wait(id_))
        assert execution["status"] == "completed"
        assert execution["steps"]["paid"]["result"] == {"sum": 3}

    play(server, scene)


def test_a_signal_that_nothing_waits_for_yet_is_kept(server) -> None:
    late = "name: late\nworkflow:\n  - {step: first, type: wait}\n  - {step: paid, type: wait, signal: payment, needs: [first]}\n"

    async def scene(client: Client) -> None:
        id_ = (await client.submit(Submission(source=late))).id
        kept = against(SignalAnswer, await client.signal(id_, "payment", data=5))
        assert (kept["delivered_to"], kept["created"]) == (None, True)
        await until(client, id_, waiting_in("first"))
        await client.approve(id_, "first")
        assert (await client.wait(id_))["steps"]["paid"]["result"] == 5

    play(server, scene)


def test_a_rejection_fails_the_step(server) -> None:
    async def scene(client: Client) -> None:
        id_ = (await client.submit(Submission(source=CHILD))).id
        await until(client, id_, waiting_in("only"))
        against(ApprovalAnswer, await client.reject(id_, "only", reason="not today"))
        execution = await client.wait(id_)
        assert (execution["status"], execution["failure"]["reason"]) == ("failed", "rejected")
        with pytest.raises((Conflict, NotFound)):
            await client.approve(id_, "only")
        with pytest.raises(NotFound):
            await client.approve(id_, "nowhere")

    play(server, scene)


def test_pause_and_resume(server) -> None:
    async def scene(client: Client) -> None:
        id_ = (await client.submit(Submission(source=CHILD))).id
        paused = against(PauseAnswer, await client.pause(id_, reason="a storm"))
        assert paused == {"id": id_, "status": "paused", "changed": True}
        assert (await client.pause(id_))["changed"] is False
        assert (await client.get(id_))["status"] == "paused"
        resumed = against(PauseAnswer, await client.resume(id_))
        assert resumed == {"id": id_, "status": "running", "changed": True}
        assert (await client.resume(id_))["changed"] is False
        said = [e["data"] for e in await client.events(id_) if e["type"] == "operator_action"]
        assert said[0] == {"action": "pause", "actor": "anonymous@loopback", "reason": "a storm"}
        await client.cancel(id_)
        with pytest.raises(Conflict):
            await client.pause(id_)

    play(server, scene)


def test_the_items_of_a_fan_out_are_listed_in_their_order(server) -> None:
    async def scene(client: Client) -> None:
        id_ = (await client.submit(Submission(source=FAN_OUT))).id
        found = against(list[ItemInfo], await client.items(id_, "each"))
        assert [item["item"] for item in found] == [0, 1, 2]
        assert [item["item"] for item in await client.items(id_, "each", after=0, limit=1)] == [1]
        assert await client.items(id_, "each", status="succeeded,failed") == []
        waiting = await client.items(id_, "each", status="queued,waiting")
        assert [item["item"] for item in waiting] == [0, 1, 2]
        against(Execution, await client.get(id_))
        with pytest.raises(NotFound):
            await client.items(id_, "nowhere")

    play(server, scene)


@pytest.mark.parametrize(
    "submission",
    [
        pytest.param(Submission(source=BY_NAME), id="by name"),
        pytest.param(Submission(source=BY_FILE, files={"sub/child.yaml": CHILD}), id="by file"),
    ],
)
def test_children_are_shown_as_a_tree(server, submission: Submission) -> None:
    async def scene(client: Client) -> None:
        against(StoredWorkflow, await client.store_workflow(CHILD))
        id_ = (await client.submit(submission)).id
        parent = await until(client, id_, lambda e: bool(e["steps"]["calls"]["children"]))
        tree = against(Tree, await client.tree(id_))
        [child] = tree["children"]
        assert (tree["id"], child["workflow"], child["step"]) == (id_, "child", "calls")
        assert parent["steps"]["calls"]["children"][0]["id"] == child["id"]
        execution = against(Execution, await client.get(child["id"]))
        assert execution["parent"] == {"execution_id": id_, "step": "calls", "item": None, "attempt": 1}
        await until(client, child["id"], waiting_in("only"))
        await client.approve(child["id"], "only")
        assert (await client.wait(id_))["status"] == "completed"

    play(server, scene)


def test_workflows_are_stored_by_their_content(server) -> None:
    async def scene(client: Client) -> None:
        first = against(StoredWorkflow, await client.store_workflow(CHILD, filename="child.yaml"))
        again = await client.store_workflow(CHILD)
        assert (first["created"], again["created"], again["hash"]) == (True, False, first["hash"])
        other = await client.store_workflow(CHILD.replace("only", "other"))
        assert (other["created"], other["hash"] != first["hash"]) == (True, True)
        await client.store_workflow(WAITS)
        listed = against(list[WorkflowInfo], await client.workflows())
        assert {row["name"] for row in listed} == {"child", "waits"}
        assert {row["hash"] for row in await client.workflows("child")} == {first["hash"], other["hash"]}
        with pytest.raises(InvalidDefinition):
            await client.store_workflow("name: x\nworkflow: [{step: a, type: nope}]\n")

    play(server, scene)
