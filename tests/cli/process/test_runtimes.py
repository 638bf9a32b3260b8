"""Tests `--runtime`, which says which work a worker asks for, with real processes."""

from __future__ import annotations

import json
from pathlib import Path

from support.processes import Household
from support.waiting import eventually

TASKS = """
from tenax import task

@task(name="double")
def double(n):
    return n * 2
"""
DOUBLE = """
name: double
workflow:
  - step: double
    type: python
    task: double
    args: {n: 21}
"""


def runtimes(house: Household) -> list[list[str]]:
    listed = house.run("workers", "--json")
    assert listed.returncode == 0, listed.stderr
    return sorted(worker["runtimes"] for worker in json.loads(listed.stdout))


def test_work_waits_for_a_worker_with_its_runtime(tmp_path: Path, database_url: str) -> None:
    (tmp_path / "runtime_tasks.py").write_text(TASKS)
    (tmp_path / "double.yaml").write_text(DOUBLE)
    with Household(tmp_path, tmp_path / "home", database_url=database_url) as house:
        house.up("--workers", "1", "--runtime", "http,process", "runtime_tasks")
        eventually(lambda: runtimes(house) == [["http", "process"]])
        submitted = house.run("submit", "double.yaml", "--json")
        assert submitted.returncode == 0, submitted.stderr
        id_ = str(json.loads(submitted.stdout)["id"])
        eventually(lambda: "no live worker has the runtime python" in house.run("show", id_).stdout)
        house.worker("runtime_tasks", "--runtime", "python")
        eventually(lambda: json.loads(house.run("show", id_, "--json").stdout)["status"] == "completed")
        assert runtimes(house) == [["http", "process"], ["python"]]


def test_the_variable_holds_for_the_workers_of_up(tmp_path: Path, database_url: str) -> None:
    with Household(tmp_path, tmp_path / "home", database_url=database_url, runtimes="process") as house:
        house.up("--workers", "2")
        eventually(lambda: runtimes(house) == [["process"], ["process"]])


def test_an_unknown_runtime_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with Household(tmp_path, tmp_path / "home") as house:
        for command in ("worker", "up"):
            refused = house.run(command, "--runtime", "http", "--runtime", "pyhton")
            assert refused.returncode == 2
            assert (
                "'pyhton' is none of python, http, process, agent, action; did you mean 'python'?"
                in refused.stderr
            )
