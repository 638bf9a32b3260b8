"""Tests messages from servers of other versions: unknown fields are ignored, and logged once."""

from __future__ import annotations

import asyncio
import json

import pytest
import structlog

from tenax.engine.engine import Engine
from tenax.engine.server_news import NewsReader, ServerNews
from tenax.model.wire import LeaseRequest, Submission
from tenax.settings import Settings
from tenax.store.connect import Database
from tenax.store.notify import CHANNEL

SOURCE = "name: x\nworkflow: [{step: a, type: python, task: t}]\n"
STRANGE = [
    "no json", "[]", "3", "null", '"ready"', "{}", '{"from": 3}', '{"from": "other", "executions": {}}',
    '{"from": "other", "executions": ["1"], "ready": "yes", "due_in": "soon"}',
    '{"from": "other", "ready": true, "executions": [], "colour": "red"}',
    '{"kind": "schema", "version": 99}', "☃" * 1000,
]  # fmt: skip


@pytest.fixture
def complaints():
    with structlog.testing.capture_logs() as logs:
        yield lambda: [log["what"] for log in logs if "what" in log]


def test_what_one_server_writes_another_reads() -> None:
    news = ServerNews(ready=True, fleet=True, due_in=2.5, executions={3, 4})
    assert NewsReader("other").read(news.as_text("me")) == (
        ServerNews(ready=True, fleet=True, due_in=2.5),
        {3, 4},
    )
    assert NewsReader("me").read(news.as_text("me")) is None
    many = ServerNews(executions=set(range(100)))
    assert NewsReader("other").read(many.as_text("me")) == (ServerNews(), None)


def test_unknown_fields_are_passed_over_and_said_once(complaints) -> None:
    reader = NewsReader("me")
    message = json.dumps({**json.loads(ServerNews(ready=True).as_text("newer")), "colour": "red"})
    for _ in range(3):
        assert reader.read(message) == (ServerNews(ready=True), set())
    assert complaints() == ["the field 'colour'"]


def test_fields_that_are_missing_say_nothing() -> None:
    assert NewsReader("me").read('{"from": "older", "ready": true}') == (ServerNews(ready=True), set())


def test_nobody_can_fill_the_log(complaints) -> None:
    reader = NewsReader("me")
    for number in range(1000):
        reader.read(json.dumps({"from": "x", f"field{number}": 1}))
    assert len(complaints()) <= 20


async def test_a_loop_hears_on_whatever_it_is_told(database_url: str, tmp_path) -> None:
    """Messages of another version on the channel; then one server wakes the other as before."""
    settings = Settings(home=tmp_path, database_url=database_url)
    with structlog.testing.capture_logs() as logs:
        async with (
            Database.open(settings) as database,
            Engine(database, settings).running() as hears,
            Database.open(settings) as second,
            Engine(second, settings).running() as tells,
        ):
            connection = await database.connect()
            for message in STRANGE * 2:
                await connection.execute("select pg_notify($1, $2)", CHANNEL, message)
            await connection.close()
            request = LeaseRequest("w", "0d3dcd4f-0000-4000-8000-000000000001", 1, ("python",), wait=30)
            asking = asyncio.create_task(hears.lease(request))
            [submitted] = await tells.submit([Submission(source=SOURCE)])
            async with asyncio.timeout(20):
                [assignment] = await asking
            assert assignment.execution_id == submitted.id
    assert [log for log in logs if "broke" in log["event"]] == []
    said = [log["what"] for log in logs if "what" in log]
    assert 0 < len(said) <= 2 * len(set(said)), "each of the two says a thing once"
