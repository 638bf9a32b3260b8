"""Tests that workflows, policies and Python in the docs are valid."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from blocks import Block, blocks
from generate import ROOT

from tenax.model.parse.retry_fields import parse_retry
from tenax.model.source.yaml_source import read_source
from tenax.policy.check import load_workflow
from tenax.policy.packs.check_action import load_action
from tenax.policy.retry.resolve import resolve_policy
from tenax.settings import Settings, load_settings


def _cases(language: str) -> list[Any]:
    return [pytest.param(block, id=block.place) for block in blocks(language)]


@pytest.mark.parametrize("block", _cases("yaml"))
def test_yaml_is_a_valid_workflow_action_or_policy(block: Block) -> None:
    data = read_source(block.text, filename=block.place).data
    if "entrypoint" in data or "command" in data:
        load_action(block.text.encode(), block.place)
        return
    if "workflow" in data:
        load_workflow(block.text, filename=block.place)
        return
    assert set(data) == {"retry"}, "no whole workflow, action or policy"
    patch, findings = parse_retry(data["retry"], ("retry",))
    assert findings == []
    resolve_policy([patch])


@pytest.mark.parametrize("block", _cases("json"))
def test_json_can_be_read(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", _cases("toml"))
def test_toml_is_valid_settings(block: Block, tmp_path: Path) -> None:
    (tmp_path / "tenax.toml").write_text(block.text)
    settings = load_settings(env={"TENAX_HOME": str(tmp_path)}, cwd=tmp_path)
    assert set(settings.sources) - {"home"} == set(tomllib.loads(block.text))


@pytest.mark.parametrize("block", _cases("python"))
def test_python_runs(
    block: Block, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs the definitions of a block. If the block is marked so, also runs its tests: `run: pytest` gives them the fixture `tenax`,
    and `run: database` the settings of a database."""
    module = ModuleType(f"docs_{abs(hash(block.place))}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # dataclasses look their module up
    names = vars(module)
    exec(compile(block.text, block.place, "exec"), names)
    if block.mark is None or not block.mark.startswith("run: "):
        return
    monkeypatch.chdir(ROOT)
    given = _given_to_tests(block.mark, request, tmp_path)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert tests
    for test in tests:
        ended = test(given)
        if inspect.iscoroutine(ended):
            asyncio.run(ended)


def _given_to_tests(mark: str, request: pytest.FixtureRequest, folder: Path) -> Any:
    if mark == "run: pytest":
        return request.getfixturevalue("tenax")
    assert mark == "run: database"
    return Settings(home=folder, database_url=request.getfixturevalue("database_url"))


def test_there_is_something_to_look_at() -> None:
    """Checks that the patterns find something. A pattern that finds nothing would pass every test above."""
    assert len(blocks("yaml")) >= 5
    assert len(blocks("python")) >= 4
    assert {"run: database", "run: pytest"} <= {block.mark for block in blocks("python")}
    assert os.environ.get("TENAX_SERVER") is None
