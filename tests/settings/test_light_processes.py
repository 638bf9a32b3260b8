"""Tests that processes that must stay small or quick import no model of the settings, and no library below them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tenax.errors import UsageError
from tenax.settings import load_settings
from tenax.settings.load_in_child import load_settings_in_child

HEAVY = ("pydantic", "pydantic_settings", "fastapi", "asyncpg", "tenax.settings.model")


def imported(program: str, folder: Path, **variables: str) -> set[str]:
    """Runs a program in a process of its own. Returns the modules that it has imported when it ends."""
    listed = "\nimport sys, atexit\natexit.register(lambda: print('\\n'.join(sys.modules), file=open('modules', 'w')))\n"
    env = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    code = listed + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env={**env, **variables}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return set((folder / "modules").read_text().split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["worker", "--help"]])
def test_help_imports_no_models(tmp_path, arguments):
    modules = imported(
        f"from tenax.cli.errors import run_command\nassert run_command({arguments}) == 0", tmp_path
    )
    assert "tenax.cli.app" in modules
    assert modules.isdisjoint(HEAVY)


def test_settings_read_aside_are_those_that_are_read(tmp_path, monkeypatch):
    (tmp_path / "tenax.toml").write_text('slots = 3\nlease = "6s"\nlabels = {gpu = "yes"}\nhome = "here"\n')
    monkeypatch.chdir(tmp_path)
    flags = {"queues": ("fast", "slow"), "drain": None}
    assert vars(load_settings_in_child(flags)[0]) == load_settings(flags).model_dump()


def test_what_is_wrong_with_settings_read_aside_is_raised(tmp_path, monkeypatch):
    (tmp_path / "tenax.toml").write_text("lease = 0\nslotz = 3\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as there:
        load_settings({"worker_name": ""})
    with pytest.raises(UsageError) as here:
        load_settings_in_child({"worker_name": ""})
    assert (here.value.message, here.value.remedy) == (there.value.message, there.value.remedy)
