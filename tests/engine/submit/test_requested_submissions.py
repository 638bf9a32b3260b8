"""Tests submissions in transactions of applications: `tenax.submit`, and the servers that start them."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import asyncpg
import pytest
from support.hand import ONE_STEP, Hand

from tenax.engine.engine import Engine
from tenax.engine.submit import requested_submissions
from tenax.errors import NotFound
from tenax.model.json_text import encode
from tenax.settings import Settings
from tenax.store.connect import Database

STORED = """
name: order
input:
  id: {type: integer, required: true}
workflow:
  - {step: pay, type: python, task: "shop:pay", args: {id: "{{ input.id }}"}}
"""


async def submitted(connection: Any, workflow: str | None = None, value: Any = None, /, **more: Any) -> int:
    """Calls `tenax.submit` as an application does."""
    given = {"workflow": workflow, "input": None if value is None else encode(value), **more}
    named = {name: value for name, value in given.items() if value is not None}
    call = ", ".join(f"{name} => ${n}" for n, name in enumerate(named, 1))
    return int(await connection.fetchval(f"select tenax.submit({call})", *named.values()))


async def begin(hand: Hand) -> tuple[asyncpg.Connection, Any]:
    connection = await hand.engine.context.database.connect()
    transaction = connection.transaction()
    await transaction.start()
    return connection, transaction


async def until_somebody_waits(hand: Hand) -> None:
    """Returns when a session waits for a lock."""
    while True:
        if await hand.sql("select from pg_locks where not granted"):
            return


async def rejected(hand: Hand) -> list[tuple[int, str, str]]:
    rows = await hand.sql("select execution_id, reason, message from ops.rejected_submissions order by 1")
    return [tuple(row) for row in rows]


async def test_a_commit_starts_the_execution_under_the_id_that_was_returned(hand):
    await hand.engine.store_workflow(STORED)
    connection, transaction = await begin(hand)
    id_ = await submitted(connection, "order", {"id": 7}, key="k")
    assert await hand.engine.requested_submissions.start() == 0
    await transaction.commit()
    with pytest.raises(NotFound, match="no server has started it yet"):
        await hand.engine.get(id_)
    assert await hand.engine.requested_submissions.start() == 1
    found = await hand.engine.get(id_)
    assert (found.workflow, found.input, found.key, found.status) == ("order", {"id": 7}, "k", "running")
    assert (await hand.lease_one()).spec["args"] == {"id": 7}
    assert await hand.sql("select * from tenax.requested_submission") == []
    await connection.close()


async def test_a_rollback_leaves_nothing(hand):
    connection, transaction = await begin(hand)
    id_ = await submitted(connection, source=ONE_STEP)
    await transaction.rollback()
    assert await hand.engine.requested_submissions.start() == 0
    with pytest.raises(NotFound, match=f"there is no execution {id_}$"):
        await hand.engine.get(id_)
    await connection.close()


async def test_a_submission_that_does_not_fit_is_rejected_visibly_and_stops_no_other(hand):
    await hand.engine.store_workflow(STORED)
    connection = await hand.engine.context.database.connect()
    wrong = await submitted(connection, "order", {"id": "seven"}, key="w")
    unread = await submitted(connection, source="name: 7")
    right = await submitted(connection, "order", {"id": 7})
    assert await hand.engine.requested_submissions.start() == 3
    assert await hand.status(right) == "running"
    [first, second] = await rejected(hand)
    assert first[:2] == (wrong, "invalid_input")
    assert second[:2] == (unread, "invalid_definition")
    with pytest.raises(
        NotFound, match=r"its submission was rejected \(invalid_input\): the input does not fit"
    ):
        await hand.engine.get(wrong)
    events = await hand.sql("select data from ops.events where type = 'submission_rejected' order by id")
    assert len(events) == 2
    assert f'"id": {wrong}' in events[0]["data"]
    await connection.close()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"workflow": "none"}, asyncpg.UndefinedObjectError, "no workflow named 'none'"),
        ({"workflow": "order@9"}, asyncpg.UndefinedObjectError, "no workflow named 'order@9'"),
        ({}, asyncpg.InvalidParameterValueError, "needs the name of a stored workflow"),
        ({"workflow": "order", "source": "x"}, asyncpg.InvalidParameterValueError, "needs the name"),
        ({"workflow": "order", "input": []}, asyncpg.InvalidParameterValueError, "must be a JSON object"),
        ({"workflow": "order", "key": ""}, asyncpg.InvalidParameterValueError, "1 to 200 characters"),
        ({"workflow": "order", "key": "tenax:1"}, asyncpg.InvalidParameterValueError, "the server's own"),
        ({"workflow": "order", "key": "k" * 201}, asyncpg.InvalidParameterValueError, "1 to 200 characters"),
        ({"workflow": "order", "base_dir": "k" * 1001}, asyncpg.InvalidParameterValueError, "1000 characters"),
        ({"source": "x" * 3000}, asyncpg.ProgramLimitExceededError, r"at most 2000 bytes \(max_body\)"),
    ],
)  # fmt: skip
@pytest.mark.settings(max_body=2000)
async def test_what_the_database_can_check_is_refused_at_once(hand, given, error, message):
    await hand.engine.store_workflow(STORED)
    connection = await hand.engine.context.database.connect()
    more = {name: value for name, value in given.items() if name not in ("workflow", "input")}
    with pytest.raises(error, match=message):
        await submitted(connection, given.get("workflow"), given.get("input"), **more)
    await connection.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1e400}', "a number beyond 1e308"),
        ('{"a": ' + "[" * 501 + "]" * 501 + "}", "more than 500 levels"),
    ],
)
async def test_json_that_cannot_be_an_input_is_refused_at_once(hand, text, message):
    connection = await hand.engine.context.database.connect()
    with pytest.raises(asyncpg.InvalidParameterValueError, match=f"input has {message}"):
        await connection.fetchval("select tenax.submit(source => 'x', input => $1)", text)
    await connection.close()


async def test_a_key_is_one_execution_however_it_is_submitted(hand):
    connection, transaction = await begin(hand)
    first = await submitted(connection, source=ONE_STEP, key="k")
    assert await submitted(connection, source=ONE_STEP, key="k") == first
    await transaction.commit()
    assert await hand.engine.requested_submissions.start() == 1
    assert await submitted(connection, source=ONE_STEP, key="k") == first
    assert await hand.submit(key="k") == first
    assert await hand.engine.requested_submissions.start() == 0
    await connection.close()


async def test_a_transaction_waits_for_another_one_with_its_key(hand):
    one, first = await begin(hand)
    other, second = await begin(hand)
    id_ = await submitted(one, source=ONE_STEP, key="k")
    waiting = asyncio.create_task(submitted(other, source=ONE_STEP, key="k"))
    await until_somebody_waits(hand)
    await first.commit()
    assert await waiting == id_
    await second.commit()
    assert await hand.engine.requested_submissions.start() == 1
    await one.close()
    await other.close()


async def test_an_id_whose_key_another_submission_took_tells_so(hand):
    connection, transaction = await begin(hand)
    id_ = await submitted(connection, source=ONE_STEP, key="k")
    other = await hand.submit(key="k")
    await transaction.commit()
    assert await hand.engine.requested_submissions.start() == 1
    assert await rejected(hand) == [(id_, "key_taken", f"execution {other} has its key 'k'")]
    with pytest.raises(NotFound, match=f"execution {other} has its key"):
        await hand.engine.get(id_)
    await connection.close()


async def test_several_servers_start_each_request_once(hand):
    connection = await hand.engine.context.database.connect()
    ids = [await submitted(connection, source=ONE_STEP) for _ in range(60)]
    servers = [hand, await hand.restarted(), await hand.restarted()]

    async def start_all(server: Hand) -> None:
        while await server.sql("select from tenax.requested_submission"):
            await server.engine.requested_submissions.start()

    await asyncio.gather(*map(start_all, servers))
    found = await hand.sql("select id from tenax.execution order by id")
    assert [row["id"] for row in found] == ids
    assert len(await hand.sql("select from tenax.item")) == len(ids)
    await connection.close()


async def test_the_commit_wakes_a_server(any_database_url, tmp_path, monkeypatch):
    monkeypatch.setattr(requested_submissions, "LONGEST", 3600.0)  # nothing but the message can wake it
    settings = Settings(home=tmp_path, database_url=any_database_url)
    async with Database.open(settings) as database, Engine(database, settings).running() as engine:
        connection = await database.connect()
        id_ = await submitted(connection, source=ONE_STEP)
        async with asyncio.timeout(30), engine.changes() as changed:
            while not await connection.fetch("select from tenax.execution where id = $1", id_):
                changed.clear()
                await changed.wait()
        await connection.close()


async def test_the_leader_finds_what_no_message_told_of(any_database_url, tmp_path, monkeypatch):
    monkeypatch.setattr(requested_submissions, "LONGEST", 0.01)
    settings = Settings(home=tmp_path, database_url=any_database_url)
    async with Database.open(settings) as database, Engine(database, settings).running() as engine:
        connection = await database.connect()
        await connection.execute(
            "insert into tenax.requested_submission (execution_id, source, requested_at, requested_by, size)"
            " values (nextval('tenax.execution_id'), $1, tenax.now(), 'test', 1)",
            ONE_STEP,
        )
        async with asyncio.timeout(30), engine.changes() as changed:
            while not await connection.fetch("select from tenax.execution"):
                changed.clear()
                await changed.wait()
        await connection.close()


async def test_a_server_that_fails_in_the_middle_leaves_the_request(hand):
    connection = await hand.engine.context.database.connect()
    id_ = await submitted(connection, source=ONE_STEP)
    blocker = await hand.engine.context.database.connect()
    async with blocker.transaction():
        await blocker.execute("lock table tenax.item in share mode")
        starting = asyncio.create_task(hand.engine.requested_submissions.start())
        await until_somebody_waits(hand)
        starting.cancel()
        await asyncio.wait([starting])
    assert await hand.sql("select id from tenax.execution") == []
    assert await (await hand.restarted()).engine.requested_submissions.start() == 1
    assert await hand.status(id_) == "running"
    for one in (connection, blocker):
        await one.close()


async def test_a_role_needs_no_more_than_the_right_to_call_it(hand):
    role = f"shop_{(await hand.sql('select current_database() as name'))[0]['name']}"
    connection = await hand.engine.context.database.connect()
    async with AsyncExitStack() as stack:
        await connection.execute(f"create role {role}; grant usage on schema tenax to {role}")
        stack.push_async_callback(connection.execute, f"reset role; drop owned by {role}; drop role {role}")
        await connection.execute(f"set role {role}")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await submitted(connection, source=ONE_STEP)
        await connection.execute("reset role")
        await connection.execute(
            f"grant execute on function tenax.submit(text, jsonb, text, text, text, text, jsonb) to {role}; set role {role}"
        )
        id_ = await submitted(connection, source=ONE_STEP)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch("select * from tenax.requested_submission")
    await connection.close()
    assert await hand.engine.requested_submissions.start() == 1
    assert await hand.status(id_) == "running"
