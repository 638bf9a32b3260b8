"""Tests signals, approvals and pauses against a server whose loops run, over HTTP and on the database itself."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.waiting import eventually

WAITS = """
name: order
workflow:
  - {step: paid, type: wait, signal: payment}
  - {step: review, type: wait, needs: [paid], deadline: 1h}
"""
MANY = """
name: many
workflow:
  - {step: review, type: wait, for_each: [a, b, c], parallelism: 3, tolerate: 1}
"""


@pytest.fixture(params=["over HTTP", "on the database"])
def tenax(request, command, server, database_url, tmp_path):
    (tmp_path / "order.yaml").write_text(WAITS)
    (tmp_path / "many.yaml").write_text(MANY)
    where = {"TENAX_SERVER": server} if request.param == "over HTTP" else {"TENAX_DATABASE_URL": database_url}
    return lambda *arguments, **more: command(*arguments, **where, **more)


def shows(tenax: Any, number: str, pattern: str) -> re.Match[str]:
    return eventually(lambda: re.search(pattern, tenax("show", number).out, re.MULTILINE))


def test_a_signal_then_an_approval(tenax):
    number = str(tenax("submit", "order.yaml", "--json").json["id"])
    shows(tenax, number, rf"^paid +running +1 of 1 +send it: tenax signal {number} payment$")
    assert shows(tenax, number, r"waiting for signal payment$")
    sent = tenax("signal", number, "payment", "--data", '{"amount": 5}', "--key", "k")
    assert (sent.code, sent.err) == (0, "")
    assert sent.out == f"execution {number}: step paid has got signal payment\n"
    again = tenax("signal", number, "payment", "--key", "k", "--json")
    assert (again.code, again.json["created"]) == (0, False)
    assert "with this key already" in tenax("signal", number, "payment", "--key", "k").out
    shows(tenax, number, rf"^review +running +1 of 1 +tenax approve {number} review \(or reject\)$")
    approved = tenax("approve", number, "review", "--reason", "looks right")
    assert (approved.code, approved.out) == (0, f"execution {number}: step review is approved\n")
    body = tenax("show", number, "--json").json
    assert (body["status"], body["steps"]["paid"]["result"]) == ("completed", {"amount": 5})
    assert body["steps"]["review"]["result"]["reason"] == "looks right"
    words = tenax("events", number).out
    assert "signal payment was received from " in words
    assert ', with {"amount": 5}' in words
    assert "asked for approve: looks right" in words


def test_a_signal_that_comes_early_is_kept(tenax):
    number = str(tenax("submit", "order.yaml", "--json").json["id"])
    early = tenax("signal", number, "other")
    assert (early.code, early.out) == (
        0,
        f"execution {number}: nothing waits for signal other yet; it is kept\n",
    )
    assert early.err == ("warning: no step of its workflow waits for a signal `other`; known are payment\n")
    mistyped = tenax("signal", number, "paymnet")
    assert mistyped.err.endswith("a signal `paymnet`; did you mean `payment`?\n")
    many = str(tenax("submit", "many.yaml", "--json").json["id"])
    assert tenax("signal", many, "x").err == "warning: no step of its workflow waits for a signal\n"


def test_a_rejection_fails_the_step(tenax):
    number = str(tenax("submit", "order.yaml", "--json").json["id"])
    assert tenax("signal", number, "payment").code == 0
    shows(tenax, number, r"^review +running")
    rejected = tenax("reject", number, "review", "--reason", "too dear")
    assert (rejected.code, rejected.out) == (0, f"execution {number}: step review is rejected\n")
    text = shows(tenax, number, r"^failure in step review: denied \(rejected\): .*$").group()
    assert text.endswith(": too dear")


def test_the_items_of_a_fan_out_are_approved_one_by_one(tenax):
    number = str(tenax("submit", "many.yaml", "--json").json["id"])
    shows(tenax, number, r"^review +running +0 of 3 items done, 3 accepted ")
    which = tenax("approve", number, "review")
    assert (which.code, which.out) == (2, "")
    assert "--item" in which.err
    assert tenax("approve", number, "review", "--item", "2").code == 0
    assert tenax("reject", number, "review", "--item", "0").out == (
        f"execution {number}: step review, item 0, is rejected\n"
    )
    shown = tenax("show", number).out
    assert "1 of 3 items done, 1 failed (tolerated), 1 accepted" in shown
    assert re.search(r"^  \[0\] +failed +1 of 1 +denied \(rejected\): rejected by ", shown, re.MULTILINE)
    assert re.search(r"^  \[2\] +succeeded +1 of 1 +\{.*\"approved\": true", shown, re.MULTILINE)
    assert re.search(
        rf"^  \[1\] +accepted +1 of 1 +waiting for an approval +tenax approve {number} review --item 1 \(or reject\)$",
        shown,
        re.MULTILINE,
    )
    assert re.search(
        r"^ *1  accepted +1 of 1 +waiting for an approval$",
        tenax("items", number, "review").out,
        re.MULTILINE,
    )
    failed = tenax("items", number, "review", "--status", "failed")
    assert (failed.code, failed.err) == (0, "")
    assert [line.split()[:2] for line in failed.out.splitlines()[1:]] == [["0", "failed"]]
    page = tenax("items", number, "review", "--limit", "1", "--after", "0")
    assert page.out.splitlines()[-1] == f"there may be more: tenax items {number} review --after 1"
    assert [one["item"] for one in tenax("items", number, "review", "--json").json] == [0, 1, 2]
    one = tenax("show", number, "--step", "review", "--item", "0")
    assert "attempt 1: denied (rejected): rejected by " in one.out
    assert "item 0" in tenax("explain", number, "--step", "review", "--item", "0").out.replace(
        "[0]", " item 0"
    )
    of_item = tenax("explain", number, "--step", "review", "--item", "0").out
    assert of_item.startswith("Item review[0] failed: denied (rejected): rejected by ")
    assert of_item.endswith(tenax("explain", number, "--item", "0").out)
    listed = tenax("events", number).out.splitlines()
    assert listed[0].split() == ["seq", "at", "type", "step", "item", "attempt", "what"]
    assert tenax("approve", number, "review", "--item", "1").code == 0
    assert tenax("show", number, "--json").json["status"] == "completed"


PARENT = """
name: parent
workflow: [{step: part, type: workflow, file: order.yaml}]
"""


def test_the_list_says_what_is_waited_for_and_whose_child_it_is(tenax, tmp_path):
    (tmp_path / "parent.yaml").write_text(PARENT)
    parent = tenax("submit", "parent.yaml", "--json").json["id"]
    lines = eventually(
        lambda: len(found := tenax("list").out.splitlines()) == 3 and "waiting for" in found[1] and found
    )
    child = int(lines[1].split()[0])
    assert lines[1].split()[1:5] == ["order", "(child", "of", f"{parent})"]
    assert lines[1].endswith("  paid: waiting for signal payment")
    assert lines[2].endswith(f"  part: child execution {child}")
    assert [row["id"] for row in tenax("list", "--json").json] == [child, parent]
    assert [row["id"] for row in tenax("list", "--top", "--json").json] == [parent]


def test_pause_and_resume(tenax):
    number = str(tenax("submit", "order.yaml", "--json").json["id"])
    shows(tenax, number, r"^paid +running")
    paused = tenax("pause", number, "--reason", "night")
    assert (paused.code, paused.err) == (0, "")
    assert paused.out == (
        f"execution {number} is paused; running attempts may finish\n  resume it: tenax resume {number}\n"
    )
    assert tenax("pause", number).out == f"execution {number} was paused already\n"
    head = tenax("show", number).out.splitlines()[:3]
    assert head[0].startswith(f"execution {number} of order: paused")
    assert re.fullmatch(r"  paused by \S+ at \S+Z: night", head[1])
    assert head[2] == f"  resume it: tenax resume {number}"
    assert tenax("show", number, "--json").json["paused_by"]["reason"] == "night"
    assert tenax("list", "--status", "paused", "--json").json[0]["id"] == int(number)
    assert tenax("resume", number, "--json").json == {"id": int(number), "status": "running", "changed": True}
    assert tenax("resume", number).out == f"execution {number} was not paused\n"


WRONG = {
    "no such execution": (("signal", "4711", "x"), "tenax: there is no execution 4711\n"),
    "data that is not JSON": (("signal", "1", "x", "--data", "text"), "tenax: --data: not valid JSON"),
    "no such step": (("approve", "1", "reveiw"), "did you mean `review`?"),
    "a step that waits for a signal": (("approve", "1", "paid"), "tenax signal 1 payment"),
    "an item below 0": (("approve", "1", "review", "--item", "-1"), "items are counted from 0"),
    "no fan-out": (("items", "1", "paid"), "has no `for_each`"),
    "an unknown state": (("items", "1", "paid", "--status", "faild"), "failed"),
    "too many": (("items", "1", "paid", "--limit", "0"), "expected a number from 1 to 1000"),
    "nothing named": (("signal", "1"), "NAME"),
    "item without step": (("show", "1", "--item", "0"), "name the step: --step STEP"),
    "not an item": (("show", "1", "--step", "paid", "--item", "0"), "has no item 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name, tenax):
    tenax("submit", "order.yaml")
    arguments, words = WRONG[name]
    ended = tenax(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err
    assert ended.err.startswith("tenax: ")
