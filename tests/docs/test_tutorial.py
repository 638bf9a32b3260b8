"""The tutorial works as it is written: its files, its commands in their order, and what they print."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from blocks import blocks_of
from generate import ROOT
from test_console import commands_of, pattern_of, plain

_PAGE = ROOT / "docs/tutorial.md"
_END = "@@end of command"
_SOMETIMES = "no worker is alive"
"""`show --follow` says so, if the workers have not started yet."""
_VARYING = (
    (re.compile(r"\b[\w-]+-\d+-\d\b"), "WORKER"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"\b(completed|running) (in|for) [\d.]+m?s"), r"\1 \2 T"),
    (re.compile(r"\b(\d+ms|\d+\.\d+s)\b"), "T"),
    (re.compile(r"\b[\d.]+ +succeeded"), "T succeeded"),
)


def _plain(line: str) -> str:
    line = plain(line)
    for pattern, word in _VARYING:
        line = pattern.sub(word, line)
    return line


def _script() -> tuple[str, list[tuple[str, list[str]]]]:
    """Returns the page as one shell script, and each command with the lines that it prints."""
    lines: list[str] = ["set -u"]
    expected: list[tuple[str, list[str]]] = []
    for block in blocks_of(_PAGE):
        if block.mark is not None and block.mark.startswith("file: "):
            lines += [
                f"cat > {block.mark.removeprefix('file: ')} <<'@@END'",
                block.text.rstrip("\n"),
                "@@END",
            ]
        elif block.mark == "run: tutorial":
            for command, printed in commands_of(block):
                lines += [command, f"echo '{_END}'"]
                expected.append((command, printed))
    return "\n".join(lines), expected


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A shell in an empty folder, which ends with everything that it has started."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    own = {
        "TENAX_HOME": str(tmp_path / ".tenax"), "TENAX_PORT": str(port), "COLUMNS": "300",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }  # fmt: skip
    with subprocess.Popen(
        ["bash"], cwd=tmp_path, env=kept | own, text=True, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def test_the_tutorial_prints_what_it_says(shell: subprocess.Popen[str]) -> None:
    script, expected = _script()
    printed, _ = shell.communicate(script, timeout=180)
    parts = printed.split(f"{_END}\n")
    assert len(parts) == len(expected) + 1, printed
    for (command, lines), part in zip(expected, parts, strict=False):
        found = "".join(f"{_plain(line)}\n" for line in part.splitlines() if _SOMETIMES not in line)
        assert pattern_of([_plain(line) for line in lines]).fullmatch(found), f"{command}\n{part}"


def test_the_tutorial_has_commands_and_files() -> None:
    marks = [block.mark for block in blocks_of(_PAGE)]
    assert marks.count("file: report.yaml") == 3
    assert len(_script()[1]) >= 10
