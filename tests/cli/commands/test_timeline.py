"""Tests `tenax timeline` of executions whose work is done by hand (`tests/support/hand.py`)."""

from __future__ import annotations

import asyncio

import pytest
from support.drawings.markup import SVG, checked, titles, with_class, words
from support.hand import hand_on

FLAKY = """
name: nightly
workflow:
  - {step: fetch, type: process, command: "true", retry: {max_attempts: 3, initial_delay: 1, jitter: 0}}
  - {step: each, type: process, command: "true", needs: [fetch], for_each: "{{ [1, 2, 3] }}"}
"""


@pytest.fixture
def tenax(command, database_url, tmp_path):
    (tmp_path / "flaky.yaml").write_text(FLAKY)
    return lambda *arguments, **more: command(*arguments, TENAX_DATABASE_URL=database_url, **more)


def test_an_execution_with_a_bar_for_each_attempt(tenax, database_url, tmp_path):
    number = str(tenax("submit", "flaky.yaml", "--json").json["id"])

    async def played() -> None:
        async with hand_on(database_url, tmp_path) as hand:
            await hand.fail(await hand.lease_one())
            await hand.clock.advance(10)
            await hand.succeed(await hand.lease_one(), {})
            await hand.succeed(await hand.lease_one(), {})

    asyncio.run(played())
    written = tenax("timeline", number, "--output", "it.svg")
    assert (written.code, written.out, written.err) == (0, "wrote it.svg\n", "")
    root = checked((tmp_path / "it.svg").read_text())
    assert {
        f"nightly, execution {number}: running",
        "fetch",
        "each",
        "[0]",
        "completed, attempt 2 of 3",
    } <= set(words(root))
    bars = [bar for bar in with_class(root, "tx-bar") if "tx-attempt" in bar.attrib["class"]]
    assert [title.split(",")[0].split(" (")[0] for title in titles(bars)][:2] == [
        "attempt 1: transient",
        "attempt 2: succeeded",
    ]
    assert titles(with_class(root, "tx-cell"))[:1] == ["item 0: 1 succeeded"]
    assert root.find(f"{SVG}style") is not None


def test_to_stdout(tenax):
    number = str(tenax("submit", "flaky.yaml", "--json").json["id"])
    drawn = tenax("timeline", number)
    assert (drawn.code, drawn.err) == (0, "")
    checked(drawn.out)
    assert tenax("timeline", number, "--output", "-").out.startswith("<svg")


def test_an_execution_that_is_not_there(tenax):
    missing = tenax("timeline", "12345")
    assert missing.code != 0
    assert "12345" in missing.err
