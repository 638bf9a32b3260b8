"""Commands that act on executions: what they say, which flags they ask for, and where an action is seen afterwards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.child_workflows import three_levels
from support.fan_out_workflows import fan
from support.hand import Hand

ONE_STEP = """
name: one
workflow:
  - {step: only, type: process, command: "true", retry: {max_attempts: 3, initial_delay: 1, jitter: 0}}
"""


@pytest.fixture
def tenax(command: Any, database_url: str, tmp_path: Path) -> Any:
    (tmp_path / "one.yaml").write_text(ONE_STEP)
    return lambda *arguments: command(*map(str, arguments), TENAX_DATABASE_URL=database_url)


async def fail_once(hand: Hand) -> None:
    await hand.fail(await hand.lease_one())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("reset", 1), ["reset changes a verdict: it needs a reason", "give it: --reason WHY"]),
        (("fail", 1, "--reason", " "), ["fail changes a verdict", "give it: --reason WHY"]),
        (("complete", 1, "--reason", "x"), ["complete needs the result", "give it: --result JSON"]),
        (("reschedule", 1), ["reschedule needs the fields of the policy", "--policy '{\"initial_delay\": \"10s\"}'"]),
        (("retry", 1, "--item", 2), ["--item is the number of an item", "give --step STEP too"]),
    ],
)  # fmt: skip
def test_a_missing_flag_is_asked_for_by_its_name(tenax, play, arguments, words):
    tenax("submit", "one.yaml")
    play(fail_once)
    ended = tenax(*arguments)
    assert ended.code == 2
    for one in words:
        assert one in ended.err


def test_what_an_operator_did_is_seen_in_the_execution(tenax, play):
    tenax("submit", "one.yaml")
    play(fail_once)
    tenax("reschedule", 1, "--policy", '{"initial_delay": "2m"}')
    tenax("complete", 1, "--result", "5", "--reason", "the price is known")
    shown = tenax("show", 1, "--json").json
    assert [(act["action"], act["reason"], act["step"]) for act in shown["operator_actions"]] == [
        ("reschedule", None, None),
        ("complete", "the price is known", None),
    ]
    lines = tenax("show", 1).out.partition("operators:\n")[2].splitlines()
    assert re.fullmatch(r"  \S+ \S+  \S+: reschedule", lines[0])
    assert re.fullmatch(r"  \S+ \S+  \S+: complete: the price is known", lines[1])


def test_an_action_says_what_it_was_done_to_and_what_came_of_it(tenax, play):
    async def one_item_fails(hand: Hand) -> None:
        await hand.submit(fan([0, 1], retry=False, parallelism=2))
        for a in await hand.lease():
            await (hand.fail(a) if a.item else hand.succeed(a))

    play(one_item_fails)
    again = tenax("retry", 1, "--step", "each", "--item", 1)
    assert again.err == ""
    assert again.out.splitlines() == [
        "execution 1: each[1] will be tried again now",
        "  it had failed, and is running now",
        "  follow it: tenax show 1 --follow",
    ]
    assert tenax("resolve", 1, "--reason", "by hand").out.splitlines() == [
        "execution 1: each is done by hand",
        "  the execution is completed",
    ]
    refused = tenax("reset", 1, "--reason", "x")
    assert (
        "execution 1 is completed: reset is not legal in this state; no action on it is legal now"
        in refused.err
    )


def test_a_family_that_runs_again_is_one_item_of_each(tenax, play):
    async def leaf_fails(hand: Hand) -> list[int]:
        ids = await three_levels(hand)
        await hand.fail(await hand.lease_one(), status_code=404)
        await hand.settle_down()
        return ids

    top, middle, leaf = play(leaf_fails)
    assert tenax("retry", top).out.splitlines() == [
        f"execution {top}: outer will be tried again now",
        "  it had failed, and is running now",
        f"  with it run again: {middle}, {leaf}",
        f"  follow it: tenax show {top} --follow",
    ]


def test_a_retry_of_a_paused_execution_says_that_it_is_paused(tenax, play):
    tenax("submit", "one.yaml")
    play(fail_once)
    tenax("pause", 1)
    assert tenax("retry", 1).out.splitlines() == [
        "execution 1: only will be tried again now",
        "  it is paused, and starts nothing before it is resumed: tenax resume 1",
    ]
    assert json.loads(tenax("show", 1, "--json").out)["paused_by"]["action"] == "pause"


def test_a_granted_attempt_is_shown_as_granted(tenax, play):
    """`attempt 4 of 3` would look like a mistake."""
    tenax("submit", "one.yaml")

    async def fail_for_good(hand: Hand) -> None:
        await hand.fail(await hand.lease_one(), status_code=404)

    async def succeed(hand: Hand) -> None:
        await hand.succeed(await hand.lease_one())

    play(fail_for_good)
    for _ in range(2):
        tenax("retry", 1)
        play(fail_for_good)
    tenax("retry", 1)
    play(succeed)
    assert re.search(r"^only +completed +4 of 3 \+ 1 granted$", tenax("show", 1).out, re.MULTILINE)
    assert "attempt 4 of 3 + 1 granted started on" in tenax("events", 1).out
    assert "attempt 3 of 3 started on" in tenax("events", 1).out
