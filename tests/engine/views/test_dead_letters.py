"""Views of dead letters: which there are, what belongs together, and what happened to one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import to_builtins
from support.compensation_workflows import failed_at_b
from support.hand import Hand
from support.letters import exhausted, failed, letter, letters, quarantined, tolerated

from tenax.engine.views import dead_letters as views
from tenax.errors import NotFound
from tenax.model.filters.letters import LetterFilter

OTHER = """
name: other
workflow: [{step: load, type: python, task: "t:t", retry: false}]
"""
EVERY = ("open", "redriven", "recovered", "resolved", "discarded")


async def listed(hand: Hand, *, before: int | None = None, limit: int = 50, **wanted: Any) -> list[str]:
    """The messages of the letters that a list has."""
    found = await hand.engine.letters.list(LetterFilter(**wanted), before=before, limit=limit)
    return [one.message for one in found]


async def shown(hand: Hand) -> dict[str, Any]:
    """The only letter in full."""
    [row] = await letters(hand, "item_id")
    return dict(to_builtins(await hand.engine.letters.get(row["item_id"])))


async def some_failures(hand: Hand) -> None:
    for number, source in enumerate((OTHER, OTHER, None)):
        await failed(hand, *([source] if source else []), message=f"no such order {number}")
        await hand.clock.advance(60)


# -- lists


async def test_a_list_has_the_newest_failure_first(hand):
    await some_failures(hand)
    assert await listed(hand) == ["no such order 2", "no such order 1", "no such order 0"]


async def test_a_letter_in_a_list_names_its_item(hand):
    id_ = await tolerated(hand)
    [found] = to_builtins(await hand.engine.letters.list(LetterFilter()))
    row = await letter(hand)
    assert (found["id"], found["execution_id"], found["step"], found["item"]) == (
        row["item_id"],
        id_,
        "each",
        1,
    )
    assert (found["class"], found["tolerated"], found["compensation"]) == ("logical", True, False)


async def test_the_next_page_begins_behind_the_last_letter(hand):
    await some_failures(hand)
    first = await hand.engine.letters.list(LetterFilter(), limit=2)
    assert await listed(hand, before=first[-1].id, limit=2) == ["no such order 0"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"workflow": "other"}, 2),
        ({"step": "only"}, 1),
        ({"failure_class": "logical"}, 3),
        ({"failure_class": "timeout"}, 0),
        ({"reason": "no_such_reason"}, 0),
        ({"statuses": ("discarded",)}, 0),
        ({"statuses": EVERY}, 3),
        ({"workflow": "other", "step": "only"}, 0),
    ],
)
async def test_a_filter_selects_letters(hand, wanted, expected):
    await some_failures(hand)
    assert len(await listed(hand, **wanted)) == expected


async def test_a_filter_by_fingerprint_selects_a_group(hand):
    await some_failures(hand)
    found = [group.fingerprint for group in await hand.engine.letters.groups(LetterFilter())]
    assert [len(await listed(hand, fingerprint=one)) for one in found] == [2, 1]


async def test_times_select_by_the_last_failure(hand):
    await some_failures(hand)
    times = [row["last_at"] for row in await letters(hand)]
    assert await listed(hand, since=times[1]) == ["no such order 2", "no such order 1"]
    assert await listed(hand, until=times[1]) == ["no such order 0"]


# -- groups


async def test_failures_that_differ_in_a_number_are_one_group(hand):
    await some_failures(hand)
    first, second = to_builtins(await hand.engine.letters.groups(LetterFilter()))
    times = [row["last_at"] for row in await letters(hand)]
    assert (first["count"], first["workflows"], first["steps"], first["example"]) == (
        2,
        ["other"],
        ["load"],
        "no such order 1",
    )
    assert (first["class"], first["failed_times"]) == ("logical", 2)
    assert times[1] - times[0] == timedelta(seconds=60)
    assert first["first_at"] < first["last_at"]
    assert (second["count"], second["workflows"]) == (1, ["one"])


async def test_a_group_says_its_share_of_all_attempts(hand):
    await failed(hand)
    for _ in range(3):
        await hand.succeed((await hand.start())[1])
    [found] = await hand.engine.letters.groups(LetterFilter())
    assert found.share == 0.25


async def test_the_share_counts_the_minutes_of_the_group_only(hand):
    await failed(hand)
    await hand.clock.advance(600)
    for _ in range(3):
        await hand.succeed((await hand.start())[1])
    await failed(hand, OTHER)
    shares = {group.steps[0]: group.share for group in await hand.engine.letters.groups(LetterFilter())}
    assert shares == {"only": 1.0, "load": 0.25}


async def test_a_share_that_would_take_too_long_is_left_out(hand, monkeypatch):
    monkeypatch.setattr(views, "LOG_ROWS_COUNTED", 1)
    await failed(hand)
    [found] = await hand.engine.letters.groups(LetterFilter())
    assert found.share is None


async def test_without_letters_there_are_no_groups(hand):
    assert await hand.engine.letters.groups(LetterFilter()) == []


# -- one letter


async def test_a_letter_in_full_has_every_attempt_and_the_decision(hand):
    await exhausted(hand)
    found = await shown(hand)
    assert [(one["attempt"], one["outcome"], one["verdict"]) for one in found["history"]] == [
        (1, "failed", "retry"),
        (2, "failed", "retry"),
        (3, "failed", "fail"),
    ]
    assert (found["failure"]["status_code"], found["execution_status"]) == (503, "failed")
    assert found["explanation"]["rule"] == "attempts_exhausted"
    assert "attempt 3" in found["explanation"]["text"]


async def test_a_letter_has_the_input_of_its_execution(hand):
    await failed(hand, "input: {n: {default: 7}}\n" + OTHER.lstrip())
    assert (await shown(hand))["payload"] == {"input": {"n": 7}, "element": None}


async def test_of_a_fan_out_only_the_item_is_told(hand):
    await tolerated(hand)
    found = await shown(hand)
    assert [(one["attempt"], one["outcome"]) for one in found["history"]] == [(1, "failed")]
    assert found["explanation"]["item"] == 1
    assert (found["can_redrive"], found["can_discard"]) == (False, True)
    assert (
        "has completed (the step tolerated the failure): the letter can only be discarded" in found["refusal"]
    )


async def test_a_held_item_shows_its_element(hand):
    source = (
        "name: fan\nworkflow: [{step: each, type: python, task: 't:t', for_each: [x],"
        " retry: {max_attempts: unlimited, backoff: none}}]"
    )
    await quarantined(hand, source)
    found = await shown(hand)
    assert (found["payload"]["element"], found["item"], found["rule"]) == ("x", 0, "poison")
    assert [one["outcome"] for one in found["history"]] == ["lost"] * 3
    assert (found["can_redrive"], found["refusal"]) == (True, None)


async def test_a_compensation_is_told_apart_from_its_step(hand):
    await failed_at_b(hand, "w1")
    await hand.fail(await hand.lease_one(), fatal=True, message="cannot undo")
    [row] = [row for row in await letters(hand, "item_id, compensates") if row["compensates"]]
    found = to_builtins(await hand.engine.letters.get(row["item_id"]))
    assert [(one["attempt"], one["outcome"]) for one in found["history"]] == [(1, "failed")]
    assert (found["compensation"], found["explanation"]["compensation"]) == (True, True)
    assert (found["failure"]["message"], found["message"]) == ("cannot undo", "cannot undo")


async def test_a_letter_that_does_not_exist_is_not_found(hand):
    with pytest.raises(NotFound, match="there is no dead letter 99") as caught:
        await hand.engine.letters.get(99)
    assert caught.value.remedy == "`tenax dead-letters list --all` shows the dead letters there are"
