"""Commands in the docs that are marked `<!-- run -->` print what the page says.

Times, the names of workers and hashes are taken out on both sides. `...` stands for any lines. `# exit N` behind a command is its exit code.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from blocks import Block, blocks
from generate import ROOT

_MARKED = [block for block in blocks("console") if block.mark == "run"]
_EXIT = re.compile(r"\s+# exit (\d+)$")
_VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\d(T[\d:.]+Z| \d\d:\d\d:\d\d)"), "TIME"),
    (re.compile(r"\+\d+\.\d+s"), "+T"),
    (re.compile(r"\brun-\S+"), "WORKER"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "HASH"),
    (re.compile(r"\s+"), " "),
)


def plain(line: str) -> str:
    for pattern, word in _VARYING:
        line = pattern.sub(word, line)
    return line.strip()


def commands_of(block: Block) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return found


def pattern_of(expected: list[str]) -> re.Pattern[str]:
    """The lines in their order; a line of dots is any number of lines."""
    lines = [r"(?:.*\n)*?" if line.strip() == "..." else re.escape(plain(line)) + r"\n" for line in expected]
    return re.compile("".join(lines))


def _run(command: str, folder: Path, database_url: str) -> subprocess.CompletedProcess[str]:
    program, *arguments = shlex.split(command)
    assert program == "tenax", "only our own commands are run"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    own = {"TENAX_HOME": str(folder), "TENAX_DATABASE_URL": database_url, "COLUMNS": "300"}
    return subprocess.run(
        [sys.executable, "-m", "tenax", *arguments],
        cwd=ROOT, env=kept | own, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("block", [pytest.param(block, id=block.place) for block in _MARKED])
def test_marked_commands_print_what_the_page_says(block: Block, tmp_path: Path, database_url: str) -> None:
    for line, expected in commands_of(block):
        wanted = _EXIT.search(line)
        done = _run(_EXIT.sub("", line), tmp_path, database_url)
        assert done.returncode == (int(wanted[1]) if wanted else 0), done.stderr
        printed = "".join(f"{plain(out)}\n" for out in done.stdout.splitlines())
        assert pattern_of(expected).fullmatch(printed), f"{line}\n{done.stdout}"


def test_some_commands_are_marked() -> None:
    assert sum(len(commands_of(block)) for block in _MARKED) >= 5
