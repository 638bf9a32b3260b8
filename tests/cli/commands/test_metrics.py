"""`tenax alerts`, `stats`, `top` and `monitoring`, over HTTP and on the database."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.waiting import eventually

from tenax.monitoring import DASHBOARD, RULES, read_file
from tenax.sdk.sync_client import SyncClient

SOURCE = """
name: shop
workflow:
  - step: pay
    type: process
    command: ["sh", "-c", "test $TENAX_ATTEMPT -gt 1"]
    retry: {max_attempts: 3, initial_delay: 0.01, jitter: 0}
"""


@pytest.fixture
def retried(server: str, command, tmp_path: Path, database_url: str) -> str:
    """A server that has counted one execution whose step failed once."""
    (tmp_path / "shop.yaml").write_text(SOURCE)
    ran = command("run", "shop.yaml", "--database", database_url)
    assert ran.code == 0, ran.err
    with SyncClient(server) as client:
        eventually(lambda: any(group["succeeded"] for group in client.stats()["groups"]))
    return server


@pytest.fixture(params=["http", "database"])
def where(request: pytest.FixtureRequest, retried: str, database_url: str) -> list[str]:
    return ["--server", retried] if request.param == "http" else ["--database", database_url]


def test_stats_print_a_table_and_a_plot(command, where):
    shown = command("stats", *where).out
    assert "reason" in shown
    assert "exit_code_1" in shown
    assert "attempt  2  ████████████████████  100 % of 1 succeeded" in shown
    assert "counted until 20" in shown
    found = json.loads(command("stats", "--by", "class", "--json", *where).out)
    assert [(one["name"], one["retries"], one["succeeded"]) for one in found["groups"]] == [
        ("transient", 1, 1)
    ]
    assert "no failures from" in command("stats", "--since", "2h", "--until", "1h", *where).out


def test_wrong_times_are_refused(command, retried, database_url):
    wrong = command("stats", "--until", "soon", "--database", database_url)
    assert wrong.code == 2
    assert "--until soon: expected a duration" in wrong.err
    assert command("stats", "--since", "1h", "--until", "2h", "--database", database_url).code == 2
    assert command("top", "--every", "0", "--database", database_url).code == 2


def test_alerts_exit_with_1_if_one_fires(command, where, database_url):
    quiet = command("alerts", *where)
    assert quiet.code == 0, quiet.out
    assert "retries in first attempts: not known, or too few attempts" in quiet.out
    fires = command("alerts", "--json", "--database", database_url, TENAX_ALERT_MIN_ATTEMPTS="1")
    assert fires.code == 1
    found = json.loads(fires.out)
    assert [one["name"] for one in found["alerts"] if one["firing"]] == ["retry_rate"]


def test_top_once_prints_one_picture(command, where):
    shown = command("top", "--once", *where).out
    assert "attempts 2  |  failures 50 %  |  retries 1 (100 % of first attempts)" in shown
    assert "failures by group" in shown
    assert "exit_code_1" in shown
    found = json.loads(command("top", "--json", *where).out)
    assert found["groups"][0]["class"] == "transient"


def test_without_a_server_it_is_said_that_nothing_is_counted(command, database_url):
    shown = command("top", "--database", database_url).out
    assert "nothing is counted yet: a server counts the log while it runs" in shown
    assert "workers: none" in shown


def test_the_shipped_files_are_printed(command):
    assert command("monitoring", "rules").out == read_file(RULES)
    assert command("monitoring", "dashboard").out == read_file(DASHBOARD)


class _Terminal:
    """`tenax top` on a terminal of so many columns."""

    def __init__(self, columns: int, *arguments: str, environment: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        size = {"COLUMNS": str(columns), "LINES": "40", "TERM": "xterm"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tenax", "top", *arguments],
            stdin=slave, stdout=slave, stderr=slave, env={**environment, **size}, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.text = ""

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def until(self, words: str) -> None:
        deadline = time.monotonic() + 30
        while words not in self.text:
            assert time.monotonic() < deadline, self.text
            self._read()

    def end(self) -> int:
        """Reads on, so that the process is not held up by a full terminal."""
        deadline = time.monotonic() + 30
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.text
            self._read()
        os.close(self._master)
        return self.process.returncode

    def _read(self) -> None:
        if select.select([self._master], [], [], 0.05)[0]:
            try:
                self.text += os.read(self._master, 65536).decode(errors="replace")
            except OSError:  # the process has ended
                return


@pytest.fixture
def terminals(environment) -> Iterator[list[_Terminal]]:
    started: list[_Terminal] = []
    yield started
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


@pytest.mark.parametrize("columns", [40, 140])
def test_q_ends_the_live_view_and_narrow_terminals_have_fewer_columns(
    retried, environment, terminals, columns
):
    top = _Terminal(columns, "--every", "0.2", "--server", retried, environment=environment())
    terminals.append(top)
    top.until("newest failures")
    top.until("exit_code_1"[:8])
    top.type("q")
    assert top.end() == 0
    assert ("workflow" in top.text) == (columns == 140)


def test_ctrl_c_ends_the_live_view(retried, environment, terminals):
    top = _Terminal(100, "--server", retried, environment=environment())
    terminals.append(top)
    top.until("newest failures")
    os.killpg(top.process.pid, signal.SIGINT)
    assert top.end() == 0
