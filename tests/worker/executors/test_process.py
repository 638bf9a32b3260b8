"""`process` steps with real processes: results, exits, signals, and timeouts that end the whole group."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import uvloop

from tenax.sdk.context import TaskContext
from tenax.worker.executors.process import ProcessExecutor
from tenax.worker.handlers.error_outcomes import cut_to_limits
from tenax.worker.processes.guardian import Guardian
from tenax.worker.processes.processes import STDERR_TAIL, STDOUT_LIMIT


@pytest.mark.parametrize(
    ("command", "result"),
    [
        ("echo hello", "hello"),
        ("echo '{\"a\": 1}'", {"a": 1}),
        ("true", None),
        (["echo", "two words"], "two words"),
        (["echo", [1, None, "x"]], [1, None, "x"]),
        (["echo", {"name": "Grace", "ok": True}], {"name": "Grace", "ok": True}),
        (["printf", "%s,%s,%s,%s", True, None, 1.5, "é"], "true,,1.5,é"),
        ("echo '{\"rows\": 5}' > $TENAX_RESULT_FILE", {"rows": 5}),
        ('echo \'{"status": "completed", "output": [1]}\' > $TENAX_RESULT_FILE; echo noise', [1]),
        ('echo \'{"status": "completed", "output": 2}\' > $TENAX_RESULT_FILE; exit 3', 2),
        ('echo \'{"success": true, "output": 2}\' > $TENAX_RESULT_FILE', 2),
        ('echo \'{"success": true, "output": 2}\' > $TENAX_RESULT_FILE; exit 7', 2),
        ('echo \'{"success": true, "rows": 2}\' > $TENAX_RESULT_FILE; exit 7', {"success": True, "rows": 2}),
        (
            'echo \'{"status": "completed", "rows": 2}\' > $TENAX_RESULT_FILE',
            {"status": "completed", "rows": 2},
        ),
        ('echo \'{"status": "shipped"}\' > $TENAX_RESULT_FILE', {"status": "shipped"}),
        ('echo \'{"status": "error"}\' > $TENAX_RESULT_FILE', {"status": "error"}),
        ("echo null > $TENAX_RESULT_FILE; echo noise", None),
    ],
)
def test_success(run, command, result):
    outcome = run("process", {"command": command})
    assert (outcome.status, outcome.result) == ("succeeded", result)


def test_variables_have_lists_and_mappings_as_json(run):
    env = {"ROWS": [1, None], "SURE": True, "NONE": None, "TEXT": "as it is"}
    outcome = run("process", {"command": 'echo "$ROWS|$SURE|$NONE|$TEXT"', "env": env})
    assert outcome.result == "[1,null]|true||as it is"


@pytest.mark.parametrize("where", ["", " > $TENAX_RESULT_FILE"])
@pytest.mark.parametrize(
    ("text", "says"), [("18446744073709551616", "beyond 64 bits"), (r'{"a": "\u0000"}', "NUL")]
)
def test_a_result_that_cannot_be_kept_exactly_is_invalid(run, where, text, says):
    facts = run("process", {"command": f"printf '%s' '{text}'{where}"}).facts
    assert (facts.failure_class, facts.reason) == ("invalid", "invalid_result")
    assert says in facts.message


def test_the_largest_integers_are_kept(run):
    assert run("process", {"command": "echo 18446744073709551615"}).result == 2**64 - 1


def test_nul_characters_in_plain_output_are_told_of(run):
    result = run("process", {"command": r"printf 'a\0b\0\n'"}).result
    assert result == "a\ufffdb\ufffd\n[2 NUL characters were replaced by U+FFFD]"


@pytest.mark.parametrize(
    ("command", "facts"),
    [
        ("echo boo >&2; exit 7", {"exit_code": 7, "result_file": "missing", "message": "exit code 7: boo"}),
        ("echo '{' > $TENAX_RESULT_FILE; exit 7", {"exit_code": 7, "result_file": "unreadable"}),
        (
            "echo '{' > $TENAX_RESULT_FILE",
            {"failure_class": "invalid", "reason": "invalid_result", "result_file": "unreadable"},
        ),
        ("mkdir $TENAX_RESULT_FILE", {"failure_class": "invalid", "result_file": "unreadable"}),
        (
            'echo \'{"status": "error"}\' > $TENAX_RESULT_FILE; echo boo >&2; exit 7',
            {
                "exit_code": 7,
                "result_file": "other",
                "fatal": False,
                "data": {"status": "error"},
                "message": "exit code 7: boo",
            },
        ),
        (
            "echo '{\"rows\": 3}' > $TENAX_RESULT_FILE; exit 7",
            {"exit_code": 7, "result_file": "other", "data": {"rows": 3}},
        ),
        (
            'echo \'{"success": "true"}\' > $TENAX_RESULT_FILE; exit 7',
            {"exit_code": 7, "result_file": "other", "data": {"success": "true"}},
        ),
        ("echo null > $TENAX_RESULT_FILE; exit 7", {"exit_code": 7, "result_file": "other", "data": None}),
        (
            "echo '[1]' > $TENAX_RESULT_FILE; kill -KILL $$",
            {"signal": 9, "result_file": "other", "data": [1]},
        ),
        (
            'echo \'{"success": true, "status": "failed"}\' > $TENAX_RESULT_FILE',
            {"result_file": "failed", "fatal": True, "exit_code": 0},
        ),
        (
            'echo \'{"success": false, "status": "completed"}\' > $TENAX_RESULT_FILE; exit 7',
            {"result_file": "failed", "fatal": True, "exit_code": 7},
        ),
        (
            "kill -KILL $$",
            {"signal": 9, "exit_code": None, "message": "killed by SIGKILL", "oom_killed": False},
        ),
        ("kill -SEGV $$", {"signal": 11}),
        (
            'echo \'{"status": "failed", "error": "no such row"}\' > $TENAX_RESULT_FILE',
            {"result_file": "failed", "fatal": True, "message": "no such row", "exit_code": 0},
        ),
        (
            'echo \'{"success": false, "message": "bad"}\' > $TENAX_RESULT_FILE; exit 1',
            {"result_file": "failed", "fatal": True, "message": "bad", "exit_code": 1},
        ),
        (
            'echo \'{"status": "budget_exceeded"}\' > $TENAX_RESULT_FILE; exit 1',
            {"result_file": "budget_exceeded", "fatal": False},
        ),
        (["no-such-command-x"], {"exit_code": 127, "message": "command not found: no-such-command-x"}),
        (["./no-such-file"], {"exit_code": 127, "exception": "builtins.FileNotFoundError"}),
        (["/etc/passwd"], {"exit_code": 126, "exception": "builtins.PermissionError"}),
        ("no-such-command-y", {"exit_code": 127}),
        ([], {"failure_class": "invalid", "reason": "invalid_parameters"}),
    ],
)
def test_failure(run, command, facts):
    outcome = run("process", {"command": command})
    assert outcome.status == "failed"
    assert {name: getattr(outcome.facts, name) for name in facts} == facts


def test_a_long_result_file_is_cut_where_it_is_only_evidence(run):
    command = 'printf \'{"log": "%070000d"}\' 0 > $TENAX_RESULT_FILE; exit 7'
    outcome = cut_to_limits(run("process", {"command": command}))
    assert outcome.facts.data.startswith('{"log":"000')
    assert outcome.facts.data.endswith("[6010 characters more were not kept]")


def test_the_same_under_uvloop(assign, tmp_path):
    """The loop that the server and `tenax worker` run on has its own way with child processes."""

    async def go(command, seconds):
        guardian = Guardian()
        assignment = assign("process", {"command": command, "params": [1]}, timeout=seconds)
        try:
            return await ProcessExecutor(guardian).run(
                assignment, TaskContext(assignment, started=time.time())
            )
        finally:
            guardian.close()

    assert uvloop.run(go("cat", 30.0)).result == [1]
    assert uvloop.run(go("exit 7", 30.0)).facts.exit_code == 7
    assert uvloop.run(go("kill -KILL $$", 30.0)).facts.signal == 9
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    assert uvloop.run(go(f"exec 9>{alive}; sleep 600 & wait", 0.3)).facts.timed_out
    assert _closes(reader)


def test_usage_comes_with_the_result_file(run):
    file = '{"status": "completed", "output": 1, "usage": {"tokens": 12, "cost_usd": 0.5}}'
    outcome = run("process", {"command": f"echo '{file}' > $TENAX_RESULT_FILE"})
    assert (outcome.usage.tokens, outcome.usage.cost_usd) == (12, 0.5)


def test_params_on_stdin_and_in_the_file(run):
    spec = {"command": "cat; echo; cat $TENAX_PARAMS_FILE", "params": {"a": ["b", "ä"]}}
    text = '{"a":["b","ä"]}'
    assert run("process", spec).result == f"{text}\n{text}"


def test_without_params_stdin_is_empty(run):
    assert run("process", {"command": "wc -c | tr -d ' '"}).result == 0


def test_the_environment(run, monkeypatch):
    monkeypatch.setenv("TENAX_TOKEN", "worker's own")
    monkeypatch.setenv("TENAX_SECRET_X", "hidden")
    monkeypatch.setenv("INHERITED", "yes")
    names = (
        "TENAX_EXECUTION_ID TENAX_STEP TENAX_ATTEMPT TENAX_RECEIPT OWN INHERITED TENAX_TOKEN TENAX_SECRET_X"
    )
    command = f'for n in {names}; do eval "echo $n=\\$$n"; done'
    lines = run("process", {"command": command, "env": {"OWN": 5}}).result.splitlines()
    assert lines == [
        "TENAX_EXECUTION_ID=7",
        "TENAX_STEP=the_step",
        "TENAX_ATTEMPT=2",
        "TENAX_RECEIPT=receipt-1",
        "OWN=5",
        "INHERITED=yes",
        "TENAX_TOKEN=",
        "TENAX_SECRET_X=",
    ]


def test_item_and_compensation_are_in_the_environment_only_where_they_apply(run, monkeypatch):
    monkeypatch.setenv("TENAX_ITEM", "of the worker's own attempt")
    monkeypatch.setenv("TENAX_COMPENSATES", "1")
    spec = {"command": "echo ${TENAX_ITEM-unset} ${TENAX_COMPENSATES-unset}"}
    assert run("process", spec).result == "unset unset"
    assert run("process", spec, item=0).result == "0 unset"
    assert run("process", spec, item=12, compensates=True).result == "12 1"


def test_the_working_folder_is_beside_the_file_or_the_attempts_own(run, tmp_path):
    (tmp_path / "sub").mkdir()
    assert run("process", {"command": "pwd"}, base_dir=str(tmp_path)).result == str(tmp_path)
    assert run("process", {"command": "pwd", "cwd": "sub"}, base_dir=str(tmp_path)).result == str(
        tmp_path / "sub"
    )
    fresh = run("process", {"command": "pwd"}, base_dir=str(tmp_path / "elsewhere")).result
    assert "tenax-attempt-" in fresh
    assert not Path(fresh).exists()
    missing = run("process", {"command": "pwd", "cwd": "nowhere"}, base_dir=str(tmp_path)).facts
    assert missing.reason == "invalid_parameters"
    assert "nowhere" in missing.message


def test_floods_are_drained_and_bounded(run):
    code = f"import sys; sys.stdout.write('x' * {3 * STDOUT_LIMIT}); sys.stderr.write('y' * 100_000 + 'END'); sys.exit(4)"
    facts = run("process", {"command": [sys.executable, "-c", code]}).facts
    assert facts.exit_code == 4
    assert len(facts.stderr_tail) == STDERR_TAIL
    assert facts.stderr_tail.endswith("END")
    assert facts.message == "exit code 4"  # nothing of a line whose beginning is not there
    result = run("process", {"command": [sys.executable, "-c", code.replace("sys.exit(4)", "")]}).result
    assert len(result) < STDOUT_LIMIT + 100
    assert result.endswith(f"[{2 * STDOUT_LIMIT} bytes more were not kept]")


def test_a_timeout_beats_the_result_file_and_ends_grandchildren_that_ignore_sigterm(run, tmp_path):
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    # The grandchild holds the fifo open for as long as it lives, and shrugs off SIGTERM.
    command = f"""
        sh -c 'trap "" TERM; exec 9>{alive}; echo up >&9; while :; do sleep 1; done' &
        echo '{{"status": "completed"}}' > $TENAX_RESULT_FILE
        wait
    """
    outcome = run("process", {"command": command}, timeout=1.0)
    assert outcome.facts.timed_out
    assert outcome.facts.result_file is None
    assert _closes(reader)


def test_children_left_behind_end_with_the_attempt(run, tmp_path):
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    command = f"exec 9>{alive}; echo up >&9; sleep 600 & echo done"
    assert run("process", {"command": command}).result == "done"
    assert _closes(reader)


def test_kill_9_of_a_worker_ends_its_children_and_grandchildren(tmp_path):
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    script = tmp_path / "worker.py"
    script.write_text(WORKER.format(command=f"exec 9>{alive}; echo up >&9; sleep 600 & sleep 600; wait"))
    reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    folders = tmp_path / "folders"
    folders.mkdir()
    env = {**os.environ, "TMPDIR": str(folders)}
    worker = subprocess.Popen([sys.executable, str(script)], start_new_session=True, env=env)
    try:
        assert _reads(reader) == b"up\n"
        assert len(list(folders.iterdir())) == 1
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    assert _closes(reader)
    deadline = time.monotonic() + 10
    while list(folders.iterdir()) and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    assert list(folders.iterdir()) == []


WORKER = """
import asyncio, time
from tenax.model.wire import Assignment
from tenax.sdk.context import TaskContext
from tenax.worker.executors.process import ProcessExecutor
from tenax.worker.handlers.error_outcomes import cut_to_limits
from tenax.worker.processes.guardian import Guardian

a = Assignment(1, 1, 1, "t", "s", "process", {{"command": {command!r}}}, 600.0, "r", "w", 3)
asyncio.run(ProcessExecutor(Guardian()).run(a, TaskContext(a, started=time.time())))
"""


def _reads(fifo: int) -> bytes:
    """The next bytes, once there is a writer."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        select.select([fifo], [], [], 1.0)
        try:
            if data := os.read(fifo, 100):
                return data
        except BlockingIOError:
            continue
        threading.Event().wait(0.01)  # no writer yet: the fifo reads as ended until there is one
    raise AssertionError("nothing was written in 20 s")


def _closes(fifo: int) -> bool:
    """Whether every writer goes away: the end of the file comes when the last one is dead."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        select.select([fifo], [], [], 1.0)
        try:
            if os.read(fifo, 100) == b"":
                return True
        except BlockingIOError:
            continue
    return False


@pytest.mark.parametrize("name", ["spring.profiles.active", "BASH_FUNC_x%%", "1a", "grün"])
def test_variables_that_a_shell_cannot_name_arrive(run, monkeypatch, name):
    monkeypatch.setenv("inherited-too", "in\nlines")
    code = f"import json, os, sys; print(json.dumps([os.environ[{name!r}], os.environ['inherited-too'], sys.stdin.read()]))"
    spec = {"command": [sys.executable, "-c", code], "env": {name: "a=b"}, "params": {"p": 1}}
    assert run("process", spec).result == ["a=b", "in\nlines", '{"p":1}']


def test_nothing_else_differs_behind_the_gate_for_such_variables(run, monkeypatch):
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.delenv("LC_CTYPE", raising=False)

    def seen(env):
        names = run("process", {"command": ["env", "-0"], "env": {"LANG": "C", **env}}).result.split(
            "\ufffd"
        )[:-1]
        signals = run("process", {"command": ["grep", "SigIgn", "/proc/self/status"], "env": env}).result
        return {name.partition("=")[0] for name in names}, signals

    (plain, signals), (odd, signals_odd) = seen({}), seen({"a.b": "1"})
    assert (odd - plain, signals_odd) == ({"a.b"}, signals)


def test_an_unstartable_command_behind_that_gate_fails(run, tmp_path):
    script = tmp_path / "bad"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    facts = run("process", {"command": [str(script)], "env": {"a.b": "1"}}).facts
    assert facts.exit_code == 126
    assert "No such file" in facts.message
