"""`tenax logs` prints what attempts have printed, and `tenax show` how far they are."""

from __future__ import annotations

import json

import pytest
from support.hand import Hand

from tenax.model.wire import Assignment, AttemptNotes, HeldProgress, OutputPart


@pytest.fixture(params=["database", "server"])
def tenax(command, database_url, request):
    if request.param == "database":
        return lambda *arguments: command(*arguments, TENAX_DATABASE_URL=database_url)
    url = request.getfixturevalue("server")
    return lambda *arguments: command(*arguments, TENAX_SERVER=url)


async def tell(hand: Hand, a: Assignment, start: int, text: str) -> None:
    part = OutputPart(a.execution_id, a.item_id, a.receipt, a.step, a.attempt, start, text, item=a.item)
    await hand.engine.take_notes(AttemptNotes("w1", output=(part,)))


async def two_attempts(hand: Hand) -> str:
    id_, first = await hand.start()
    await tell(hand, first, 0, "page 1\n\x1b[31mred")
    await tell(hand, first, 1000, "page 99\n")
    await hand.fail(first)
    await hand.clock.advance(5)
    second = await hand.lease_one()
    await tell(hand, second, 0, "page 1 again\n")
    await hand.succeed(second)
    return str(id_)


async def one_in_progress(hand: Hand) -> str:
    id_, first = await hand.start()
    told = HeldProgress(first.item_id, first.token, 0.4, "page 12 of 30")
    await hand.clock.advance(20)
    await hand.engine.take_notes(AttemptNotes("w1", progress=(told,)))
    return str(id_)


def test_each_attempt_has_a_heading_and_what_was_cut_is_said(play, tenax):
    id_ = play(two_attempts)
    lines = tenax("logs", id_).out.splitlines()
    assert lines == [
        "== only, attempt 1 ==",
        "page 1",
        "\\x1b[31mred",
        "[... 985 bytes were cut ...]",
        "page 99",
        "== only, attempt 2 ==",
        "page 1 again",
    ]
    assert tenax("logs", id_, "--attempt", "2", "--step", "only").out.splitlines() == lines[-2:]
    assert tenax("logs", id_, "--item", "3").out == ""


def test_as_json(play, tenax):
    id_ = play(two_attempts)
    found = tenax("logs", id_, "--json").json
    assert [(one["attempt"], one["start"]) for one in found] == [(1, 0), (1, 1000), (2, 0)]
    lines = tenax("logs", id_, "--json", "--follow").out.splitlines()
    assert [json.loads(line)["text"] for line in lines] == [one["text"] for one in found]


def test_wrong_numbers_and_unknown_executions_are_refused(tenax):
    for wrong in (["--attempt", "0"], ["--item", "-1"]):
        ended = tenax("logs", "1", *wrong)
        assert (ended.code, "expected a number from" in ended.err) == (2, True)
    assert "there is no execution 1" in tenax("logs", "1").err


def test_show_has_the_progress(play, tenax):
    id_ = play(one_in_progress)
    assert "########------------ 40 %, about 30s left: page 12 of 30" in tenax("show", id_).out
    assert tenax("show", id_, "--json").json["steps"]["only"]["progress"]["fraction"] == 0.4
