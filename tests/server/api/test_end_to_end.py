"""Workflows over HTTP: the real client, the real transport, a real worker, a real server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tenax.errors import Conflict, Forbidden, InvalidDefinition, NotFound, Unauthorized, UsageError
from tenax.model.execution_views import Event, Execution
from tenax.model.views import ExecutionSummary, Explanation
from tenax.model.wire import Submission
from tenax.sdk.client import Client
from tenax.sdk.outcomes import Retry
from tenax.sdk.task import task
from tenax.worker.transport import HttpTransport
from tenax.worker.worker import Worker

FLOW = """
name: greetings
input:
  name: {type: string, required: true}
defaults: {retry: {max_attempts: 3, initial_delay: 10ms, jitter: 0}}
workflow:
  - step: greet
    type: python
    task: server_tests.greet
    args: {name: "{{ input.name }}"}
  - step: shout
    type: python
    task: server_tests.shout
    args: {text: "{{ steps.greet.result }}"}
    needs: [greet]
"""
WAITING = """
name: waits
workflow:
  - step: fails
    type: python
    task: server_tests.fails
    retry: {max_attempts: 2, initial_delay: 1h, jitter: 0}
"""
STORED = "name: stored\nworkflow: [{step: only, type: python, task: server_tests.nothing}]\n"


@task(name="server_tests.greet")
async def greet(name: str) -> str:
    from tenax.sdk.context import context

    if context().attempt == 1:
        raise ConnectionError("not yet")
    return f"hello {name}"


@task(name="server_tests.shout")
def shout(text: str) -> str:
    return text.upper()


@task(name="server_tests.fails")
async def fails() -> None:
    raise Retry("always")


@contextlib.asynccontextmanager
async def working(url: str, token: str | None = None) -> AsyncIterator[None]:
    transport, stop = HttpTransport(url, token), asyncio.Event()
    running = asyncio.create_task(Worker(transport, name="w1", slots=4).run(stop))
    try:
        yield
    finally:
        stop.set()
        await running
        await transport.close()


def against(kind: Any, value: Any) -> None:
    """The API's description does not lie about its answers: no key too many, none missing."""
    assert msgspec.to_builtins(msgspec.convert(value, kind)) == value


async def until_waiting(client: Client, id_: int) -> None:
    cursor = None
    while True:
        news = await client.news(id_, cursor=cursor, wait=20)
        if any(event["type"] == "step_retry" for event in news["events"]):
            return
        cursor = news["cursor"]


def test_a_workflow_fails_retries_and_completes_over_http(server) -> None:
    async def go() -> None:
        async with Client(server.url) as client, working(server.url), asyncio.timeout(30):
            submitted = await client.submit(Submission(source=FLOW, input={"name": "ada"}, key="k1"))
            assert submitted.created
            execution = await client.wait(submitted.id)
            assert execution["status"] == "completed"
            assert execution["result"] == {"shout": "HELLO ADA"}
            assert [a["outcome"] for a in execution["steps"]["greet"]["attempts"]] == ["failed", "succeeded"]
            events = await client.events(submitted.id)
            assert [(e["type"], e["attempt"]) for e in events if e["step"] == "greet"] == [
                ("step_enqueued", None),
                ("action_started", 1),
                ("action_error", 1),
                ("step_retry", 1),
                ("action_started", 2),
                ("action_completed", 2),
                ("step_completed", None),
            ]
            assert await client.events(submitted.id, after=events[-2]["seq"]) == events[-1:]
            [explanation] = await client.explain(submitted.id, step="greet", attempt=1)
            assert explanation["verdict"] == "retry"
            against(Execution, execution)
            against(list[Event], list(events))
            against(list[Explanation], [explanation])
            against(list[ExecutionSummary], await client.list())

    asyncio.run(go())


def test_the_same_key_twice_is_the_same_execution(server) -> None:
    async def go() -> None:
        async with Client(server.url) as client:
            first = await client.submit(Submission(source=STORED, key="same"))
            again = await client.submit(Submission(workflow="stored", key="same"))
            assert (again.id, first.created, again.created) == (first.id, True, False)

    asyncio.run(go())


def test_a_batch_is_submitted_whole_or_not_at_all(server) -> None:
    async def go() -> None:
        async with Client(server.url) as client:
            many = await client.submit_many([Submission(source=STORED, key=str(n % 7)) for n in range(10)])
            assert [one.created for one in many] == [True] * 7 + [False] * 3
            assert many[7].id == many[0].id
            with pytest.raises(NotFound, match="no workflow named 'unknown'"):
                await client.submit_many([Submission(workflow="stored"), Submission(workflow="unknown")])
            assert len(await client.list()) == 7

    asyncio.run(go())


def test_a_waiting_retry_is_run_now_cancelled_and_run_anew(server) -> None:
    async def go() -> None:
        async with Client(server.url) as client, working(server.url), asyncio.timeout(30):
            first = await client.submit(Submission(source=WAITING))
            await until_waiting(client, first.id)
            with pytest.raises(Conflict, match="only a finished one"):
                await client.retry(first.id, new=True)
            assert (await client.retry(first.id, reason="impatient"))["steps"] == ["fails"]
            execution = await client.wait(first.id)
            assert execution["status"] == "failed"
            action = next(e for e in await client.events(first.id) if e["type"] == "operator_action")
            assert action["data"] == {
                "action": "retry_now",
                "actor": "anonymous@loopback",
                "reason": "impatient",
            }

            again = await client.retry(first.id, new=True)
            assert (again["created"], again["retry_of"]) == (True, first.id)
            await until_waiting(client, again["id"])
            assert await client.cancel(again["id"]) == {
                "id": again["id"],
                "status": "cancelled",
                "changed": True,
            }
            assert (await client.cancel(again["id"]))["changed"] is False
            with pytest.raises(Conflict, match="is failed"):
                await client.cancel(first.id)

    asyncio.run(go())


def test_lists_are_filtered(server) -> None:
    async def go() -> None:
        async with Client(server.url) as client:
            ids = [(await client.submit(Submission(source=STORED))).id for _ in range(3)]
            other = (await client.submit(Submission(source=WAITING))).id
            await client.cancel(ids[0])

            async def found(**filters: Any) -> list[int]:
                return [row["id"] for row in await client.list(**filters)]

            assert await found() == [other, *reversed(ids)]
            assert await found(workflow="stored") == ids[::-1]
            assert await found(status="cancelled") == [ids[0]]
            assert await found(status="cancelled,running", limit=2) == [other, ids[2]]
            assert await found(before=ids[1]) == [ids[0]]
            assert len(await found(since="1h")) == 4
            assert len(await found(since="2020-01-31T12:00:00+01:00")) == 4
            assert await found(since="2100-01-01T00:00:00Z") == []
            with pytest.raises(UsageError, match="no status 'runing'; did you mean 'running'"):
                await found(status="runing")
            with pytest.raises(UsageError, match="neither a time nor a duration"):
                await found(since="yesterday")

    asyncio.run(go())


def test_a_wrong_definition_comes_back_with_all_its_findings(server) -> None:
    async def go() -> None:
        async with Client(server.url) as client:
            source = "name: x\nworkflow:\n  - {step: a, type: python, task: t, tymeout: 3}\n  - {step: b, type: nope}\n"
            with pytest.raises(InvalidDefinition) as raised:
                await client.submit(Submission(source=source, filename="x.yaml"))
            assert {finding.line for finding in raised.value.findings} == {3, 4}
            assert all(finding.file == "x.yaml" for finding in raised.value.findings)

    asyncio.run(go())


def test_a_worker_with_a_token_works_and_without_one_is_refused(server) -> None:
    worker, operator = server.token("worker"), server.token("operator")

    async def refused(token: str | None) -> None:
        transport = HttpTransport(server.url, token)
        await Worker(transport, name="w2").run(asyncio.Event())

    async def go() -> None:
        async with Client(server.url, operator) as client, asyncio.timeout(30):
            submitted = await client.submit(Submission(source=FLOW, input={"name": "ada"}))
            async with working(server.url, worker):
                assert (await client.wait(submitted.id))["status"] == "completed"
            with pytest.raises(Unauthorized, match="requires a token"):
                await refused(None)
            with pytest.raises(Forbidden, match="has the role operator"):
                await refused(operator)

    asyncio.run(go())
