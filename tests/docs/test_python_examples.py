"""Runs the examples in Python as a person does: a script, and web servers on loopback."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from generate import ROOT
from support.processes import Household, free_port
from support.waiting import eventually

EXAMPLES = ROOT / "examples"


@pytest.fixture
def house(tmp_path: Path, own_database_url: str) -> Iterator[Household]:
    with Household(tmp_path, tmp_path / "home", database_url=own_database_url) as house:
        yield house


class Program:
    """Starts programs of one folder. They work on the database itself, unless they are `through_server`."""

    def __init__(self, house: Household, folder: str, **environment: str) -> None:
        self._house = house
        self._folder = EXAMPLES / folder
        own = {name: value for name, value in house.environment.items() if name != "TENAX_SERVER"}
        self._environment = {**own, "PYTHONDONTWRITEBYTECODE": "1", **environment}

    def run(self, *arguments: str) -> str:
        ended = subprocess.run(
            [sys.executable, *arguments],
            cwd=self._folder, env=self._environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        log = self._house.folder / f"{arguments[1]}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=self._folder, env=self._environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
        self._house.started.append(process)
        return process


def answer(method: str, url: str, **what: Any) -> Any:
    """Returns the JSON of an answer. Waits for a server that is still starting."""

    def ask() -> httpx2.Response | None:
        try:
            return httpx2.request(method, url, trust_env=False, timeout=30, **what)
        except httpx2.TransportError:
            return None

    response = eventually(ask)
    assert response is not None
    assert response.status_code in (200, 202), response.text
    return response.json()


def test_the_script_sends_each_mail_once(house: Household) -> None:
    program = Program(house, "python")
    expected = "sent 3 mails, the last one: spring to cyd@example.org\n"
    assert program.run("newsletter.py") == expected
    assert program.run("newsletter.py") == expected
    assert house.query("select count(*) from execution") == [1], "the same edition is one execution"


def test_the_shop_on_fastapi(house: Household) -> None:
    port = free_port()
    server = Program(house, "fastapi").start("-m", "uvicorn", "shop:app", "--port", str(port))
    orders = f"http://127.0.0.1:{port}/orders"
    placed = answer("POST", orders, json={"id": 17, "amount": 250})
    assert answer("POST", orders, json={"id": 17, "amount": 250}) == placed
    shown = eventually(lambda: _finished(answer("GET", f"{orders}/{placed['execution']}")))
    assert shown == {"status": "completed", "receipt": {"order": 17, "number": "R-17"}}
    server.terminate()
    server.wait(60)
    assert "Application shutdown complete" in (house.folder / "uvicorn.log").read_text(), (
        "the worker was drained"
    )


def _finished(shown: dict[str, Any]) -> dict[str, Any] | None:
    return shown if shown["status"] != "running" else None


def test_the_shop_on_django(house: Household) -> None:
    port, database = free_port(), str(house.folder / "shop.sqlite3")
    program = Program(house, "django", SHOP_DATABASE=database, DJANGO_SETTINGS_MODULE="shop.settings")
    program.run("manage.py", "migrate", "--verbosity", "0")
    assert "No changes detected" in program.run("manage.py", "makemigrations", "--check", "--dry-run")
    program.start("-m", "tenax", "up", "--workers", "1", "shop.worker")
    program.start("manage.py", "runserver", "--noreload", str(port))
    orders = f"http://127.0.0.1:{port}/orders"
    placed = answer("POST", orders, data={"amount": "250"})
    shown = eventually(lambda: _paid(answer("GET", f"{orders}/{placed['order']}")))
    assert shown == {"order": 1, "amount": 250, "receipt": "R-1"}


def _paid(shown: dict[str, Any]) -> dict[str, Any] | None:
    return shown if shown["receipt"] else None
