"""Tests `tenax verify` for people and programs, over HTTP and on the database itself."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from support.hand import Hand, hand_on

from tenax.model.decision import DECIDER_VERSION

CHANGE = "update tenax.execution set result = '{\"only\": 9}' where id = 1"


async def two_executions(hand: Hand) -> None:
    """One that was retried and completed, and one that waits."""
    await hand.submit()
    await hand.fail(await hand.lease_one())
    await hand.pass_time(1)
    await hand.succeed(await hand.lease_one(), 1)
    await hand.submit()


@pytest.fixture
def history(database_url: str, tmp_path: Path) -> Callable[[str], Any]:
    """A history; and a function that changes it by hand."""

    async def make() -> None:
        async with hand_on(database_url, tmp_path) as hand:
            await two_executions(hand)

    async def change(statement: str) -> None:
        connection = await asyncpg.connect(database_url)
        await connection.execute(statement)
        await connection.close()

    asyncio.run(make())
    return lambda statement: asyncio.run(change(statement))


@pytest.fixture(params=["database", "server"])
def verify(request, command, database_url, history):
    if request.param == "server":
        url = request.getfixturevalue("server")
        return lambda *arguments: command("verify", *arguments, TENAX_SERVER=url)
    return lambda *arguments: command("verify", *arguments, TENAX_DATABASE_URL=database_url)


def test_a_good_history(verify):
    ended = verify()
    assert (ended.code, ended.err) == (0, "")
    first, last = ended.out.splitlines()
    assert first.startswith("checked: 2 executions, ")
    assert last == "no violation"


def test_one_json_document(verify):
    ended = verify("--json")
    assert ended.code == 0
    assert ended.json["violations"] == []
    assert ended.json["other_versions"] == {}
    assert ended.json["checked"]["executions"] == 2
    assert ended.json["checked"]["decisions"] == 2


def test_a_violation_is_exit_code_1_and_says_where(verify, history):
    history(CHANGE)
    ended = verify()
    assert ended.code == 1
    assert "execution 1: execution-row: result.only is not that of the events" in ended.out
    assert "violations: 1 " in ended.out
    ended = verify("--json")
    assert ended.code == 1
    [violation] = ended.json["violations"]
    assert set(violation) == {"law", "execution", "step", "item", "attempt", "events", "message"}
    assert (violation["law"], violation["execution"]) == ("execution-row", 1)


def test_one_execution_only(verify, history):
    history(CHANGE)
    assert verify("1").code == 1
    ended = verify("2", "--json")
    assert (ended.code, ended.json["checked"]["executions"]) == (0, 1)


def test_an_execution_that_there_is_not(verify):
    ended = verify("99")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("tenax: there is no execution 99\n")
    assert "tenax list" in ended.err


def test_since(verify, history):
    history("update tenax.execution set finished_at = finished_at - interval '2 days' where id = 1")
    assert verify("--since", "1h", "--json").json["checked"]["executions"] == 1
    assert verify("--since", "2026-01-01T00:00:00Z", "--json").json["checked"]["executions"] == 2
    ended = verify("--since", "yesterday")
    assert (ended.code, "--since yesterday" in ended.err) == (2, True)


def test_an_execution_and_a_time_exclude_each_other(verify):
    ended = verify("1", "--since", "1h")
    assert (ended.code, ended.out) == (2, "")
    assert "exclude each other" in ended.err


def test_other_versions_are_said(verify, history):
    now = f'"version":{DECIDER_VERSION}'
    history(f"update tenax.log set events = replace(events, '{now}', '\"version\":2')")
    ended = verify()
    assert ended.code == 0
    assert "not made again: 2 decisions of version 2 of the decider" in ended.out


def test_a_number_that_cannot_be_one(verify):
    assert verify("0").code == 2
    assert verify("x").code == 2


def test_progress_on_a_terminal_and_nowhere_else(history, database_url, environment, tmp_path):
    terminal, other = pty.openpty()
    ended = subprocess.run(
        [sys.executable, "-m", "tenax", "verify", "--json"],
        cwd=tmp_path, env=environment(TENAX_DATABASE_URL=database_url), stdout=subprocess.PIPE, stderr=other, timeout=60,
    )  # fmt: skip
    os.close(other)
    assert b"checked: 2 executions" in os.read(terminal, 10_000)
    os.close(terminal)
    assert json.loads(ended.stdout)["violations"] == []
