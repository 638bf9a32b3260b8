"""Runs the programs of the Python guide and of the README, and compares what they print with the page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from blocks import blocks_of
from generate import ROOT
from test_console import pattern_of, plain

PAGES = {"docs/python-guide.md": 4, "README.md": 1}
"""The pages, each with the number of commands that the test runs."""
_RUNS = re.compile(r"<!-- runs -->\n```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[tuple[str, list[str]]]:
    """Returns the commands of a page that are marked `runs`, each with the lines that it prints."""
    found: list[tuple[str, list[str]]] = []
    for text in _RUNS.findall((ROOT / page).read_text("utf-8")):
        for line in text.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            else:
                found[-1][1].append(line)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_print_what_the_page_says(page: str, tmp_path: Path, own_database_url: str) -> None:
    for block in blocks_of(ROOT / page):
        if block.mark is not None and block.mark.startswith("file: "):
            (tmp_path / block.mark.removeprefix("file: ")).write_text(block.text)
    listed = commands(page)
    assert len(listed) == PAGES[page]
    for command, expected in listed:
        printed = _run(command, tmp_path, own_database_url)
        shown = "".join(f"{plain(line)}\n" for line in printed.splitlines())
        assert pattern_of(expected).fullmatch(shown), f"{command} printed:\n{printed}"


def _run(command: str, folder: Path, database_url: str) -> str:
    program, *arguments = command.split()
    called = {"python": [sys.executable], "tenax": [sys.executable, "-m", "tenax"]}[program]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    own = {"TENAX_HOME": str(folder / "home"), "TENAX_DATABASE_URL": database_url, "COLUMNS": "300"}
    ended = subprocess.run(
        [*called, *arguments],
        cwd=folder, env=kept | own, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
