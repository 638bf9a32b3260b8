"""Tests `tenax graph` of a file, and of an execution whose work is done by hand (`tests/support/hand.py`)."""

from __future__ import annotations

import asyncio
from xml.etree import ElementTree as ET

import pytest
from support.hand import hand_on

TWO_STEPS = """
name: nightly
workflow:
  - {step: fetch, type: http, url: "http://localhost/", retry: {max_attempts: 3, initial_delay: 1, jitter: 0}}
  - {step: load, type: process, command: "true", needs: [fetch]}
"""
AS_TEXT = "nightly\n1  fetch  http\n2  load   process, goal  after fetch\n"


@pytest.fixture
def tenax(command, database_url, tmp_path):
    (tmp_path / "two.yaml").write_text(TWO_STEPS)
    return lambda *arguments, **more: command(*arguments, TENAX_DATABASE_URL=database_url, **more)


def test_a_file_as_text(command, tmp_path):
    (tmp_path / "two.yaml").write_text(TWO_STEPS)
    ended = command("graph", "two.yaml")
    assert (ended.code, ended.out, ended.err) == (0, AS_TEXT, "")
    assert command("graph", "-", stdin=TWO_STEPS).out == AS_TEXT
    assert command("graph", "-", "--output", "-", stdin=TWO_STEPS).out == AS_TEXT
    assert not (tmp_path / "home").exists()  # no database is made for it


def test_mermaid_and_svg(command, tmp_path):
    (tmp_path / "two.yaml").write_text(TWO_STEPS)
    mermaid = command("graph", "two.yaml", "--format", "mermaid")
    assert (mermaid.code, mermaid.err) == (0, "")
    assert mermaid.out.splitlines()[3:] == [
        "flowchart LR",
        '  s0["fetch<br/>http"]',
        '  s1(["load<br/>process, goal"])',
        "  s0 --> s1",
    ]
    written = command("graph", "two.yaml", "--format", "svg", "--output", "two.svg")
    assert (written.code, written.out, written.err) == (0, "wrote two.svg\n", "")
    content = (tmp_path / "two.svg").read_text()
    assert ET.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
    assert command("graph", "two.yaml", "--format", "svg").out == content


def test_an_execution_with_its_states_and_attempts(tenax, database_url, tmp_path):
    number = str(tenax("submit", "two.yaml", "--json").json["id"])
    before = tenax("graph", number)
    assert (before.code, before.err) == (0, "")
    assert before.out == (
        f"nightly, execution {number}: running\n"
        "1  fetch  http, queued\n"
        "2  load   process, pending, goal  after fetch\n"
    )

    async def played() -> None:
        async with hand_on(database_url, tmp_path) as hand:
            await hand.fail(await hand.lease_one())
            await hand.clock.advance(10)
            await hand.succeed(await hand.lease_one(), {})
            await hand.lease_one()

    asyncio.run(played())
    assert tenax("graph", number).out == (
        f"nightly, execution {number}: running\n"
        "1  fetch  http, completed, attempt 2 of 3\n"
        "2  load   process, running, attempt 1 of 1, goal  after fetch\n"
    )
    assert "class s0 completed" in tenax("graph", number, "--format", "mermaid").out


def test_a_number_is_a_file_where_there_is_one(tenax, tmp_path):
    missing = tenax("graph", "12345")
    assert (missing.code, missing.out) == (2, "")
    assert "12345" in missing.err
    (tmp_path / "12345").write_text(TWO_STEPS)
    assert tenax("graph", "12345").out == AS_TEXT


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "FILE|ID"),
        (("missing.yaml",), 2, "missing.yaml: there is no such file"),
        (("./5",), 2, "./5: there is no such file"),
        (("0",), 2, "0 cannot be the number of an execution"),
        (("9" * 19,), 2, "cannot be the number of an execution"),
        (("9" * 5000,), 2, "cannot be read"),
        (("bad.yaml",), 2, "bad.yaml:3:"),
        (("two.yaml", "--format", "png"), 2, "svg"),
        (("two.yaml", "--output", "no/such/folder.svg"), 3, "no/such/folder.svg: No such file or directory"),
        (("two.yaml", "--server", "http://x", "--database", "postgresql://x"), 2, "exclude each other"),
    ],
)
def test_what_cannot_be_drawn(arguments, code, words, command, tmp_path):
    (tmp_path / "two.yaml").write_text(TWO_STEPS)
    (tmp_path / "bad.yaml").write_text("name: w\nworkflow:\n  - {step: a, type: http}\n")
    ended = command("graph", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert words in ended.err
    assert ended.err.startswith("tenax: ")
