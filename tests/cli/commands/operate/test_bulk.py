"""Bulk jobs and saved filters, as a person calls them: on a server, and on the database itself."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

import pytest
from support.waiting import eventually

WAITS = "name: waits\nworkflow:\n  - {step: paid, type: wait, signal: payment}\n"


@pytest.fixture
def tenax(command, server, tmp_path):
    (tmp_path / "waits.yaml").write_text(WAITS)
    return lambda *arguments, **more: command(*arguments, **{"TENAX_SERVER": server, **more})


def submit(tenax, count: int) -> list[int]:
    return [tenax("submit", "waits.yaml", "--json").json["id"] for _ in range(count)]


def test_a_preview_is_started_and_carried_out(tenax):
    ids = submit(tenax, 3)
    shown = tenax("bulk", "cancel", "--filter", "workflow=waits", "--reason", "wrong day", "--preview")
    assert shown.code == 0, shown.err
    assert "bulk job 1: cancel 3 executions  preview" in shown.out
    assert "  filter: workflow=waits" in shown.out
    assert "the first of 3:" in shown.out
    assert "start it: tenax bulk start 1" in shown.out
    assert tenax("show", str(ids[0]), "--json").json["status"] == "running"
    started = tenax("bulk", "start", "1")
    assert "started by " in started.out
    job = eventually(
        lambda: (found := tenax("bulk", "show", "1", "--json").json)["state"] == "completed" and found
    )
    assert job["counts"] == {"pending": 0, "done": 3, "skipped": 0, "failed": 0}
    assert {tenax("show", str(one), "--json").json["status"] for one in ids} == {"cancelled"}
    words = tenax("events", str(ids[0])).out
    assert "asked for cancel in bulk job 1: wrong day" in words
    [head, row] = tenax("bulk", "list").out.splitlines()
    assert head.split() == ["id", "action", "state", "done", "skipped", "failed", "made", "by", "reason"]
    assert row.split()[:8] == ["1", "cancel", "completed", "3", "of", "3", "0", "0"]


def test_a_job_begins_at_once_and_is_stopped_and_resumed(tenax):
    submit(tenax, 3)
    begun = tenax("bulk", "pause", "--filter", "workflow=waits", "--reason", "why", "--rate", "1/h")
    assert begun.out.splitlines() == [
        "bulk job 1 has begun: pause 3 executions",
        "  the servers carry it out; see how far it is: tenax bulk show 1",
        "  stop it: tenax bulk stop 1",
    ]
    eventually(lambda: tenax("bulk", "show", "1", "--json").json["counts"]["done"] == 1)
    stopped = tenax("bulk", "stop", "1", "--reason", "wrong ones")
    assert "wrong ones" in stopped.out
    assert "rate: 1/h" in stopped.out
    assert "continue it: tenax bulk resume 1" in stopped.out
    assert tenax("bulk", "resume", "1", "--json").json["state"] == "running"
    assert tenax("bulk", "resume", "--filter", "status=paused", "--reason", "why").out.startswith(
        "bulk job 2 has begun: resume 1 execution\n"
    )
    eventually(lambda: tenax("bulk", "show", "2", "--json").json["state"] == "completed")


def test_a_filter_that_selects_nothing_starts_nothing(tenax):
    ended = tenax("bulk", "cancel", "--filter", "workflow=none", "--reason", "why")
    assert "the filter selects no execution: there is nothing to start" in ended.out
    assert tenax("bulk", "show", "1", "--json").json["state"] == "preview"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cancel",), "a bulk action needs a filter"),
        (("cancel", "--filter", " "), "a bulk action needs a filter"),
        (("cancel", "--filter", "status=failed"), "needs a reason"),
        (("cancel", "--filter", "status=faild", "--reason", "x"), "column 8: `status` is never 'faild'"),
        (("cancle", "--filter", "status=failed", "--reason", "x"), "did you mean `cancel`?"),
        (("cancel", "--filter", "status=failed", "--reason", "x", "--rate", "5"), "expected a rate such as 10/s"),
        (("pause", "--filter", "status=failed", "--reason", "x", "--canary", "2"), "`pause` leads to none"),
        (("show", "9"), "there is no bulk job 9"),
        (("show", "0"), "0 cannot be the number of a bulk job"),
        (("resume", "1", "--filter", "status=failed"), "exclude each other"),
    ],
)  # fmt: skip
def test_what_is_refused(tenax, arguments, said):
    ended = tenax("bulk", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_jobs_straight_on_the_database(command, tmp_path, database_url):
    (tmp_path / "waits.yaml").write_text(WAITS)

    def tenax(*arguments):
        return command(*arguments, TENAX_DATABASE_URL=database_url)

    submit(tenax, 2)
    begun = tenax("bulk", "cancel", "--filter", "workflow=waits", "--reason", "why", "--json").json
    assert (begun["state"], begun["total"]) == ("running", 2)
    assert tenax("bulk", "stop", "1", "--json").json["state"] == "stopped"
    assert [job["id"] for job in tenax("bulk", "list", "--json").json] == [1]
    assert tenax("bulk", "resume", "1", "--json").json["state"] == "running"


@pytest.mark.parametrize("direct", [True, False])
def test_saved_filters(command, tmp_path, database_url, server, direct):
    (tmp_path / "waits.yaml").write_text(WAITS)
    target = {"TENAX_DATABASE_URL": database_url} if direct else {"TENAX_SERVER": server}

    def tenax(*arguments):
        return command(*arguments, **target)

    [one] = submit(tenax, 1)
    assert tenax("filters").out.startswith("no filters are saved\n")
    saved = tenax("filters", "save", "mine", "workflow=waits status=running")
    assert saved.out.splitlines()[0] == "filter mine is saved"
    assert [row["id"] for row in tenax("list", "--filter", "@mine", "--json").json] == [one]
    assert tenax("list", "--filter", "@mine since=1h", "--status", "failed").out == "no executions\n"
    assert tenax("filters", "save", "mine", "key=x").out.startswith("filter mine is replaced\n")
    [head, row] = tenax("filters", "list").out.splitlines()
    assert head.split() == ["name", "filter", "saved", "by", "saved"]
    assert row.split()[:2] == ["mine", "key=x"]
    assert [one["name"] for one in tenax("filters", "--json").json] == ["mine"]
    assert "did you mean `mine`?" in tenax("filters", "remove", "mina").err
    assert tenax("filters", "remove", "mine").out == "filter mine is removed\n"
    ended = tenax("list", "--filter", "@mine")
    assert (ended.code, ended.err.splitlines()[0]) == (2, "tenax: no filter is saved under the name 'mine'")
    assert "there is no field `nam`" in tenax("filters", "save", "a", "nam=x").err
    assert "did you mean `save`?" in tenax("filters", "sav").err


def test_the_list_is_watched_until_ctrl_c(tenax, server, environment, tmp_path):
    out = tmp_path / "watched"
    with out.open("wb") as stdout:
        process = subprocess.Popen(
            [sys.executable, "-m", "tenax", "list", "--watch", "--filter", "workflow=waits"],
            env=environment(TENAX_SERVER=server),
            stdout=stdout,
            start_new_session=True,
        )
    try:
        eventually(lambda: "no executions" in out.read_text())
        [one] = submit(tenax, 1)
        eventually(lambda: re.search(rf"^ *{one} +waits +running", out.read_text(), re.MULTILINE))
        tenax("cancel", str(one))
        eventually(lambda: re.search(rf"^ *{one} +waits +cancelled", out.read_text(), re.MULTILINE))
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
    assert "exclude each other" in tenax("list", "--watch", "--json").err


def test_an_action_on_a_step_with_a_result(tenax):
    [one] = submit(tenax, 1)
    wanted = ("--filter", "workflow=waits", "--reason", "paid", "--step", "paid")
    assert tenax("bulk", "complete", *wanted, "--result", '{"eur": 12}').code == 0
    shown = eventually(
        lambda: (found := tenax("show", str(one), "--json").json)["status"] == "completed" and found
    )
    assert shown["result"] == {"paid": {"eur": 12}}
    job = tenax("bulk", "show", "1").out
    assert "  step: paid" in job
    assert '  result: {"eur": 12}' in job
    assert "not valid JSON" in tenax("bulk", "complete", *wanted, "--result", '{"eur": 12').err
    assert "complete needs the `result`" in tenax("bulk", "complete", *wanted).err
    assert "--policy: expected a JSON object" in tenax("bulk", "reschedule", *wanted, "--policy", "[1]").err


def test_letters_are_redriven_by_a_filter(tenax):
    wanted = ("--filter", "workflow=waits text=refused", "--reason", "it is up again")
    made = tenax("bulk", "redrive", *wanted, "--canary", "2", "--preview")
    assert "bulk job 1: redrive 0 dead letters  preview" in made.out
    assert "the filter selects no dead letter: there is nothing to start" in made.out
    by_letters = tenax("dead-letters", "redrive", "--workflow", "waits", *wanted[2:], "--preview")
    assert "  filter: status=open workflow=waits" in by_letters.out
    assert (
        "`status` is never 'failed'" in tenax("bulk", "redrive", "--filter", "status=failed", *wanted[2:]).err
    )
    assert "redrive takes no `step`" in tenax("bulk", "redrive", *wanted, "--step", "a").err
