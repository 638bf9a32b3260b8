"""Tests `tenax audit`: who did what, to what and why, over HTTP and on the database itself."""

from __future__ import annotations

import re

import pytest

ONE = "name: one\nworkflow: [{step: only, type: wait}]\n"


@pytest.fixture(params=["over HTTP", "on the database"])
def tenax(request, command, server, database_url, tmp_path):
    (tmp_path / "one.yaml").write_text(ONE)
    where = {"TENAX_SERVER": server} if request.param == "over HTTP" else {"TENAX_DATABASE_URL": database_url}
    return lambda *arguments, **more: command(*arguments, **where, **more)


def actions(tenax, *flags: str) -> list[str]:
    return [one["action"] for one in tenax("audit", "--json", *flags).json if one["kind"] != "token"]


def test_nothing_yet(tenax):
    nothing = tenax("audit", "--target", "queue")
    assert (nothing.code, nothing.out) == (0, "no such action is recorded\n")
    assert tenax("audit", "--target", "queue", "--json").json == []


def test_actions_are_listed_and_filtered(tenax):
    execution = tenax("submit", "one.yaml", "--json").json["id"]
    tenax("approve", str(execution), "only", "--reason", "looks right")
    tenax("queues", "pause", "mails", "--reason", "callee is away")
    tenax("queues", "resume", "mails")
    head, *rows = tenax("audit").out.splitlines()
    assert head.split() == ["id", "at", "actor", "action", "target", "reason"]
    assert re.search(r"queue_resume +queue mails +-$", rows[0])
    assert re.search(r"queue_pause +queue mails +callee is away$", rows[1])
    assert re.search(rf"approve +execution {execution}/only +looks right$", rows[2])
    assert actions(tenax) == ["queue_resume", "queue_pause", "approve"]
    assert actions(tenax, "--target", "queue:mails") == ["queue_resume", "queue_pause"]
    assert actions(tenax, "--target", f"execution:{execution}") == ["approve"]
    assert actions(tenax, "--action", "queue_pause", "--since", "1h") == ["queue_pause"]
    assert actions(tenax, "--until", "1h") == []
    assert actions(tenax, "--actor", "nobody") == []
    [entry] = tenax("audit", "--json", "--action", "approve").json
    assert (entry["kind"], entry["target"], entry["step"]) == ("execution", str(execution), "only")


def test_a_full_page_names_the_command_for_the_next_one(tenax):
    for number in range(4):
        tenax("queues", "resume" if number % 2 else "pause", "mails", "--reason", f"number {number}")
    first = tenax("audit", "--limit", "2", "--target", "queue")
    assert [line for line in ("number 3", "number 2") if line not in first.out] == []
    command = re.search(r"older ones: tenax (audit --before \d+)", first.out)
    assert command is not None
    second = tenax(*command[1].split(), "--limit", "2", "--target", "queue").out
    assert "number 1" in second
    assert "number 3" not in second


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--target", "que"), "there is no kind of target 'que'"),
        (("--since", "yesterday"), "--since"),
        (("--until", "yesterday"), "--until"),
    ],
)
def test_a_wrong_flag_is_refused(tenax, flags, said):
    refused = tenax("audit", *flags)
    assert refused.code == 2
    assert said in refused.err


def test_a_run_anew_names_both_executions(tenax):
    first = tenax("submit", "one.yaml", "--key", "order 7", "--json").json["id"]
    tenax("cancel", str(first), "--reason", "enough")
    anew = tenax("retry", str(first), "--new", "--reason", "once more", "--json").json["id"]
    [entry] = tenax("audit", "--json", "--action", "retry").json
    assert (entry["target"], entry["data"], entry["reason"]) == (str(first), {"execution": anew}, "once more")
    assert tenax("submit", "one.yaml", "--key", "order 7", "--json").json["id"] == first
