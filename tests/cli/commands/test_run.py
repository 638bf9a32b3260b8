"""`tenax run` as a real process: its output, its exit codes, and what Ctrl-C does."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.serve.forked_commands import shared_commands
from support.waiting import eventually

TENAX = (sys.executable, "-m", "tenax")

FLAKY = """
name: flaky
input: {greeting: {type: string, default: hello}}
workflow:
  - step: unsteady
    type: process
    command: 'n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count; test $n -ge 2 || exit 7; echo "{\\"n\\": $n}"'
    cwd: FOLDER
    retry: {max_attempts: 3, initial_delay: 50ms, jitter: 0}
  - step: greet
    type: python
    needs: [unsteady]
    task: greetings:greet
    args: {text: "{{ input.greeting }}", n: "{{ steps.unsteady.result.n }}"}
    queue: elsewhere
    labels: {gpu: "yes"}
"""
GREETINGS = """
import os
def greet(text, n):
    print("a task prints")
    os.write(1, b"even past python\\n")
    return f"{text} {n}"
"""
HOPELESS = """
name: hopeless
workflow:
  - step: broken
    type: process
    command: exit 3
    retry: {max_attempts: 2, initial_delay: 10ms, jitter: 0}
"""
# Runs until the file `go` is there; says that it has begun.
WAITING = """
name: waiting
workflow:
  - step: wait
    type: process
    command: 'echo $$ > began; while ! test -e go; do sleep 0.05; done; echo done'
    cwd: FOLDER
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "flaky.yaml": FLAKY,
        "greetings.py": GREETINGS,
        "hopeless.yaml": HOPELESS,
        "waiting.yaml": WAITING,
    }.items():
        (tmp_path / name).write_text(text.replace("FOLDER", str(tmp_path)))
    for name in [name for name in os.environ if name.startswith("TENAX_") and name != "TENAX_TEST_RUN"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TENAX_HOME", str(tmp_path / "home"))
    return tmp_path


@contextlib.contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command in the background, which does not outlive the block."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*TENAX, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
    ) as one:
        try:
            yield one
        finally:
            one.kill()


def tenax(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    ended = shared_commands().run(arguments, cwd=folder, environment=os.environ)
    return subprocess.CompletedProcess(arguments, ended.code, ended.out, ended.err)


class Terminal:
    """A command on a pseudo terminal of its own, where Ctrl-C is a key."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(TENAX[0], [*TENAX, *arguments], {**os.environ, "TERM": "xterm", "COLUMNS": "100"})
        os.set_blocking(self._master, False)
        self._output = b""

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def shows(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self._read())

    def exit_code(self) -> int:
        """Reads on, so that the process is not stuck with a full terminal."""

        def ended() -> tuple[int, int] | None:
            self._read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return (pid, status) if pid else None

        _, status = eventually(ended, timeout=40)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._master)

    def _read(self) -> str:
        try:
            while chunk := os.read(self._master, 65536):
                self._output += chunk
        except (BlockingIOError, OSError):  # nothing more yet; or the other side is closed
            pass
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self._output.decode(errors="replace"))


@pytest.fixture
def terminal(folder: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_terminal(*arguments: str) -> Terminal:
        opened.append(Terminal(folder, *arguments))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()


def test_a_flaky_workflow_is_retried_until_it_completes(folder: Path, database_url: str) -> None:
    ended = tenax(folder, "run", "flaky.yaml", "--input", "greeting=hi", "--database", database_url)
    assert (ended.returncode, ended.stderr) == (0, "")
    for words in (
        "attempt 1 of 3 started on run-",
        "attempt 1 failed: transient (exit_code_7)",
        "retry in 50ms (2 retries left)",
        "attempt 3 succeeded",
        "execution completed",
        "hi 2",
    ):
        assert words in ended.stdout


def test_the_largest_result_file_is_a_setting(
    folder: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "printf %100s | tr ' ' 7 > $TENAX_RESULT_FILE"
    source = {"name": "large", "workflow": [{"step": "only", "type": "process", "command": command}]}
    (folder / "large.yaml").write_text(json.dumps(source))
    monkeypatch.setenv("TENAX_MAX_RESULT", "99")
    ended = tenax(folder, "run", "large.yaml", "--database", database_url)
    assert ended.returncode == 1
    assert "it is larger than 99 bytes (`max_result`)" in ended.stdout


def test_json_is_one_document_whatever_the_tasks_print(folder: Path, database_url: str) -> None:
    ended = tenax(folder, "run", "flaky.yaml", "--json", "--database", database_url)
    execution = json.loads(ended.stdout)
    assert ended.returncode == 0
    assert execution["status"] == "completed"
    assert execution["result"] == {"greet": "hello 2"}
    assert execution["steps"]["unsteady"]["attempt"] == 3
    assert isinstance(execution["id"], int)
    assert "attempt 2 failed" in ended.stderr
    assert "a task prints" in ended.stderr
    assert "even past python" in ended.stderr


def test_a_failed_execution_is_exit_code_1(folder: Path, database_url: str) -> None:
    ended = tenax(folder, "run", "hopeless.yaml", "--json", "--database", database_url)
    execution = json.loads(ended.stdout)
    assert ended.returncode == 1
    assert execution["status"] == "failed"
    assert execution["steps"]["broken"]["attempt"] == 2
    assert "attempts are used up: 2 of 2" in ended.stderr


def test_what_an_input_says_is_not_run_by_the_shell(folder: Path, database_url: str) -> None:
    (folder / "greet.yaml").write_text(
        "name: greet\ninput: {who: {type: string}, flags: {type: string, default: -n}}\nworkflow:\n"
        "  - {step: greet, type: process, command: 'printf %s {{ input.who }} | cat {{ input.flags | raw }}'}\n"
    )
    who = "x; touch hit; $(touch hit) 'y"
    ended = tenax(folder, "run", "greet.yaml", "--input", f"who={who}", "--database", database_url, "--json")
    assert json.loads(ended.stdout)["result"] == {"greet": f"     1\t{who}"}
    assert not (folder / "hit").exists()


def test_what_runs_when_the_execution_fails_may_finish(folder: Path, database_url: str) -> None:
    (folder / "half.yaml").write_text(
        "name: half\nworkflow:\n"
        f"  - {{step: fails, type: process, cwd: {folder}, command: 'while ! test -e began; do sleep 0.05; done; exit 3'}}\n"
        f"  - {{step: runs, type: process, cwd: {folder}, command: 'touch began; sleep 1; echo done'}}\n"
    )
    ended = tenax(folder, "run", "half.yaml", "--json", "--database", database_url)
    execution = json.loads(ended.stdout)
    assert (ended.returncode, execution["status"]) == (1, "failed")
    assert {name: step["status"] for name, step in execution["steps"].items()} == {
        "fails": "failed",
        "runs": "completed",
    }


def test_the_same_key_is_the_same_execution(folder: Path, database_url: str) -> None:
    one, two = (
        json.loads(
            tenax(folder, "run", "flaky.yaml", "--key", "k", "--json", "--database", database_url).stdout
        )
        for _ in range(2)
    )
    assert one["id"] == two["id"]
    assert one["last_seq"] == two["last_seq"]


def test_with_no_database_it_brings_its_own(folder: Path, open_folder: Path) -> None:
    ended = tenax(folder, "run", "flaky.yaml", "--json", "--home", str(open_folder))
    assert json.loads(ended.stdout)["status"] == "completed"
    assert "ready" not in ended.stderr
    status = json.loads(tenax(folder, "db", "status", "--json", "--home", str(open_folder)).stdout)
    assert status["embedded"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "which workflow?"),
        (("absent.yaml",), "absent.yaml: there is no such file"),
        (("flaky.yaml", "--resume", "3"), "--resume goes on with an execution as it is"),
        (("--resume", "0"), "0 cannot be the number of an execution"),
        (("flaky.yaml", "--input", "greeting"), "expected NAME=VALUE"),
        (
            ("flaky.yaml", "--server", "http://127.0.0.1:1", "--database", "postgresql://x"),
            "exclude each other",
        ),
        (("flaky.yaml", "--wrong"), "--wrong"),
    ],
)
def test_wrong_usage_is_exit_code_2(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    ended = tenax(folder, "run", *arguments)
    assert ended.returncode == 2
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_what_is_wrong_with_the_file_or_the_inputs_is_said(folder: Path, database_url: str) -> None:
    (folder / "wrong.yaml").write_text("name: x\nworkflow:\n  - step: a\n    type: pyton\n")
    ended = tenax(folder, "run", "wrong.yaml", "--database", database_url)
    assert ended.returncode == 2
    assert "wrong.yaml:4:" in ended.stderr
    ended = tenax(folder, "run", "flaky.yaml", "--input", "greeting=3", "--database", database_url)
    assert ended.returncode == 2
    assert "greeting" in ended.stderr


@pytest.mark.parametrize("verb", ["run", "submit", "store"])
def test_a_wrong_file_makes_no_database(folder: Path, verb: str) -> None:
    (folder / "wrong.yaml").write_text("name: x\nworkflow:\n  - step: a\n    type: pyton\n")
    ended = tenax(folder, verb, "wrong.yaml", "--home", str(folder / "new"))
    assert ended.returncode == 2
    assert ended.stderr.startswith("tenax: wrong.yaml:4:")
    assert not (folder / "new").exists()


@pytest.mark.parametrize("where", [("--home", "new"), ("--server", "http://127.0.0.1:1")])
@pytest.mark.parametrize("verb", ["run", "submit"])
def test_a_misspelt_function_beside_the_file_starts_nothing(
    folder: Path, verb: str, where: tuple[str, str]
) -> None:
    (folder / "wrong.yaml").write_text(
        "name: x\nworkflow:\n  - {step: a, type: python, task: greetings:gret}\n"
    )
    ended = tenax(folder, verb, "wrong.yaml", *where)
    assert ended.returncode == 2, "the server is not asked"
    assert ended.stderr == (
        "tenax: wrong.yaml:3:29: workflow[0].task: the module `greetings` (greetings.py) has no function `gret`; "
        "did you mean `greet`?\n"
    )
    assert not (folder / "new").exists()


@pytest.mark.parametrize("verb", ["run", "submit"])
def test_wrong_inputs_make_no_database(folder: Path, verb: str) -> None:
    ended = tenax(folder, verb, "flaky.yaml", "--input", "greeting=3", "--home", str(folder / "new"))
    assert ended.returncode == 2
    assert "greeting" in ended.stderr
    assert not (folder / "new").exists()


@pytest.mark.parametrize(
    "where",
    [("--server", "http://127.0.0.1:1"), ("--database", "postgresql://nobody@127.0.0.1:1/none")],
)
def test_what_cannot_be_reached_is_exit_code_3(folder: Path, where: tuple[str, str]) -> None:
    ended = tenax(folder, "run", "flaky.yaml", *where)
    assert ended.returncode == 3
    assert "Traceback" not in ended.stderr
    assert ended.stderr.startswith("tenax: ")


def test_an_unknown_execution_cannot_be_resumed(folder: Path, database_url: str) -> None:
    ended = tenax(folder, "run", "--resume", "77", "--database", database_url)
    assert ended.returncode == 2
    assert "there is no execution 77" in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_without_a_terminal_it_leaves_and_resume_goes_on(
    folder: Path, database_url: str, number: signal.Signals
) -> None:
    with started(folder, "run", "waiting.yaml", "--json", "--database", database_url) as running:
        eventually((folder / "began").exists)
        running.send_signal(number)
        out, err = running.communicate(timeout=30)
    left = json.loads(out)
    assert running.returncode == 130
    assert left["status"] == "running"
    assert left["steps"]["wait"]["status"] == "queued"
    assert [one["outcome"] for one in left["steps"]["wait"]["attempts"]] == ["released"]
    assert f"tenax run --resume {left['id']}" in err.decode()

    (folder / "go").touch()
    ended = tenax(folder, "run", "--resume", str(left["id"]), "--json", "--database", database_url)
    resumed = json.loads(ended.stdout)
    assert ended.returncode == 0
    assert (resumed["id"], resumed["status"]) == (left["id"], "completed")


def test_the_process_of_the_step_does_not_outlive_a_leave(folder: Path, database_url: str) -> None:
    command = [*TENAX, "run", "waiting.yaml", "--database", database_url]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        eventually(lambda: (folder / "began").exists() and (folder / "began").read_text().strip())
        step = int((folder / "began").read_text())
        running.terminate()
        running.wait(30)
    eventually(lambda: not Path(f"/proc/{step}").exists())


def test_ctrl_c_on_a_terminal_asks_and_can_cancel(
    folder: Path, database_url: str, terminal: Callable[..., Terminal]
) -> None:
    screen = terminal("run", "waiting.yaml", "--database", database_url)
    eventually((folder / "began").exists)
    eventually(lambda: screen.shows(r"running \d+\.\ds"))
    screen.press("\x03")
    eventually(lambda: screen.shows(r"\[c\]ancel it, \[l\]eave it for later"))
    screen.press("c\n")
    assert screen.exit_code() == 1
    assert screen.shows("cancelled")


def test_ctrl_c_on_a_terminal_asks_and_can_leave_or_go_on(
    folder: Path, database_url: str, terminal: Callable[..., Terminal]
) -> None:
    screen = terminal("run", "waiting.yaml", "--database", database_url)
    eventually((folder / "began").exists)
    screen.press("\x03")
    eventually(lambda: screen.shows(r"\[l\]eave"))
    screen.press("l\n")
    assert screen.exit_code() == 130
    left = screen.shows(r"tenax run --resume (\d+)")
    assert left

    (folder / "began").unlink()
    again = terminal("run", "--resume", left[1], "--database", database_url)
    eventually((folder / "began").exists)
    again.press("\x03")
    eventually(lambda: again.shows(r"\[g\]o on"))
    again.press("what?\n")
    eventually(lambda: again.shows("please type c, l or g"))
    again.press("g\n")
    (folder / "go").touch()
    assert again.exit_code() == 0
    assert again.shows("completed in")


def test_a_second_ctrl_c_leaves_at_once(
    folder: Path, database_url: str, terminal: Callable[..., Terminal]
) -> None:
    screen = terminal("run", "waiting.yaml", "--database", database_url)
    eventually((folder / "began").exists)
    screen.press("\x03")
    eventually(lambda: screen.shows(r"\[l\]eave"))
    screen.press("\x03")
    assert screen.exit_code() == 130
    assert screen.shows(r"tenax run --resume \d+")
