"""`tenax worker --reload` and `tenax up --reload` as real processes, whose modules are edited meanwhile."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.processes import Household
from support.waiting import eventually

from tenax.cli.process.own_files import OwnFiles
from tenax.model.wire import Submission

TASKS = """
from live_parts import ANSWER
from tenax import task

@task(name="answer")
def answer():
    return ANSWER
"""
WAITS = """
from pathlib import Path
from threading import Event
from tenax import task

@task(name="wait-for")
def wait_for(file):
    Path(file + ".begun").touch()
    while not Path(file).exists():
        Event().wait(0.02)
    return "found"
"""
ANSWER = "name: answer\nworkflow: [{step: answer, type: python, task: answer}]\n"
WAIT = "name: wait\nworkflow: [{step: wait, type: python, task: wait-for, args: [FILE]}]\n"


@pytest.fixture
def house(tmp_path: Path, database_url: str) -> Iterator[Household]:
    (tmp_path / "live_tasks.py").write_text(TASKS)
    (tmp_path / "live_waits.py").write_text(WAITS)
    (tmp_path / "live_parts.py").write_text("ANSWER = 'one'\n")
    (tmp_path / "answer.yaml").write_text(ANSWER)
    with Household(tmp_path, tmp_path / "home", database_url=database_url) as house:
        yield house


def answer(house: Household) -> object:
    ran = house.run("run", "answer.yaml", "--json")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)["result"]["answer"]


def starts(words: str) -> int:
    return words.count("the worker starts")


def test_a_worker_starts_again_with_what_was_edited_and_loses_nothing(house: Household) -> None:
    house.server()
    worker = house.worker("--reload", "live_tasks", "live_waits", "--name", "editor")
    eventually(lambda: "the worker starts" in house.words(worker))
    assert answer(house) == "one"
    found = house.folder / "found"
    with house.client() as client:
        waiting = client.submit(Submission(source=WAIT.replace("FILE", str(found))))
        eventually(Path(f"{found}.begun").exists)
        (house.folder / "live_parts.py").write_text("ANSWER = 'two'\n")
        eventually(lambda: "live_parts.py has changed" in house.words(worker))
        assert starts(house.words(worker)) == 1, "a running attempt is awaited"
        found.touch()
        execution = client.wait(waiting.id)
    assert execution["status"] == "completed"
    [attempt] = execution["steps"]["wait"]["attempts"]
    assert (attempt["outcome"], attempt["attempt"]) == ("succeeded", 1)
    eventually(lambda: starts(house.words(worker)) == 2)
    assert answer(house) == "two"
    assert worker.poll() is None, "it is the same process"
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(40) == 0


def test_a_module_that_cannot_be_imported_is_awaited(house: Household) -> None:
    house.server()
    parts = house.folder / "live_parts.py"
    parts.write_text("ANSWER = (\n")
    worker = house.worker("--reload", "live_tasks.py")
    eventually(lambda: "it starts when the file has changed" in house.words(worker))
    assert "MODULE live_tasks.py cannot be imported: SyntaxError" in house.words(worker)
    parts.write_text("ANSWER = 'mended'\n")
    eventually(lambda: "the worker starts" in house.words(worker))
    assert answer(house) == "mended"
    (house.folder / "live_tasks.py").write_text(TASKS.replace("return ANSWER", "return undefined ="))
    eventually(lambda: house.words(worker).count("it starts when the file has changed") == 2)
    (house.folder / "live_tasks.py").write_text(TASKS.replace("return ANSWER", "return ANSWER + '!'"))
    eventually(lambda: starts(house.words(worker)) == 2)
    assert answer(house) == "mended!"


def test_without_a_module_there_is_nothing_to_wait_for(house: Household) -> None:
    ended = house.run_anew("worker", "--reload", "no_such_module")
    assert ended.returncode == 2
    assert "there is no module 'no_such_module'" in ended.stderr


def test_up_starts_its_workers_again_and_leaves_the_server(house: Household) -> None:
    up = house.up("--workers", "2", "--reload", "live_tasks")
    eventually(lambda: starts(house.words(up)) == 2)
    [server] = house.children(up, "server")
    before = house.children(up, "worker")
    (house.folder / "live_parts.py").write_text("ANSWER = 'two'\n")
    eventually(lambda: starts(house.words(up)) == 4)
    assert not set(before) & set(house.children(up, "worker"))
    assert house.children(up, "server") == [server]
    assert answer(house) == "two"
    assert "ended with exit code" not in house.words(up)
    up.send_signal(signal.SIGTERM)
    assert up.wait(60) == 0


def test_files_of_python_and_of_packages_are_not_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "watched_module.py"
    own.write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("watched_module")
    monkeypatch.setattr(
        sys, "modules", {name: sys.modules[name] for name in ("watched_module", "json", "tenax", "pytest")}
    )
    files = OwnFiles()
    assert files.changed() is None
    assert list(files._seen) == [str(own)]
    own.unlink()
    assert files.changed() is None, "an editor removes a file for a moment"
    own.write_text("VALUE = 22\n")
    assert files.changed() == str(own)
