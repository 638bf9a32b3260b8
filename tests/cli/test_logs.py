"""Tests the logs of tasks, as a user sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

FILE = """
name: talks
workflow: [{step: talk, type: python, task: "talking:talk"}]
"""
TALKING = """
def talk(ctx):
    ctx.logger.debug("deep down")
    ctx.logger.info("hello %s", "there")
    ctx.logger.warning("beware")
    return 1
"""


@pytest.mark.parametrize(
    ("level", "seen", "unseen"),
    [
        ({}, ["hello there", "beware"], ["deep down"]),
        ({"TENAX_LOG_LEVEL": "debug"}, ["deep down", "hello there", "beware"], []),
        ({"TENAX_LOG_LEVEL": "warning"}, ["beware"], ["deep down", "hello there"]),
    ],
    ids=["by default", "debug", "warning"],
)
def test_run_shows_what_tasks_log_on_stderr(
    command, database_url: str, tmp_path: Path, level, seen, unseen
) -> None:
    (tmp_path / "talks.yaml").write_text(FILE)
    (tmp_path / "talking.py").write_text(TALKING)
    ended = command("run", "talks.yaml", "--json", TENAX_DATABASE_URL=database_url, **level)
    assert ended.code == 0, ended.err
    for words in seen:
        assert f"talk attempt 1] {words}" in ended.err
    for words in unseen:
        assert words not in ended.err
    assert ended.json["result"] == {"talk": 1}


def test_a_mistyped_variable_is_said_once_on_stderr(command, tmp_path: Path) -> None:
    (tmp_path / "talks.yaml").write_text(FILE)
    ended = command("validate", "talks.yaml", TENAX_LEAS="3s", TENAX_SECRET_LEASE="x", TENAX_STEP="a")
    assert ended.code == 0
    assert ended.err.splitlines() == ["TENAX_LEAS is not a setting; did you mean TENAX_LEASE?"]
