"""Tasks that their module does not define, found without importing it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenax.cli.input.unknown_tasks import unknown_tasks

ORDERS = """
from tenax import task

raise RuntimeError("this module is never imported here")

@task
def notify(text): ...

@task(name="orders:refund")
def give_back(order): ...

def _private(): ...
"""


def workflow(*tasks: str) -> str:
    steps = "\n".join(f'  - {{step: s{n}, type: python, task: "{task}"}}' for n, task in enumerate(tasks))
    return f"name: w\nworkflow:\n{steps}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "orders.py").write_text(ORDERS)
    return tmp_path


def found(
    folder: Path, text: str, files: dict[str, str] | None = None, *, installed: bool = False
) -> list[str]:
    findings = unknown_tasks(text, "w.yaml", str(folder), files or {}, installed=installed)
    return [str(finding) for finding in findings]


def test_a_misspelt_function_is_found_with_its_place_and_the_nearest_name(folder, monkeypatch):
    monkeypatch.chdir(folder)
    no_function = "the module `orders` (orders.py) has no function"
    assert found(folder, workflow("orders:notify", "orders:notfy", "orders:send")) == [
        f"w.yaml:4:30: workflow[1].task: {no_function} `notfy`; did you mean `notify`?",
        f"w.yaml:5:30: workflow[2].task: {no_function} `send` (there are: give_back, notify)",
    ]


@pytest.mark.parametrize(
    "task",
    [
        "orders:notify",
        "orders:refund",  # by the name that it is registered under
        "orders:_private",
        "orders:task",  # whatever is bound there
        "notfy",  # a registered name may be in any module
        "absent:notfy",  # a worker may have this module
        "orders.below:notfy",
    ],
)
def test_nothing_is_said_where_nothing_is_known_to_be_wrong(folder, task):
    assert found(folder, workflow(task)) == []


def test_what_cannot_be_looked_at(folder):
    (folder / "packed").mkdir()
    (folder / "packed" / "__init__.py").write_text("")
    (folder / "packed" / "inner.py").write_text("def run(): ...")
    (folder / "spread").mkdir()
    (folder / "huge.py").write_text("x = 1\n" * 200_000)
    os.mkfifo(folder / "pipe.py")
    (folder / "odd.py").write_text("from orders import *")
    tasks = ("packed:inner.run", "packed.inner:run", "spread:run", "huge:run", "pipe:run", "odd:run")
    assert found(folder, workflow(*tasks)) == []
    assert len(found(folder, workflow("packed:outer.run", "packed.inner:walk"))) == 2


def test_compensations_and_entries_of_vary_are_looked_at(folder):
    text = """
name: w
workflow:
  - step: a
    type: python
    task: orders:notify
    retry: {max_attempts: 3, vary: [{}, {task: "orders:notfy"}]}
    compensate: {type: python, task: "orders:giveback"}
  - {step: b, type: process, command: "orders:notfy"}
"""
    vary, compensation = found(folder, text)
    assert vary.startswith("w.yaml:7:42: workflow[0].retry.vary[1].task: ")
    assert compensation.startswith("w.yaml:8:32: workflow[0].compensate.task: ")
    assert compensation.endswith("; did you mean `give_back`?")


def test_modules_of_children_are_searched_in_the_folder_of_the_child(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "orders.py").write_text("def only_here(): ...")
    files = {"sub/child.yaml": workflow("orders:only_here", "orders:notify")}
    [finding] = found(folder, workflow("orders:notify"), files)
    assert finding.startswith("sub/child.yaml:4:30: workflow[1].task: ")


def test_modules_on_the_path_are_looked_at_on_request(folder, tmp_path_factory, monkeypatch):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "installed_tasks.py").write_text("def run(): ...")
    monkeypatch.syspath_prepend(str(elsewhere))
    text = workflow("installed_tasks:run", "installed_tasks:walk", "sys:walk", "time:walk", "math:walk")
    assert found(folder, text) == []
    [finding] = found(folder, text, installed=True)
    assert str(elsewhere / "installed_tasks.py") in finding
    (folder / "installed_tasks.py").write_text("def walk(): ...")
    [beside] = found(folder, text, installed=True)
    assert "workflow[0].task" in beside, "the one beside the file comes first, as in a worker"


def test_a_file_that_cannot_be_read_gives_no_findings_of_tasks(folder):
    assert found(folder, "name: [") == []
    assert found(folder, "- a list") == []
    assert (
        found(folder, "name: w\nworkflow: [{step: a, type: pyton}, {step: b, type: python, task: 3}, 7]\n")
        == []
    )


def test_very_many_findings_are_cut(folder):
    findings = found(folder, workflow(*["orders:notfy"] * 300))
    assert len(findings) == 101
    assert "there may be more" in findings[-1]
