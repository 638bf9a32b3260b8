"""The git hook that `make dev` sets up refuses what `make check` would refuse."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLEAN = '"""A module."""\n\nfrom __future__ import annotations\n\n\ndef double(number: int) -> int:\n    return 2 * number\n'
UNFORMATTED = CLEAN.replace("2 * number", "2*number")
UNUSED = CLEAN.replace("\n\n\ndef", "\n\nimport os\n\n\ndef")
MISTYPED = CLEAN.replace("2 * number", "str(number)")


class Scratch:
    """Is a separate repository with our hook and our settings, and with the tools of this environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        shutil.copytree(ROOT / ".githooks", folder / ".githooks")
        for name in ("Makefile", "pyproject.toml"):
            shutil.copy(ROOT / name, folder / name)
        self.git("init", "--quiet")
        (folder / ".venv").symlink_to(sys.prefix)
        # The tools exist already, so `-o` keeps make from installing them again.
        self._run("make", "-o", ".venv/.dev-installed", "dev")

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "MAKE"))}
        who = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        who |= {
            f"GIT_{role}_{what}": "tests@example.invalid"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        return subprocess.run(command, cwd=self.folder, env=own | who, capture_output=True, text=True)

    def git(self, *arguments: str) -> str:
        done = self._run("git", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commit(self, text: str, name: str = "benchmarks/new.py") -> tuple[bool, str]:
        """Writes a file, and tries to commit it. Returns whether that was accepted, and what the hook said."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        self.git("add", name)
        done = self._run("git", "commit", "--quiet", "-m", "Try the hook")
        return done.returncode == 0, done.stderr


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path / "scratch")


def test_a_badly_formatted_file_is_refused_and_accepted_once_it_is_formatted(scratch: Scratch) -> None:
    accepted, said = scratch.commit(UNFORMATTED)
    assert not accepted
    assert "benchmarks/new.py is not formatted; run: make format" in said
    assert scratch.commit(CLEAN) == (True, "")


def test_what_is_staged_counts_and_not_what_lies_in_the_folder(scratch: Scratch) -> None:
    (scratch.folder / "new.py").write_text(UNFORMATTED)
    scratch.git("add", "new.py")
    (scratch.folder / "new.py").write_text(CLEAN)
    done = scratch._run("git", "commit", "--quiet", "-m", "Try the hook")
    assert done.returncode == 1
    assert "new.py is not formatted" in done.stderr


@pytest.mark.parametrize(("text", "fault"), [(UNUSED, "F401"), (MISTYPED, "[return-value]")])
def test_so_is_a_file_in_which_ruff_or_mypy_find_a_fault(scratch: Scratch, text: str, fault: str) -> None:
    accepted, said = scratch.commit(text)
    assert not accepted
    assert fault in said


def test_other_files_are_not_looked_at(scratch: Scratch) -> None:
    assert scratch.commit("def  f( ): pass\n", "notes.md") == (True, "")


def test_without_its_tools_the_hook_says_how_to_get_them(scratch: Scratch) -> None:
    (scratch.folder / ".venv").unlink()
    accepted, said = scratch.commit(CLEAN)
    assert not accepted
    assert "run: make dev" in said
