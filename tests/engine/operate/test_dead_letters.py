"""Dead letters are redriven, or discarded with a note; each action is in the log."""

from __future__ import annotations

from typing import Any

import pytest
from support.hand import Hand
from support.laws import verify
from support.letters import failed, letter, letters, quarantined, tolerated

from tenax.engine.operate import dead_letters as operate
from tenax.errors import Conflict, NotFound, UsageError
from tenax.model.filters.letters import LetterFilter

OTHER = """
name: other
workflow: [{step: load, type: python, task: "t:t", retry: false}]
"""


async def number(hand: Hand) -> int:
    return int((await letter(hand))["item_id"])


async def discard(hand: Hand, *ids: int, note: str = "known bug") -> Any:
    return await hand.engine.letters.discard(ids, actor="me", note=note)


async def redrive(hand: Hand, *ids: int) -> Any:
    return await hand.engine.letters.redrive(ids, actor="me", reason="fixed")


async def statuses(hand: Hand) -> list[str]:
    return [row["status"] for row in await letters(hand)]


# -- redrive


async def test_a_quarantined_item_is_released_at_once(hand):
    id_ = await quarantined(hand)
    done = await redrive(hand, await number(hand))
    assert (done.changed, done.ids) == (1, [await number(hand)])
    assert await statuses(hand) == ["redriven"]
    assert (await hand.types(id_))[-3:] == ["operator_action", "retry_released", "retry_rescheduled"]
    [released] = await hand.data_of(id_, "retry_released")
    assert (released["actor"], released["reason"]) == ("me", "fixed")
    await hand.succeed(await hand.lease_one("good"))
    assert await statuses(hand) == ["recovered"]


async def test_only_the_item_of_the_letter_is_released(hand):
    """Another step of the execution waits for its own retry, and goes on waiting."""
    source = """
name: two
workflow:
  - {step: a, type: python, task: "t:t", retry: {max_attempts: unlimited, backoff: none}}
  - {step: b, type: wait, signal: go, deadline: 1m, retry: {max_attempts: 9, retry_on: [timeout], initial_delay: 1h}}
"""
    id_ = await quarantined(hand, source)
    assert (await hand.get(id_))["steps"]["b"]["status"] == "retrying"
    await redrive(hand, await number(hand))
    steps = (await hand.get(id_))["steps"]
    assert (steps["a"]["status"], steps["b"]["status"]) == ("retrying", "retrying")
    assert [one["step"] for one in await hand.events_of(id_, "retry_rescheduled")] == ["a"]


async def test_a_letter_that_was_redriven_is_left_alone(hand):
    await quarantined(hand)
    await redrive(hand, await number(hand))
    assert (await redrive(hand, await number(hand))).changed == 0


async def test_a_failed_item_gets_one_more_attempt_in_its_execution(hand):
    id_ = await failed(hand)
    assert (await redrive(hand, await number(hand))).changed == 1
    assert (await hand.status(id_), await statuses(hand)) == ("running", ["redriven"])
    await hand.succeed(await hand.lease_one())
    assert (await hand.status(id_), await statuses(hand)) == ("completed", ["recovered"])
    assert (await verify(hand))["violations"] == []


async def test_an_item_that_fails_again_is_the_same_letter(hand):
    id_ = await failed(hand)
    await redrive(hand, await number(hand))
    await hand.fail(await hand.lease_one(), fatal=True, message="no")
    assert (await hand.status(id_), await statuses(hand)) == ("failed", ["open"])
    [row] = await hand.sql("select failed_times from tenax.dead_letter")
    assert row["failed_times"] == 2
    assert (await verify(hand))["violations"] == []


async def test_an_item_of_a_cancelled_execution_cannot_be_started_again(hand):
    id_ = await quarantined(hand)
    letter = await number(hand)
    await hand.engine.cancel(id_, actor="me")
    with pytest.raises(Conflict, match="it is resolved already"):
        await redrive(hand, letter)


async def test_a_tolerated_failure_can_only_be_discarded(hand):
    await tolerated(hand)
    with pytest.raises(Conflict, match=r"has completed .*: the letter can only be discarded"):
        await redrive(hand, await number(hand))
    assert (await discard(hand, await number(hand))).changed == 1


async def test_a_recovered_letter_cannot_be_redriven(hand):
    await quarantined(hand)
    await redrive(hand, await number(hand))
    await hand.succeed(await hand.lease_one("good"))
    with pytest.raises(Conflict, match="it is recovered already"):
        await redrive(hand, await number(hand))


async def test_none_is_redriven_if_one_cannot_be(hand):
    await quarantined(hand)
    held = await number(hand)
    await tolerated(hand)
    with pytest.raises(Conflict):
        await redrive(hand, *[row["item_id"] for row in await letters(hand, "item_id")])
    assert [row["status"] for row in await letters(hand, "item_id, status") if row["item_id"] == held] == [
        "open"
    ]


# -- discard


async def test_a_discarded_letter_has_a_note_and_an_event(hand):
    id_ = await failed(hand)
    await hand.clock.advance(60)
    assert (await discard(hand, await number(hand))).changed == 1
    found = await letter(hand)
    assert (found["status"], found["note"], found["actor"]) == ("discarded", "known bug", "me")
    assert found["changed_at"] > found["last_at"]
    [action] = await hand.events_of(id_, "operator_action")
    assert (action["step"], action["data"]) == (
        "only",
        {"action": "discard", "actor": "me", "reason": "known bug"},
    )
    assert (await verify(hand))["violations"] == []


async def test_the_event_of_an_item_of_a_fan_out_names_the_item(hand):
    id_ = await tolerated(hand)
    await discard(hand, await number(hand))
    [action] = await hand.events_of(id_, "operator_action")
    assert (action["step"], action["item"]) == ("each", 1)
    assert (await verify(hand))["violations"] == []


async def test_a_letter_is_discarded_once(hand):
    await failed(hand)
    await discard(hand, await number(hand))
    assert (await discard(hand, await number(hand), note="another")).changed == 0
    assert (await letter(hand))["note"] == "known bug"


@pytest.mark.parametrize("note", ["", "  \n"])
async def test_a_note_is_required(hand, note):
    await failed(hand)
    with pytest.raises(UsageError, match="needs a note"):
        await discard(hand, await number(hand), note=note)
    with pytest.raises(UsageError, match="needs a note"):
        await hand.engine.letters.discard_matching(LetterFilter(workflow="one"), actor="me", note=note)
    assert await statuses(hand) == ["open"]


async def test_a_letter_that_is_under_way_cannot_be_discarded(hand):
    await quarantined(hand)
    await redrive(hand, await number(hand))
    with pytest.raises(Conflict, match="it is redriven"):
        await discard(hand, await number(hand))


@pytest.mark.settings(max_hold=600.0)
async def test_a_discarded_quarantined_item_that_is_held_too_long_stays_discarded(hand):
    id_ = await quarantined(hand)
    await discard(hand, await number(hand))
    await hand.wait(600)
    assert await hand.status(id_) == "failed"
    found = await letter(hand)
    assert (found["status"], found["rule"], found["note"], found["failed_times"]) == (
        "discarded",
        "hold_expired",
        "known bug",
        1,
    )
    assert (await verify(hand))["violations"] == []


async def test_a_discarded_quarantined_item_can_be_redriven_all_the_same(hand):
    await quarantined(hand)
    await discard(hand, await number(hand))
    await redrive(hand, await number(hand))
    found = await letter(hand)
    assert (found["status"], found["note"], found["actor"]) == ("redriven", None, None)
    await hand.succeed(await hand.lease_one("good"))
    assert (await verify(hand))["violations"] == []


async def test_letters_are_discarded_by_filter(hand, monkeypatch):
    monkeypatch.setattr(operate, "AT_ONCE", 2)
    for _ in range(5):
        await failed(hand, OTHER)
    await failed(hand)
    done = await hand.engine.letters.discard_matching(
        LetterFilter(workflow="other"), actor="me", note="known"
    )
    assert (done.changed, len(done.ids)) == (5, 5)
    assert sorted(await statuses(hand)) == ["discarded"] * 5 + ["open"]
    assert (await verify(hand))["violations"] == []


async def test_letters_that_another_operator_was_quicker_with_do_not_end_it(hand, monkeypatch):
    monkeypatch.setattr(operate, "AT_ONCE", 2)
    for _ in range(5):
        await failed(hand)
    discard_letters = operate.letters.discard_letters
    calls = 0

    async def late_at_first(tx, ids, note, actor, now):
        nonlocal calls
        calls += 1
        done = await discard_letters(tx, ids, note, actor, now)
        return [] if calls == 1 else done

    monkeypatch.setattr(operate.letters, "discard_letters", late_at_first)
    done = await hand.engine.letters.discard_matching(LetterFilter(workflow="one"), actor="me", note="known")
    assert done.changed == 3
    assert await statuses(hand) == ["discarded"] * 5


async def test_an_empty_filter_is_refused(hand):
    await failed(hand)
    with pytest.raises(UsageError, match="an empty filter would discard all dead letters"):
        await hand.engine.letters.discard_matching(LetterFilter(), actor="me", note="all of it")
    assert await statuses(hand) == ["open"]


@pytest.mark.parametrize("act", [discard, redrive])
async def test_letters_that_do_not_exist_are_not_found(hand, act):
    await failed(hand)
    with pytest.raises(NotFound, match="there is no dead letter 99"):
        await act(hand, await number(hand), 99)
    with pytest.raises(UsageError, match="name from 1 to 1000 dead letters, not 0"):
        await act(hand)
    assert await statuses(hand) == ["open"]
