"""Runs the quick starts of Tenax that stand beside those of other systems, and compares their lengths."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from blocks import blocks_of
from generators.python import COMING_FROM, quick_starts
from support.processes import Household

SYSTEMS = ("Celery", "Procrastinate", "DBOS", "Prefect")


@pytest.fixture
def house(tmp_path: Path, own_database_url: str) -> Household:
    """Returns a household in a folder with all programs of the page."""
    for block in blocks_of(COMING_FROM):
        if block.mark is not None and block.mark.startswith("file: "):
            (tmp_path / block.mark.removeprefix("file: ")).write_text(block.text)
    return Household(tmp_path, tmp_path / "home", database_url=own_database_url)


def run(house: Household, *arguments: str, with_server: bool = False) -> str:
    """Runs a program as a person does. Without a server it works on the database itself."""
    environment = {k: v for k, v in house.environment.items() if with_server or k != "TENAX_SERVER"}
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=house.folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_first_steps_of_celery(house: Household) -> None:
    with house:
        house.up("tasks", "--workers", "1")
        assert run(house, "calls.py", with_server=True) == "8\n"


def test_the_quick_start_of_procrastinate(house: Household) -> None:
    assert run(house, "tutorial.py", "2", "3") == "5\n"


def test_the_program_of_dbos(house: Household) -> None:
    assert run(house, "main.py").splitlines() == ["step one is done", "step two is done"]


def test_the_quick_start_of_prefect(house: Household) -> None:
    assert run(house, "customers.py") == f"{[f'processed customer {number}' for number in range(10)]}\n"


@pytest.mark.parametrize("system", SYSTEMS)
def test_ours_is_not_longer(system: str) -> None:
    theirs, ours = quick_starts()[system]
    assert ours.lines > 0
    assert ours.lines <= theirs.lines
    assert ours.commands <= theirs.commands


def test_every_system_of_the_title_is_there() -> None:
    assert tuple(quick_starts()) == SYSTEMS
