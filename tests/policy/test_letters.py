"""What a transition means for the dead letter of its item."""

from __future__ import annotations

from typing import Any

import pytest
from support.recorded.one_transition import BUSY, GONE, GOOD, RETRY, TWICE, UNDO, fan_out, item, made, plan_of

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.changes import Loss
from tenax.model.decision import Ledger
from tenax.model.json_text import decode, encode
from tenax.model.letters.letter import MESSAGE_KEPT, LetterMoved, LetterOpened, Letters, place_of
from tenax.policy.letters import has_letter, letter_moved, may_have_letter

LOST = Loss("w3", 7, None, None, None)
SILENT = Outcome(
    "failed", facts=Facts(failure_class="worker_lost", reason="worker_heartbeat_stale", message="silent")
)
TWICE_LOST = encode(Ledger(counted=0, exempted=2, by_class={"worker_lost": 2}, lost_by=("w1", "w2")))
EXPIRED = Outcome(
    "failed", facts=Facts(failure_class="worker_lost", reason="hold_expired", message="held too long")
)
UNLIMITED = "retry: {max_attempts: unlimited, initial_delay: 10, jitter: 0}"


def held(**more: Any) -> Any:
    return item(state="held", worker=None, lease_token=None, started_at=None, ledger=TWICE_LOST, **more)


def opened(**arguments: Any) -> LetterOpened:
    letter = made(arguments.pop("outcome"), **arguments).letter
    assert isinstance(letter, LetterOpened)
    return letter


def test_a_failure_that_ends_the_item_opens_its_letter() -> None:
    letter = opened(outcome=GONE)
    assert (letter.item_id, letter.execution_id, letter.workflow, letter.step) == (7, 5, "w", "a")
    assert (letter.rule, letter.failure_class, letter.reason, letter.message) == (
        "class_default",
        "logical",
        "http_404",
        "gone",
    )
    assert (letter.status, letter.attempts, letter.tolerated, letter.compensates) == ("open", 1, False, False)


def test_an_exhausted_item_says_how_many_attempts_there_were() -> None:
    letter = opened(outcome=BUSY, of=item(ledger=TWICE, attempt=3))
    assert (letter.rule, letter.attempts) == ("attempts_exhausted", 3)


@pytest.mark.parametrize(("failed", "tolerated"), [(0, True), (1, False)])
def test_a_failed_item_of_a_fan_out_is_marked_if_the_step_tolerates_it(failed: int, tolerated: bool) -> None:
    fans = plan_of(f"for_each: [1, 2, 3, 4], tolerate: 1, {RETRY}")
    letter = opened(outcome=GONE, plan=fans, of=item(item_no=2), fan=fan_out(failed=failed))
    assert (letter.item_no, letter.tolerated) == (2, tolerated)


def test_a_failed_compensation_has_a_letter_of_its_own() -> None:
    letter = opened(outcome=GONE, plan=plan_of(UNDO), of=item(compensates=True))
    assert letter.compensates
    assert place_of(letter) == (5, "a", None, True)


def test_a_quarantined_item_has_a_letter() -> None:
    letter = opened(
        outcome=SILENT, plan=plan_of(UNLIMITED), of=item(ledger=TWICE_LOST, attempt=3, worker="w3"), how="lease_expired", lost=LOST,
    )  # fmt: skip
    assert (letter.rule, letter.failure_class, letter.status) == ("poison", "worker_lost", "open")


def test_an_item_that_was_held_too_long_has_a_letter() -> None:
    letter = opened(outcome=EXPIRED, of=held(), how="hold_expired")
    assert (letter.rule, letter.reason) == ("hold_expired", "hold_expired")


def test_a_message_is_cut_and_made_fit_for_the_database() -> None:
    letter = opened(outcome=Outcome("failed", facts=Facts(status_code=404, message="\0" + "x" * 5000)))
    assert len(letter.message) == MESSAGE_KEPT
    assert letter.message.startswith("\ufffdx")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"outcome": GOOD, "of": held()}, "recovered"),
        ({"outcome": GOOD, "of": item(ledger=TWICE_LOST)}, "recovered"),
        ({"outcome": SILENT, "of": held(), "how": "released", "due_in": 5.0, "plan": plan_of(UNLIMITED)}, "redriven"),
        ({"outcome": GOOD, "of": item(ledger=TWICE_LOST), "execution_open": False}, "recovered"),
        ({"outcome": BUSY, "of": item(ledger=TWICE_LOST), "execution_open": False}, "resolved"),
    ],
)  # fmt: skip
def test_the_letter_follows_its_item(arguments: dict[str, Any], status: str) -> None:
    letter = made(arguments.pop("outcome"), **arguments).letter
    assert isinstance(letter, LetterMoved)
    assert letter.status == status


@pytest.mark.parametrize(
    "arguments",
    [
        {"outcome": GOOD},
        {"outcome": GOOD, "of": item(ledger=TWICE)},
        {"outcome": BUSY},
        {"outcome": BUSY, "of": item(ledger=TWICE_LOST)},
        {"outcome": GONE, "execution_open": False},
    ],
)
def test_what_has_no_letter_pays_nothing(arguments: dict[str, Any]) -> None:
    assert made(arguments.pop("outcome"), **arguments).letter is None


@pytest.mark.parametrize(
    ("ledger", "state", "expected"),
    [
        (None, "queued", False),
        (None, "held", True),
        (TWICE, "retrying", False),
        (TWICE_LOST, "leased", True),
    ],
)
def test_an_item_that_was_never_quarantined_has_no_letter(
    ledger: str | None, state: str, expected: bool
) -> None:
    assert may_have_letter(ledger, state) is expected


def test_a_held_item_has_a_letter_whatever_its_ledger_says() -> None:
    assert has_letter(Ledger(), "held")
    assert not has_letter(Ledger(), "leased")


def test_a_letter_that_is_opened_and_moved_in_one_transaction_is_opened_with_the_last_status() -> None:
    letters = Letters()
    first = opened(outcome=GONE)
    letters.add(first)
    letters.add(letter_moved(place_of(first), "resolved"))
    assert [(one["item_id"], one["status"]) for one in decode(letters.opened_text)] == [(7, "resolved")]
    assert letters.moved_text is None


def test_the_last_of_two_moves_counts() -> None:
    letters = Letters()
    place = place_of(opened(outcome=GONE))
    letters.add(letter_moved(place, "redriven"))
    letters.add(letter_moved(place, "resolved"))
    assert letters.opened_text is None
    assert decode(letters.moved_text) == [{**place._asdict(), "status": "resolved"}]
    assert Letters().moved_text is None
