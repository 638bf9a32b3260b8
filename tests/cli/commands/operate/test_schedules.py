"""`schedules` and `submit --at`, `--in`: straight on the database, and on a server."""

from __future__ import annotations

import json

import pytest

NIGHTLY = """
name: nightly
input: {n: {type: integer, default: 0}}
schedule: {cron: "30 2 * * *", timezone: Europe/Zurich, overlap: queue, jitter: 5m}
workflow: [{step: only, type: python, task: "t:t"}]
"""
PLAIN = "name: plain\nworkflow: [{step: only, type: python, task: 't:t'}]\n"


@pytest.fixture(params=["database", "server"])
def tenax(request, command, database_url, tmp_path):
    target = (
        {"TENAX_DATABASE_URL": database_url}
        if request.param == "database"
        else {"TENAX_SERVER": request.getfixturevalue("server")}
    )
    (tmp_path / "nightly.yaml").write_text(NIGHTLY)
    (tmp_path / "plain.yaml").write_text(PLAIN)
    return lambda *arguments, **more: command(*arguments, **{**target, **more})


def test_the_schedule_of_a_stored_file(tenax):
    assert tenax("schedules").out.startswith("no schedules\n  declare one in a workflow file")
    assert tenax("store", "nightly.yaml").code == 0
    listed = tenax("schedules", "list")
    assert "cron 30 2 * * * in Europe/Zurich" in listed.out
    shown = tenax("schedules", "show", "nightly")
    assert shown.out.startswith("schedule nightly starts workflow nightly: cron 30 2 * * * in Europe/Zurich")
    assert "overlap: queue, jitter: 5m, declared by its file" in shown.out
    assert tenax("schedules", "delete", "nightly").code != 0
    assert "store the file without `schedule`" in tenax("schedules", "delete", "nightly").err


def test_a_schedule_from_its_creation_to_its_end(tenax):
    tenax("store", "plain.yaml")
    created = tenax(
        "schedules", "create", "often", "--workflow", "plain", "--every", "10m", "--catch-up", "0"
    )
    assert (created.code, created.out.startswith("schedule often is created; its next tick is 20")) == (
        0,
        True,
    )
    assert "is replaced" in tenax("schedules", "create", "often", "--workflow", "plain", "--every", "5m").out
    paused = tenax("schedules", "pause", "often", "--reason", "holidays").out
    assert paused.startswith("schedule often is paused\n  let it go on: ")
    shown = tenax("schedules", "show", "often", "--json").json
    assert (shown["state"], shown["paused_why"], shown["schedule"]) == (
        "paused",
        "holidays",
        {"every": 300.0},
    )
    assert tenax("schedules", "resume", "often").out == "schedule often goes on\n"
    run = tenax("schedules", "run-now", "often", "--json").json
    shown = tenax("schedules", "show", "often").out
    assert "started by hand" in shown
    assert f"{run['execution_id']} running" in shown
    assert tenax("schedules", "delete", "often").out == "schedule often is deleted\n"
    gone = tenax("schedules", "show", "often")
    assert (gone.code, "no schedule 'often'" in gone.err) == (2, True)


def test_the_next_ticks_of_a_name_a_file_and_an_expression(tenax):
    tenax("store", "nightly.yaml")
    of_name = tenax("schedules", "next", "nightly", "-n", "3").out
    assert len(of_name.splitlines()) == 3
    assert all(" 02:30:00+0" in line or " 03:00:00+0" in line for line in of_name.splitlines())
    assert tenax("schedules", "next", "nightly.yaml", "--count", "3").out == of_name
    of_text = tenax(
        "schedules", "next", "30 2 * * *", "--timezone", "Europe/Zurich", "-n", "3", "--json"
    ).json
    assert of_text == tenax("schedules", "next", "nightly", "-n", "3", "--json").json
    wrong = tenax("schedules", "next", "30 25 * * *")
    assert (wrong.code, "bad hour" in wrong.err) == (2, True)
    assert "declares no schedule" in tenax("schedules", "next", "plain.yaml").err


def test_mistakes_in_a_schedule(tenax):
    wrong = tenax("schedules", "create", "often", "--every", "10m", "--overlap", "skp", "--timezone", "Mars")
    assert wrong.code == 2
    assert "overlap: `skp` is no way to treat an overlap; did you mean `skip`?" in wrong.err
    assert "timezone: `Mars` is not a time zone" in wrong.err
    unknown = tenax("schedules", "create", "often", "--every", "10m")
    assert "there is no workflow named 'often'" in unknown.err
    assert "unknown command `schedules lst`; did you mean `list`?" in tenax("schedules", "lst").err


def test_a_submission_that_starts_later(tenax):
    later = tenax("submit", "plain.yaml", "--in", "2h")
    assert "paused" not in later.out
    assert (later.code, " is submitted and starts at 20" in later.out) == (0, True)
    number = json.loads(tenax("submit", "plain.yaml", "--at", "2999-01-31T09:30", "--json").out)["id"]
    assert tenax("show", str(number), "--json").json["starts_at"] == "2999-01-31T09:30:00Z"
    shown = tenax("show", str(number)).out
    assert "scheduled" in shown.splitlines()[0]
    assert "it starts at 2999-01-31T09:30:00Z" in shown
    assert tenax("cancel", str(number)).code == 0
    both = tenax("submit", "plain.yaml", "--in", "2h", "--at", "2999-01-31T09:30")
    assert (both.code, "exclude each other" in both.err) == (2, True)
    assert "expected a time" in tenax("submit", "plain.yaml", "--at", "noon").err


def test_a_submitted_file_says_that_its_schedule_needs_to_be_stored(tenax):
    assert "its schedule applies only once the file is stored" in tenax("submit", "nightly.yaml").out
    assert tenax("schedules", "--json").json == []
