"""Tests every error before a command has begun: one message on stderr, the right exit code, no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tenax import __version__
from tenax.cli.app import COMMAND_NAMES
from tenax.cli.errors import run_command

NO_DATABASE = "postgresql://nobody@127.0.0.1:1/none"

WRONG = {
    "unknown command": (
        ["sbmit"],
        2,
        "tenax: unknown command `sbmit`; did you mean `submit`?\n  see: tenax --help\n",
    ),
    "unknown command of a group": (
        ["db", "migrat"],
        2,
        (
            'tenax: Unknown command "migrat". Did you mean "migrate"? Available commands: migrate, status, url.\n'
            "  see: tenax db --help\n"
        ),
    ),
    "unknown flag": (
        ["list", "--stat", "failed"],
        2,
        "tenax: Unknown option: --stat. Did you mean --status?\n  see: tenax list --help\n",
    ),
    "missing argument": (
        ["submit"],
        2,
        "tenax: which workflow?\n  tenax submit FILE, or tenax submit NAME\n",
    ),
    "no number": (
        ["show"],
        2,
        "tenax: which execution?\n  `tenax list` shows the executions there are\n",
    ),
    "a policy that cannot be read": (
        ["decide", "--policy", "{a", "--outcome", "{}"],
        2,
        (
            "tenax: --policy: not valid YAML: did not find expected ',' or '}' (while parsing a flow mapping)\n"
        ),
    ),
    "an argument too many": (
        ["delays", "one.yaml", "two.yaml", "three.yaml"],
        2,
        "tenax: one argument too many: two.yaml\n  see: tenax delays --help\n",
    ),
    "not a number": (
        ["show", "abc"],
        2,
        'tenax: Invalid value for ID: unable to convert "abc" into int.\n  see: tenax show --help\n',
    ),
    "not a number of an execution": (
        ["events", "99999999999999999999", "--server", "http://127.0.0.1:1"],
        2,
        (
            "tenax: 99999999999999999999 cannot be the number of an execution\n"
            "  `tenax list` shows the executions there are\n"
        ),
    ),
    "missing file": (["validate", "none.yaml"], 2, "tenax: none.yaml: there is no such file\n"),
    "missing file to submit": (["submit", "none.yaml"], 2, "tenax: none.yaml: there is no such file\n"),
    "a folder": (["delays", "."], 2, "tenax: .: this is a folder, not a file\n"),
    "bad JSON": (
        ["decide", "--policy", "3", "--outcome", "{status"],
        2,
        "tenax: --outcome: not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)\n",
    ),
    "bad status": (
        ["list", "--status", "done"],
        2,
        (
            'tenax: Invalid value "done" for --status. Choose from: "running", "paused", "completed", "failed", "cancelled".\n'
            "  see: tenax list --help\n"
        ),
    ),
    "bad time": (
        ["list", "--since", "yesterday"],
        2,
        "tenax: --since yesterday: expected a duration such as 2h or 1d, or a time such as 2026-01-31T12:00:00Z\n",
    ),
    "bad address": (
        ["list", "--server", "nowhere"],
        2,
        "tenax: --server nowhere: expected an address such as http://127.0.0.1:8520\n",
    ),
    "two places": (
        ["list", "--server", "http://127.0.0.1:1", "--database", NO_DATABASE],
        2,
        "tenax: --server and --database exclude each other\n  name one of them\n",
    ),
    "no server": (
        ["list", "--server", "http://127.0.0.1:1"],
        3,
        (
            "tenax: cannot reach the server at http://127.0.0.1:1: connection refused\n"
            "  is it running, and is the address right? (--server or TENAX_SERVER)\n"
        ),
    ),
    "no database": (
        ["show", "1", "--json", "--database", NO_DATABASE],
        3,
        (
            "tenax: no PostgreSQL answers at 127.0.0.1:1: Connect call failed ('127.0.0.1', 1)\n"
            "  start it, or check the database URL (TENAX_DATABASE_URL or --database)\n"
        ),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_once(name, command):
    arguments, code, message = WRONG[name]
    ended = command(*arguments)
    assert (ended.code, ended.out, ended.err) == (code, "", message)


def test_an_input_that_is_no_pair(command, tmp_path):
    (tmp_path / "w.yaml").write_text("name: w\nworkflow: [{step: a, type: process, command: 'true'}]\n")
    ended = command("submit", "w.yaml", "--input", "url")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "tenax: --input url: expected NAME=VALUE\n  such as --input url=http://localhost/\n"


def test_a_wrong_file_is_refused_before_anything_is_reached(command, tmp_path):
    (tmp_path / "w.yaml").write_text("name: w\nworkflow: [{step: a, type: process, comand: 'true'}]\n")
    ended = command("submit", "w.yaml", "--database", "postgresql://nobody@127.0.0.1:1/none")
    assert ended.code == 2
    assert "w.yaml:2:" in ended.err
    assert "did you mean `command`?" in ended.err


def test_a_wrong_setting_names_where_it_stands(command):
    ended = command("list", TENAX_LEASE="soon")
    assert ended.code == 2
    assert ended.err.startswith("tenax: TENAX_LEASE=soon: expected a duration")


def test_a_traceback_only_where_it_is_asked_for(command):
    quiet = command("list", "--server", "http://127.0.0.1:1")
    loud = command("list", "--server", "http://127.0.0.1:1", TENAX_DEBUG="1")
    assert "Traceback" not in quiet.err
    assert "Traceback" in loud.err
    assert loud.err.endswith(quiet.err)
    assert loud.code == quiet.code == 3


def test_version(command):
    assert command("--version").out == command("version").out == f"tenax {__version__}\n"
    assert command("version", "--json").json == {"version": __version__}


def test_help_as_a_command(command):
    assert command("help").out == command("--help").out
    assert command("help", "token", "list").out == command("token", "list", "--help").out


def test_every_command_is_in_the_help(command):
    listed = command("--help")
    assert (listed.code, listed.err) == (0, "")
    for name in COMMAND_NAMES:
        assert f"│ {name} " in listed.out


@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_every_command_has_its_own_help(name, capsys):
    code = run_command([name, "--help"])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: tenax {name}")


def test_an_argument_that_is_not_text(command):
    ended = command("validate", "w.yaml\udcff")
    assert (ended.code, ended.out) == (2, "")
    assert "Traceback" not in ended.err


def test_the_help_loads_nothing_heavy():
    script = (
        "import sys\nfrom tenax.cli.errors import run_command\nrun_command(['--help'])\n"
        "print(sorted({'asyncpg', 'fastapi', 'httpx2', 'jinja2', 'yaml', 'pydantic', 'structlog', 'tenax.engine',"
        " 'tenax.store', 'tenax.policy'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ended.stdout.splitlines()[-1] == "[]"


MODELS_OF_THE_FILE = ("tenax.model.parse.shape", "tenax.model.parse.workflow_file", "pydantic_settings")


@pytest.mark.parametrize(
    "script",
    [
        "from tenax.cli.errors import run_command\nrun_command(['--help'])",
        "from tenax.cli.errors import run_command\nrun_command(['worker', '--help'])",
        "import tenax.worker.worker, tenax.worker.processes.child, tenax.worker.executors.python",
    ],
)
def test_the_help_and_workers_load_no_models_of_the_workflow_file(script):
    script += f"\nimport sys\nprint([name for name in {MODELS_OF_THE_FILE} if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ended.stdout.splitlines()[-1:] == ["[]"], ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_said_and_no_more():
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "tenax", "version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert (ended.returncode, ended.stderr) == (
        3,
        "tenax: the disk is full\n  free some space, and try again\n",
    )


def test_a_reader_that_has_left_ends_the_command_quietly(tmp_path):
    (tmp_path / "w.yaml").write_text(
        "name: w\nworkflow: [{step: a, type: process, command: 'true', retry: 9999}]\n"
    )
    running = subprocess.Popen(
        [sys.executable, "-m", "tenax", "delays", "w.yaml", "--limit", "9999"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdout is not None
    running.stdout.close()
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (141, b"")
