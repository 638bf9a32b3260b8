"""Tests commands on executions, on the database itself. The work is done by hand (`tests/support/hand.py`)."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from support.hand import Hand

from tenax.model.attempt.outcome import Outcome

TWO_STEPS = """
name: nightly
version: 3
input: {url: {type: string, required: true}, count: {type: integer, default: 1}}
workflow:
  - step: fetch
    type: http
    url: "{{ input.url }}"
    retry: {max_attempts: 3, initial_delay: 1, jitter: 0}
  - step: load
    type: process
    command: "true"
    needs: [fetch]
"""
ONE_STEP = """
name: one
workflow:
  - {step: only, type: process, command: "true", retry: {max_attempts: 3, initial_delay: 1, jitter: 0}}
"""


@pytest.fixture
def tenax(command, database_url, tmp_path):
    (tmp_path / "two.yaml").write_text(TWO_STEPS)
    (tmp_path / "one.yaml").write_text(ONE_STEP)
    return lambda *arguments, **more: command(*arguments, TENAX_DATABASE_URL=database_url, **more)


async def fail_twice_then_succeed(hand: Hand) -> None:
    for delay in (1, 2):
        await hand.clock.advance(0.25)
        assignment = await hand.lease_one()
        await hand.clock.advance(0.5)
        await hand.fail(assignment)
        await hand.clock.advance(delay)
    await hand.succeed(await hand.lease_one(), {"rows": 2})


async def fail_always(hand: Hand) -> None:
    for _ in range(3):
        await hand.fail(await hand.lease_one())
        await hand.clock.advance(10)


def test_submit_and_look(tenax, play, tmp_path):
    submitted = tenax("submit", "two.yaml", "--input", "url=http://x/", "--input", "count=5", "--json")
    assert (submitted.code, submitted.err) == (0, "")
    assert submitted.json == {"id": submitted.json["id"], "created": True}
    number = str(submitted.json["id"])
    shown = tenax("show", number, "--json").json
    assert (shown["id"], shown["status"], shown["result"]) == (int(number), "running", None)
    assert shown["input"] == {"url": "http://x/", "count": 5}
    assert [(name, step["status"]) for name, step in shown["steps"].items()] == [
        ("fetch", "queued"),
        ("load", "pending"),
    ]

    async def base_dir(hand: Hand) -> Any:
        [row] = await hand.sql("select base_dir from tenax.execution")
        return row["base_dir"]

    assert Path(play(base_dir)) == tmp_path.resolve()


@pytest.mark.parametrize(
    ("written", "value"),
    [("5", 5), ("true", True), ('"5"', "5"), ("[1, 2]", [1, 2]), ("text", "text"), ("a=b", "a=b"), ("", ""),
     ("NaN", "NaN"), ("1e999", "1e999"), ("null", None), ("{a", "{a"), ("-1", -1)],
)  # fmt: skip
def test_an_input_is_json_if_it_parses_else_text(written, value):
    from tenax.cli.input.inputs import parse_inputs

    assert parse_inputs([f"k={written}"]) == {"k": value}


def test_inputs_from_a_file_and_from_flags(tenax, tmp_path):
    (tmp_path / "in.json").write_text('{"url": "http://x/", "count": 2}')
    number = tenax("submit", "two.yaml", "--input-file", "in.json", "--input", "count=3", "--json").json["id"]
    assert tenax("show", str(number), "--json").json["input"] == {"url": "http://x/", "count": 3}


def test_inputs_that_do_not_fit(tenax):
    ended = tenax("submit", "two.yaml", "--input", "cuont=1")
    assert (ended.code, ended.out) == (2, "")
    assert "url" in ended.err
    assert "did you mean `count`?" in ended.err


def test_the_same_key_is_the_same_execution(tenax):
    first = tenax("submit", "one.yaml", "--key", "k1", "--json").json
    again = tenax("submit", "one.yaml", "--key", "k1", "--json").json
    assert again == {"id": first["id"], "created": False}
    assert tenax("submit", "one.yaml", "--key", "k1").out == (
        f"execution {first['id']} has this key already: nothing new was started\n"
    )


def test_the_same_key_with_another_input(tenax):
    def submit(*flags):
        return tenax("submit", "two.yaml", "--key", "k1", "--input", "url=http://x/", *flags)

    assert submit().code == 0
    assert "not the one it runs with" not in submit("--input", "count=1").out, "the default is the same"
    other = submit("--input", "count=2")
    assert other.code == 0
    assert other.out.splitlines() == [
        "execution 1 has this key already: nothing new was started",
        '  the input given now is not the one it runs with: {"url": "http://x/", "count": 1}',
    ]
    as_json = submit("--input", "count=2", "--json")
    assert as_json.json == {"id": 1, "created": False}
    assert as_json.err == other.out


def test_the_same_input_twice(tenax):
    ended = tenax("submit", "two.yaml", "--input", "url=a", "--input", " url =b")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "tenax: --input url is given twice\n  keep one of them\n"


def test_submit_from_stdin(tenax):
    ended = tenax("submit", "-", stdin=ONE_STEP)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "execution 1 is submitted",
        "  follow it: tenax show 1 --follow",
        "  no worker is alive: start `tenax up`, or run it here: tenax run --resume 1",
    ]


def test_where_a_worker_is_alive_nothing_is_said_of_it(tenax, play):
    async def register(hand: Hand) -> None:
        await hand.register()

    play(register)
    assert "worker" not in tenax("submit", "one.yaml").out


def test_a_server_can_start_after_a_command_was_first(tenax, play):
    """The log must have its partitions before anything is written to it."""
    assert tenax("submit", "one.yaml").code == 0

    async def partitions(hand: Hand) -> Any:
        return await hand.sql("select count(*) from tenax.log_default")

    [row] = play(partitions)
    assert row["count"] == 0


def test_the_servers_hear_of_a_submission(tenax, database_url):
    """A command ends before any loop of the engine would have told them."""

    async def heard() -> str:
        listening = await asyncpg.connect(database_url)
        messages: asyncio.Queue[str] = asyncio.Queue()
        await listening.add_listener("tenax_news", lambda *told: messages.put_nowait(told[3]))
        try:
            ended = await asyncio.to_thread(tenax, "submit", "one.yaml")
            assert ended.code == 0
            async with asyncio.timeout(20):
                return await messages.get()
        finally:
            await listening.close()

    assert json.loads(asyncio.run(heard()))["ready"] is True


def test_the_events_of_a_step_that_fails_twice(tenax, play):
    tenax("submit", "one.yaml")
    play(fail_twice_then_succeed)
    ended = tenax("events", "1", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert [(e["type"], e["attempt"], e["data"].get("delay_seconds")) for e in ended.json] == [
        ("execution_started", None, None),
        ("step_enqueued", None, None),
        ("action_started", 1, None),
        ("action_error", 1, None),
        ("step_retry", 1, 1.0),
        ("action_started", 2, None),
        ("action_error", 2, None),
        ("step_retry", 2, 2.0),
        ("action_started", 3, None),
        ("action_completed", 3, None),
        ("step_completed", None, None),
        ("execution_completed", None, None),
    ]
    assert [e["seq"] for e in ended.json] == list(range(1, 13))
    assert set(ended.json[0]) == {"id", "seq", "type", "at", "step", "item", "attempt", "data"}
    assert [e["seq"] for e in tenax("events", "1", "--after", "10", "--json").json] == [11, 12]
    lines = tenax("events", "1").out.splitlines()
    assert len(lines) == 13
    assert lines[5].split()[0] == "5"
    assert lines[5].endswith("retry in 1s (2 retries left)")


def test_the_timeline_in_plain_text(tenax, play):
    tenax("submit", "one.yaml")
    play(fail_twice_then_succeed)
    ended = tenax("show", "1")
    assert (ended.code, ended.err) == (0, "")
    head, *rest = ended.out.splitlines()
    assert re.fullmatch(r"execution 1 of one: completed in \S+( \S+)*", head)
    table = rest[rest.index("") + 1 :]
    assert [re.split(r"  +", line.strip()) for line in table[:5]] == [
        ["step", "status", "attempt", "start", "took", "outcome", "then"],
        ["only", "completed", "3 of 3"],
        [
            "1",
            table[2].split()[1],
            "500ms",
            "failed: transient (http_503): 503 Service Unavailable",
            "retry in 1s",
        ],
        [
            "2",
            table[3].split()[1],
            "500ms",
            "failed: transient (http_503): 503 Service Unavailable",
            "retry in 2s",
        ],
        ["3", table[4].split()[1], "0s", "succeeded"],
    ]
    starts = [float(line.split()[1].strip("+s")) for line in table[2:5]]
    assert starts[1] - starts[0] == pytest.approx(
        0.5 + 1 + 0.25, abs=0.0011
    )  # both are rounded to milliseconds
    assert starts[2] - starts[1] == pytest.approx(0.5 + 2)
    assert "\x1b" not in ended.out


def test_a_failed_execution(tenax, play):
    tenax("submit", "two.yaml", "--input", "url=http://x/")
    play(fail_always)
    ended = tenax("show", "1")
    assert ended.code == 0
    assert "failure in step fetch: transient (http_503): 503 Service Unavailable" in ended.out
    assert "no retry: attempts used up" in ended.out
    words = tenax("events", "1").out
    assert "failed for good (attempts used up): transient (http_503)" in words
    assert "execution failed in step fetch: transient (http_503)" in words
    assert re.search(r"^load +unreachable +- +because of fetch$", ended.out, re.MULTILINE)
    body = tenax("show", "1", "--json").json
    assert body["status"] == "failed"
    assert [(step["status"], len(step["attempts"])) for step in body["steps"].values()] == [
        ("failed", 3),
        ("unreachable", 0),
    ]
    followed = tenax("show", "1", "--follow", "--json")
    assert (followed.code, followed.json["status"]) == (1, "failed")
    assert "attempt 1 of 3 started" in followed.err


def test_ctrl_c_ends_a_follower_quietly(tenax, database_url, environment):
    tenax("submit", "one.yaml")
    following = subprocess.Popen(
        [sys.executable, "-m", "tenax", "show", "1", "--follow"],
        env=environment(TENAX_DATABASE_URL=database_url),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert following.stdout is not None
    assert following.stdout.readline() == "execution 1 of workflow one\n"
    assert following.stdout.readline().startswith("no worker is alive: ")
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=60)
    assert (following.returncode, err) == (130, "")


def test_text_from_elsewhere_cannot_steer_the_terminal(tenax, play):
    async def fail_wildly(hand: Hand) -> None:
        await hand.fail(await hand.lease_one(), message="\x1b[2J[bold]boo[/bold]\r", fatal=True)

    tenax("submit", "one.yaml")
    play(fail_wildly)
    for arguments in (("show", "1"), ("list",), ("explain", "1")):
        ended = tenax(*arguments)
        assert ended.code == 0
        assert "\x1b" not in ended.out
        assert "\\x1b[2J[bold]boo[/bold]" in ended.out


def test_explain_has_all_rules_of_the_last_decision_alone(tenax, play):
    async def fail_three_times(hand: Hand) -> None:
        for _ in range(3):
            await hand.fail(await hand.lease_one())
            await hand.clock.advance(10)

    tenax("submit", "one.yaml")
    play(fail_three_times)
    diagnosis, first, second, last, more = tenax("explain", "1").out.split("\n\n")
    assert diagnosis.splitlines()[:4] == [
        (
            "Execution 1 failed because step only failed: transient (http_503): 503 Service Unavailable. "
            "The attempts are used up; attempt 3 of 3 (0 retries left)."
        ),
        "What you can do:",
        "  to have more attempts: raise `max_attempts` (it is 3)",
        "  give it one more attempt, with what has succeeded kept: tenax retry 1 --step only",
    ]
    assert first.splitlines()[-2:] == ["Of 7 rules looked at:", "  -> retry: delay 1s"]
    assert second.splitlines()[-2:] == ["Of 7 rules looked at:", "  -> retry: delay 2s"]
    assert last == tenax("explain", "1", "--attempt", "3").out.rstrip("\n")
    assert last.splitlines()[-8:] == [
        "Attempts: attempt 3 of 3 (0 retries left).",
        "Rules looked at, in order:",
        "     execution_ended: execution_open true",
        "     never_retried_class: class transient",
        "     not_retryable: retryable true",
        "     retries_disabled: retries_enabled true",
        "     class_default: class transient, reason http_503, retried true",
        "  -> attempts_exhausted: counted 3, max_attempts 3",
    ]
    assert more == "all rules for each attempt: tenax explain 1 --all\n"
    assert "tenax explain 1 --step only --all\n" in tenax("explain", "1", "--step", "only").out
    assert "all rules for each" not in tenax("explain", "1", "--all").out


def test_explain_names_the_rule_the_class_the_attempts_and_the_delay(tenax, play):
    tenax("submit", "one.yaml")
    play(fail_twice_then_succeed)
    everything = tenax("explain", "1")
    assert everything.code == 0
    one = tenax("explain", "1", "--step", "only", "--attempt", "2")
    assert one.out in tenax("explain", "1", "--all").out
    brief, _, _ = one.out.partition("Rules looked at")
    assert brief in everything.out
    for words in (
        "Step only, attempt 2: retry.",
        "What happened: transient (http_503)",
        "Decided by: retry - ",
        "attempt 2 of 3 (1 retry left)",
        "The exponential curve gives 2s after 2 counted failures",
    ):
        assert words in one.out
    everything = tenax("explain", "1", "--json").json
    assert everything["diagnosis"]["sentence"] in tenax("explain", "1").out
    assert all(body["text"] in tenax("explain", "1", "--all").out for body in everything["decisions"])
    alone = tenax("explain", "1", "--attempt", "2", "--json").json
    assert alone["diagnosis"] is None
    [body] = alone["decisions"]
    assert (body["step"], body["attempt"], body["verdict"], body["rule"]) == ("only", 2, "retry", "retry")
    missing = tenax("explain", "1", "--step", "olny")
    assert (missing.code, missing.out) == (2, "")
    assert "only" in missing.err


def test_explain_of_a_worker_a_queue_and_of_nothing(tenax, play):
    tenax("submit", "one.yaml")
    assert tenax("explain", "--queue", "default").out.splitlines()[0] == (
        "Queue default does not move: 1 item is ready, and no worker is live."
    )

    async def arrive(hand: Hand) -> None:
        await hand.register("w1")

    play(arrive)
    assert tenax("explain", "--worker", "w1").code == 0
    assert tenax("explain", "--worker", "w1", "--json").json["about"] == "worker w1"
    for arguments in (
        (),
        ("1", "--worker", "w1"),
        ("--worker", "w1", "--queue", "q"),
        ("--queue", "q", "--step", "s"),
    ):
        refused = tenax("explain", *arguments)
        assert (refused.code, refused.out) == (2, "")


def test_explain_names_the_commands_with_the_flags_that_were_given(tenax):
    tenax("submit", "one.yaml")
    assert "start a server with workers: tenax up" in tenax("explain", "1").out
    tenax("pause", "1")
    assert "  let it go on: tenax resume 1" in tenax("explain", "1").out.splitlines()


def test_list_and_its_filters(tenax, play):
    tenax("submit", "one.yaml")
    play(fail_always)
    tenax("submit", "two.yaml", "--input", "url=http://x/")
    assert [(row["id"], row["workflow"], row["status"]) for row in tenax("list", "--json").json] == [
        (2, "nightly", "running"),
        (1, "one", "failed"),
    ]

    def ids(*flags):
        return [row["id"] for row in tenax("list", "--json", *flags).json]

    assert ids("--status", "failed", "--status", "completed", "--since", "2000-01-01T00:00:00Z") == [1]
    assert ids("--workflow", "one", "--before", "2", "--limit", "1") == [1]
    assert ids("--since", "9999-01-01T00:00:00Z") == []
    lines = tenax("list").out.splitlines()
    assert lines[0].split() == ["id", "workflow", "status", "started", "now", "last", "error"]
    assert "fetch queued" in lines[1]
    assert lines[2].endswith("503 Service Unavailable")
    assert tenax("list", "--workflow", "none").out == "no executions\n"


def test_list_says_when_a_retry_is_due(tenax, play):
    async def fail(hand: Hand) -> None:
        await hand.fail(await hand.lease_one())
        await hand.clock.advance(0.25)

    async def pass_time(hand: Hand) -> None:
        await hand.clock.advance(60)

    tenax("submit", "one.yaml")
    play(fail)
    assert "  only retrying, retry in 750ms, attempt 1 of 3  " in tenax("list").out
    [row] = tenax("list", "--json").json
    assert row["waiting"]["due_in"] == 0.75
    play(pass_time)
    assert "retry due, attempt 1 of 3" in tenax("list").out
    assert tenax("list", "--json").json[0]["waiting"]["due_in"] == 0


def test_cancel(tenax, play):
    tenax("submit", "one.yaml")
    ended = tenax("cancel", "1", "--reason", "not today", "--json")
    assert (ended.code, ended.json) == (0, {"id": 1, "status": "cancelled"})
    events = tenax("events", "1", "--json").json
    asked = next(e for e in events if e["type"] == "operator_action")
    assert asked["data"]["reason"] == "not today"
    assert asked["data"]["actor"]
    again = tenax("cancel", "1")
    assert (again.code, again.out) == (0, "execution 1 was cancelled already\n"), "it is what was wanted"
    tenax("submit", "one.yaml")

    async def succeed(hand: Hand) -> None:
        await hand.succeed(await hand.lease_one())

    play(succeed)
    late = tenax("cancel", "2")
    assert (late.code, late.err) == (2, "tenax: execution 2 is completed: there is nothing to cancel\n")


def test_cancel_what_runs(tenax, play):
    async def lease(hand: Hand) -> None:
        await hand.lease_one()

    tenax("submit", "one.yaml")
    play(lease)
    assert "only running, attempt 1 of 3" in tenax("list").out
    assert tenax("cancel", "1").out == (
        "execution 1 is cancelled; running attempts are stopped at the next heartbeat of their worker (within 10s)\n"
    )


def test_attempts_that_do_not_count(tenax, play):
    async def snooze_then_fail(hand: Hand) -> None:
        await hand.report(await hand.lease_one(), Outcome("snoozed", after=5))
        await hand.clock.advance(5)
        await hand.fail(await hand.lease_one())
        await hand.clock.advance(1)
        await hand.lease_one()

    tenax("submit", "one.yaml")
    play(snooze_then_fail)
    words = tenax("events", "1").out
    assert "retry in 5s (attempt 1 of 3, not counted)" in words
    assert "attempt 2 (counted: 1 of 3) started" in words
    assert "retry in 1s (2 retries left)" in words
    assert "attempt 3 (counted: 2 of 3) started" in tenax("events", "1", "--after", "8").out
    assert "attempt 2 (counted" not in tenax("events", "1", "--after", "8").out
    assert re.search(r"^only +running +3 \(counted: 2 of 3\)", tenax("show", "1").out, re.MULTILINE)
    assert "only running, attempt 3 (counted: 2 of 3)" in tenax("list").out


PARALLEL = """
name: parallel
workflow:
  - {step: queued, type: process, command: "true", labels: {gpu: "yes"}}
  - {step: failing, type: process, command: "true", retry: {max_attempts: 3, initial_delay: 1h, jitter: 0}}
"""


def test_the_list_shows_the_error_of_what_waits_for_a_retry(tenax, play, tmp_path):
    async def fail_one(hand: Hand) -> None:
        await hand.fail(await hand.lease_one())

    (tmp_path / "parallel.yaml").write_text(PARALLEL)
    tenax("submit", "parallel.yaml")
    play(fail_one)
    [_, line] = tenax("list").out.splitlines()
    assert "failing retrying, retry in 1h, attempt 1 of 3" in line
    assert line.endswith("503 Service Unavailable")


UNDONE = """
name: undone
workflow:
  - {step: book, type: process, command: "true", compensate: {type: process, command: "true"}}
  - {step: pay, type: process, command: "true", needs: [book], retry: false}
"""


def test_the_list_says_what_is_being_undone(tenax, play, tmp_path):
    async def fail_then_undo(hand: Hand) -> None:
        await hand.succeed(await hand.lease_one())
        await hand.fail(await hand.lease_one())

    async def begin(hand: Hand) -> None:
        await hand.lease_one()

    (tmp_path / "undone.yaml").write_text(UNDONE)
    tenax("submit", "undone.yaml")
    play(fail_then_undo)
    assert "  undoing book (queued): no worker is live  " in tenax("list").out
    play(begin)
    assert "  undoing book, attempt 1 of " in tenax("list").out


def test_what_a_failed_attempt_left_behind(tenax, play):
    written = "\n".join(f"line {n}" for n in range(1, 21))

    async def fail_loudly(hand: Hand) -> None:
        await hand.fail(
            await hand.lease_one(),
            fatal=True,
            message="line 20",
            stderr_tail=written,
            traceback="Traceback\n  here",
        )

    tenax("submit", "one.yaml")
    play(fail_loudly)
    shown = tenax("show", "1").out
    assert "  traceback:\n    Traceback\n      here\n" in shown
    assert "its last 8 lines of 20 (all: tenax show 1 --step only --attempt 1):\n    line 13\n" in shown
    assert "line 12" not in shown
    assert "no retry: its class is not retried" in shown
    assert "line 13" in tenax("explain", "1").out
    whole = tenax("show", "1", "--step", "only", "--attempt", "1")
    assert written.replace("\n", "\n    ") in whole.out
    body = tenax("show", "1", "--step", "only", "--json").json
    assert list(body["steps"]) == ["only"]
    for flags, words in (
        (("--step", "olny"), "did you mean `only`?"),
        (("--step", "only", "--attempt", "2"), "has no attempt 2"),
        (("--attempt", "1"), "name the step: --step STEP"),
    ):
        ended = tenax("show", "1", *flags)
        assert (ended.code, ended.out) == (2, "")
        assert words in ended.err


def test_retry_what_waits_now(tenax, play):
    async def fail_once(hand: Hand) -> None:
        await hand.fail(await hand.lease_one())

    tenax("submit", "one.yaml")
    play(fail_once)
    assert "next attempt in 1s" in tenax("show", "1").out
    ended = tenax("retry", "1", "--json")
    assert (ended.code, ended.json) == (
        0,
        {
            "id": 1,
            "action": "retry",
            "status": "running",
            "changed": True,
            "steps": ["only"],
            "items": 1,
            "reopened": [],
        },
    )
    assert "next attempt is due" in tenax("show", "1").out


def test_retry_a_finished_execution(tenax, play):
    tenax("submit", "two.yaml", "--input", "url=http://x/")

    async def load_fails(hand: Hand) -> None:
        await hand.succeed(await hand.lease_one(), {"n": 1})
        await hand.fail(await hand.lease_one(), fatal=True, message="no")

    play(load_fails)
    again = tenax("retry", "1")
    assert again.out.splitlines() == [
        "execution 1: load will be tried again now",
        "  it had failed, and is running now",
        "  follow it: tenax show 1 --follow",
    ]
    shown = tenax("show", "1", "--json").json
    assert [step["status"] for step in shown["steps"].values()] == ["completed", "retrying"]
    not_yet = tenax("retry", "1", "--new")
    assert not_yet.code == 2
    assert "only a finished one can be run anew" in not_yet.err
    tenax("cancel", "1")
    refused = tenax("retry", "1")
    assert refused.code == 2
    assert "`tenax retry 1 --new`" in refused.err
    whole = tenax("retry", "1", "--new", "--input", "url=http://y/")
    assert whole.out.splitlines() == [
        "execution 2 is submitted: a retry of 1",
        "  follow it: tenax show 2 --follow",
        "  no worker is alive: start `tenax up`, or run it here: tenax run --resume 2",
    ]
    shown = tenax("show", "2", "--json").json
    assert (shown["retry_of"], shown["input"]["url"]) == (1, "http://y/")
    assert "retry of 1" in tenax("show", "2").out


@pytest.mark.parametrize(
    "arguments",
    [("show",), ("events",), ("explain",), ("cancel",), ("retry",), ("pause",), ("resume",), ("items", "s"),
     ("signal", "s"), ("approve", "s"), ("reject", "s")],
)  # fmt: skip
def test_an_execution_that_is_not_there(tenax, arguments):
    verb, *more = arguments
    ended = tenax(verb, "4711", *more, "--json")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "tenax: there is no execution 4711\n  `tenax list` shows the executions there are\n"


def test_on_an_old_schema_nothing_is_touched(command, empty_database_url):
    ended = command("list", "--database", empty_database_url)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("tenax: the database's schema is empty")
    assert ended.err.endswith("  run: tenax db migrate\n")


def test_colours_only_on_a_terminal(tenax, play, tmp_path):
    tenax("submit", "one.yaml")
    assert "\x1b" not in tenax("show", "1").out
    assert "\x1b[" in tenax("show", "1", FORCE_COLOR="1").out
