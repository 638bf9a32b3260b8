"""Tests `tenax queues`: the work and the limits of queues, over HTTP and on the database itself."""

from __future__ import annotations

import re

import pytest

from tenax.model.fleet.queue_limits import rate_words

WORK = """
name: work
workflow:
  - {step: one, type: process, command: "true"}
  - {step: other, type: process, command: "true", queue: gpu}
"""
NO_LIMITS = {"concurrency": None, "rate": None, "burst": None}


@pytest.fixture(params=["over HTTP", "on the database"])
def tenax(request, command, server, database_url, tmp_path):
    (tmp_path / "work.yaml").write_text(WORK)
    where = {"TENAX_SERVER": server} if request.param == "over HTTP" else {"TENAX_DATABASE_URL": database_url}
    return lambda *arguments, **more: command(*arguments, **where, **more)


def test_nothing_yet(tenax):
    nothing = tenax("queues")
    assert (nothing.code, nothing.err) == (0, "")
    assert nothing.out == "no queues: nothing is queued, no worker is live, and there are no limits\n"
    assert tenax("queues", "--json").json == []


def test_the_table_of_queues(tenax):
    tenax("submit", "work.yaml")
    assert tenax("queues", "limit", "gpu", "--concurrency", "2", "--rate", "30/m").code == 0
    head, *rows = tenax("queues").out.splitlines()
    titles = [
        "queue",
        "ready",
        "waiting",
        "running",
        "blocked",
        "oldest",
        "ended/min",
        "workers",
        "concurrency",
        "rate",
        "burst",
    ]
    assert head.split() == titles
    cells = {row.split()[0]: re.split(r"  +", row.strip()) for row in rows[:2]}
    assert cells["default"][1:5] == ["1", "0", "0", "0"]
    assert cells["default"][7:] == ["0", "-", "-", "-"]
    assert cells["gpu"][7:] == ["0", "2", "30/m", "1"]
    assert rows[2] == (
        "no live worker serves default, gpu; start one: tenax worker --queue default --queue gpu"
    )


def limits(tenax, *flags: str) -> dict[str, float | None]:
    ended = tenax("queues", "limit", "default", *flags, "--json")
    assert (ended.code, ended.err) == (0, "")
    return {name: ended.json[name] for name in NO_LIMITS}


def test_what_is_not_named_stays_as_it_is(tenax):
    assert limits(tenax, "--concurrency", "5") == {**NO_LIMITS, "concurrency": 5}
    assert limits(tenax, "--rate", "10/s") == {"concurrency": 5, "rate": 10.0, "burst": 10}
    assert limits(tenax, "--rate", "120/m") == {"concurrency": 5, "rate": 2.0, "burst": 2}, (
        "it was not chosen"
    )
    assert limits(tenax, "--burst", "7") == {"concurrency": 5, "rate": 2.0, "burst": 7}
    assert limits(tenax, "--rate", "3/s") == {"concurrency": 5, "rate": 3.0, "burst": 7}, "it was chosen"
    assert limits(tenax, "--concurrency", "none") == {"concurrency": None, "rate": 3.0, "burst": 7}
    assert limits(tenax, "--rate", "none") == NO_LIMITS


def test_limits_in_words(tenax):
    tenax("submit", "work.yaml")
    said = tenax("queues", "limit", "gpu", "--concurrency", "5", "--rate", "10/s", "--reason", "a slow host")
    assert (said.code, said.err) == (0, "")
    assert said.out == "queue gpu: at most 5 at once, at most 10/s started, 10 of them at once\n"
    assert (
        tenax("queues", "limit", "gpu", "--concurrency", "none", "--rate", "none").out
        == "queue gpu: no limits\n"
    )
    mistyped = tenax("queues", "limit", "gup", "--concurrency", "1")
    assert mistyped.out == (
        "queue gup: at most 1 at once\n"
        "  nothing is queued there, and no live worker serves it; did you mean `gpu`?\n"
    )


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("limit", "gpu"), "there is no limit to set"),
        (("limit", "a b", "--rate", "1/s"), "is not a name"),
        (
            ("limit", "gpu", "--rate", "10"),
            "--rate 10: expected a rate such as 10/s, 600/m or 60/h, or `none`",
        ),
        (("limit", "gpu", "--rate", "10/year"), "expected a rate such as"),
        (("limit", "gpu", "--rate", "0/s"), "--rate 0/s: expected a rate from 1/d to 1,000,000/s, or `none`"),
        (("limit", "gpu", "--rate", "-5/s"), "--rate -5/s: expected a rate such as 10/s"),
        *(
            (
                ("limit", "gpu", "--concurrency", wrong),
                f"--concurrency {wrong}: expected a whole number from 1 to 1,000,000, or `none`",
            )
            for wrong in ("0", "-1", "many", "1000001", "9" * 20)
        ),
        (
            ("limit", "gpu", "--rate", "1/s", "--burst", "0"),
            "--burst 0: expected a whole number from 1 to 1,000,000\n",
        ),
        (("limit", "gpu", "--burst", "3"), "give a `rate` as well"),
        (("limit", "gpu", "--burst", "none"), "a rate always has a burst"),
        (("limit", "gpu", "--rate", "none", "--burst", "3"), "give a `rate` as well"),
        (("limits", "gpu"), "unknown command `queues limits`; did you mean `limit`?"),
    ],
)
def test_what_is_refused(command, database_url, arguments, part):
    refused = command("queues", *arguments, TENAX_DATABASE_URL=database_url)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("tenax: ")
    assert part in refused.err


@pytest.mark.parametrize(
    ("rate", "words"),
    [(10, "10/s"), (2.5, "2.5/s"), (1, "1/s"), (0.5, "30/m"), (1 / 60, "1/m"), (1 / 3600, "1/h"), (1 / 86400, "1/d"), (1_000_000, "1,000,000/s")],
)  # fmt: skip
def test_a_rate_in_words(rate, words):
    assert rate_words(rate) == words


def test_a_queue_is_paused_and_resumed(tenax):
    tenax("submit", "work.yaml")
    paused = tenax("queues", "pause", "gpu", "--reason", "the cards are away")
    assert paused.out.splitlines()[0] == "queue gpu is paused"
    assert "let it go on: tenax queues resume gpu" in paused.out
    assert tenax("queues", "pause", "gpu", "--json").json == {
        "queue": "gpu",
        "paused": True,
        "changed": False,
    }
    shown = " ".join(tenax("queues").out.split())
    assert "gpu is paused by " in shown
    assert ": the cards are away; let it go on: tenax queues resume gpu" in shown
    assert "Queue gpu does not move: it is paused by " in tenax("explain", "--queue", "gpu").out
    assert "did you mean `gpu`?" in tenax("queues", "pause", "gpy").out
    assert tenax("queues", "resume", "gpu").out == "queue gpu goes on\n"
    assert tenax("queues", "resume", "gpu").out == "queue gpu was not paused\n"


def test_a_workflow_is_paused_and_resumed(tenax):
    assert tenax("store", "work.yaml").code == 0
    paused = tenax("workflows", "pause", "work", "--reason", "wrong prices")
    assert (
        paused.out.splitlines()[0] == "workflow work is paused: its executions are paused one after the other"
    )
    assert "work was paused already" in tenax("workflows", "pause", "work").out
    listed = tenax("workflows")
    assert re.search(
        r"work is paused by \S+: wrong prices; let it go on: tenax workflows resume work", listed.out
    )
    assert tenax("submit", "work").out.splitlines()[2:] == [
        "  it begins paused, because its workflow is paused; let that go on: tenax workflows resume work"
    ]
    number = tenax("submit", "work", "--json").json["id"]
    assert tenax("show", str(number), "--json").json["status"] == "paused"
    assert "wrong prices" in tenax("explain", str(number)).out
    assert tenax("workflows", "resume", "work").out == "workflow work goes on\n"
    assert tenax("workflows", "resume", "work", "--json").json["changed"] is False
    missing = tenax("workflows", "pause", "wrok")
    assert missing.code != 0
    assert "did you mean `work`?" in missing.err
    assert tenax("workflows", "--name", "work", "--json").json[0]["paused_by"] is None
    assert "unknown command `workflows puase`; did you mean `pause`?" in tenax("workflows", "puase").err


def test_a_paused_workflow_that_was_never_stored_is_listed(tenax):
    """Otherwise nothing but its executions would tell that new ones begin paused."""
    tenax("submit", "work.yaml")
    assert tenax("workflows").out == "no workflows\n"
    tenax("workflows", "pause", "work")
    listed = tenax("workflows").out
    assert re.search(r"^work .* not stored$", listed, re.MULTILINE)
    assert "work is paused by" in listed
    tenax("workflows", "resume", "work")
    assert tenax("workflows").out == "no workflows\n"
