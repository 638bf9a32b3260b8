"""Schedules and later starts over HTTP: the real client and a real server."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from tenax.errors import Conflict, Forbidden, InvalidDefinition, NotFound
from tenax.model.wire import Submission
from tenax.sdk.client import Client
from tenax.sdk.sync_client import SyncClient

WAITS = "name: waits\nworkflow:\n  - {step: paid, type: wait, signal: payment}\n"


def test_a_schedule_over_http(server) -> None:
    async def go() -> None:
        async with Client(server.url) as client:
            await client.store_workflow(WAITS)
            created = await client.create_schedule("a", {"every": "1h", "overlap": "allow"}, workflow="waits")
            assert created["created"] is True
            assert [one["name"] for one in await client.schedules()] == ["a"]
            ticks = (await client.next_ticks("a", 2))["ticks"]
            assert ticks[0] == created["next_at"]
            assert (await client.pause_schedule("a", reason="x"))["changed"] is True
            assert (await client.resume_schedule("a"))["changed"] is True
            number = (await client.run_schedule("a"))["execution_id"]
            shown = await client.schedule("a")
            assert (shown["last_execution"], shown["last_status"], shown["state"]) == (
                number,
                "running",
                "active",
            )
            assert await client.delete_schedule("a") == {"name": "a", "deleted": True}
            with pytest.raises(NotFound, match="no schedule 'a'"):
                await client.schedule("a")

    asyncio.run(go())


def test_mistakes_name_their_place(server) -> None:
    with SyncClient(server.url) as client:
        client.store_workflow(WAITS)
        with pytest.raises(InvalidDefinition) as wrong:
            client.create_schedule("waits", {"cron": "0 25 * * *", "catch_up": -1})
        assert {finding.path for finding in wrong.value.findings} == {"cron", "catch_up"}
        client.store_workflow(WAITS + "schedule: {every: 1h}\n")
        with pytest.raises(Conflict, match="declared by the file"):
            client.create_schedule("waits", {"every": "1h"})


def test_viewers_read_schedules_and_operators_change_them(server) -> None:
    with SyncClient(server.url, server.token("operator")) as client:
        client.store_workflow(WAITS)
        client.create_schedule("waits", {"every": "1h"})
    with SyncClient(server.url, server.token("viewer")) as client:
        assert len(client.schedules()) == 1
        with pytest.raises(Forbidden):
            client.pause_schedule("waits")


def test_a_submission_that_starts_later(server) -> None:
    with SyncClient(server.url) as client:
        start = datetime(2999, 1, 31, 9, 30, tzinfo=UTC)
        later = client.submit(Submission(source=WAITS, start_at=start))
        assert client.get(later.id)["starts_at"] == "2999-01-31T09:30:00Z"
        soon = client.submit(Submission(source=WAITS, start_in=0.05))
        while client.get(soon.id)["status"] == "paused":
            client.news(soon.id, wait=1)
        assert client.get(soon.id)["starts_at"] is None
