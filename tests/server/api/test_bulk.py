"""Filters, saved filters, checks of batches and bulk jobs over HTTP: the real client and a real server."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from support.waiting import eventually

from tenax.errors import Conflict, Forbidden, NotFound, UsageError
from tenax.model.filters.views import BulkJob, SavedFilter
from tenax.model.views import SubmissionFault
from tenax.model.wire import Submission
from tenax.sdk.client import Client
from tenax.sdk.sync_client import SyncClient

WAITS = "name: waits\ninput: {n: {type: integer, default: 0}}\nworkflow:\n  - {step: paid, type: wait, signal: payment}\n"


def against(kind: Any, value: Any) -> None:
    assert msgspec.to_builtins(msgspec.convert(value, kind)) == value


def test_lists_take_a_filter(server) -> None:
    async def go() -> None:
        async with Client(server.url) as client:
            ids = [(await client.submit(Submission(source=WAITS, input={"n": n}))).id for n in range(3)]
            found = await client.list(filter="workflow=wai* input.n=1,2 since=1h", limit=1)
            assert [row["id"] for row in found] == [ids[2]]
            assert [row["id"] for row in await client.list(filter="input.n!=0", before=ids[2])] == [ids[1]]
            assert await client.list(filter="status=running", status="failed") == []
            with pytest.raises(UsageError, match="filter, column 1: there is no field `stat`"):
                await client.list(filter="stat=running")
            with pytest.raises(UsageError, match="at most 4000"):
                await client.list(filter="x" * 4001)

    asyncio.run(go())


def test_saved_filters(server) -> None:
    async def go() -> None:
        async with Client(server.url) as client:
            assert await client.filters() == []
            assert (await client.save_filter("a.b", "status=running"))["created"] is True
            assert (await client.save_filter("a.b", "status=failed"))["created"] is False
            [saved] = await client.filters()
            against(SavedFilter, saved)
            assert (saved["name"], saved["filter"], saved["actor"]) == (
                "a.b",
                "status=failed",
                "anonymous@loopback",
            )
            assert await client.list(filter="@a.b") == []
            with pytest.raises(UsageError, match="cannot be the name of a filter"):
                await client.save_filter("a b", "status=failed")
            with pytest.raises(UsageError, match="there is no field"):
                await client.save_filter("a", "x=1")
            assert await client.remove_filter("a.b") == {"name": "a.b", "removed": True}
            with pytest.raises(NotFound):
                await client.remove_filter("a.b")

    asyncio.run(go())


def test_a_bulk_job_over_http(server) -> None:
    with SyncClient(server.url) as client:
        for _ in range(3):
            client.submit(Submission(source=WAITS))
        made = client.create_bulk_job("cancel", "workflow=waits", reason="closed", rate=100, canary=1)
        against(BulkJob, made)
        assert (made["state"], made["total"], made["max_failed"], made["canary_state"]) == (
            "preview",
            3,
            0.0,
            "open",
        )
        assert [one["status"] for one in made["sample"]] == ["running"] * 3
        with pytest.raises(Conflict, match="there is nothing to stop"):
            client.stop_bulk_job(made["id"])
        assert (client.start_bulk_job(made["id"]))["state"] == "running"
        job = eventually(lambda: (found := client.bulk_job(made["id"]))["state"] == "completed" and found)
        against(BulkJob, job)
        assert (job["counts"]["done"], job["canary_state"]) == (3, "passed")
        [listed] = client.bulk_jobs(limit=5)
        assert (listed["id"], listed["sample"]) == (made["id"], [])
        with pytest.raises(Conflict, match="only a stopped job can be resumed"):
            client.resume_bulk_job(made["id"])
        with pytest.raises(NotFound, match="there is no bulk job 99"):
            client.bulk_job(99)
        with pytest.raises(UsageError, match="the filter is empty"):
            client.create_bulk_job("cancel", "", reason="x")
        with pytest.raises(UsageError, match="needs a reason"):
            client.create_bulk_job("cancel", "status=failed", reason=" ")


def test_viewers_look_and_operators_act(server) -> None:
    async def go() -> None:
        async with Client(server.url) as first:
            admin = (await first.create_token("ann", "admin"))["token"]
        async with Client(server.url, admin) as client:
            tokens = {
                role: (await client.create_token(role, role))["token"] for role in ("viewer", "operator")
            }
        async with (
            Client(server.url, tokens["viewer"]) as viewer,
            Client(server.url, tokens["operator"]) as operator,
        ):
            made = await operator.create_bulk_job("cancel", "status=running", reason="x")
            assert made["actor"] == "operator"
            assert (await viewer.bulk_job(made["id"]))["id"] == made["id"]
            for call in (
                viewer.create_bulk_job("cancel", "status=running", reason="x"),
                viewer.start_bulk_job(made["id"]),
                viewer.save_filter("a", "status=failed"),
                viewer.remove_filter("a"),
            ):
                with pytest.raises(Forbidden):
                    await call

    asyncio.run(go())


def test_a_batch_is_checked_and_nothing_is_started(server) -> None:
    async def go() -> None:
        async with Client(server.url) as client:
            await client.store_workflow(WAITS)
            faults = await client.check_many(
                [
                    Submission(workflow="waits", input={"n": 1}),
                    Submission(workflow="none"),
                    Submission(source=WAITS, input={"n": "x"}),
                    Submission(source="name: [", key="k"),
                    Submission(workflow="waits", key="tenax:1"),
                    Submission(),
                ]
            )
            for fault in faults:
                against(SubmissionFault, fault)
            assert [fault["place"] for fault in faults] == [1, 2, 3, 4, 5]
            assert "there is no workflow named 'none'" in faults[0]["error"]
            assert "server's own" in faults[3]["error"]
            assert await client.list() == []

    asyncio.run(go())
