"""Programs that submit tasks, each as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.processes import Household
from support.serve.served import start_server

from tenax.settings import Settings

SCRIPT = """
from dataclasses import dataclass
from tenax import TaskFailed, Tenax, task

@dataclass
class Order:
    id: int

@task
def charge(order: Order) -> Order:
    return Order(order.id + 1)

@task(process=True)
def apart(order: Order) -> list[str]:
    return [type(order).__name__, __name__]

if __name__ == "__main__":
    with Tenax.sync() as app, app.worker():
        print(charge.submit_sync(Order(1)).result(timeout=60))
        print(apart.submit_sync(Order(1)).result(timeout=60))
        print(charge.map_sync([Order(2), Order(3)]).result(timeout=60))
"""
SHOP = """
from tenax import task

@task
def charge(amount: int) -> int:
    return amount * 2
"""
CALLER = """
import asyncio
from tenax import Tenax
from shop import charge

async def main():
    async with Tenax() as app:
        assert app.engine is None
        print(await (await charge.submit(21)).result(timeout=60))

asyncio.run(main())
"""


def run(script: Path, cwd: Path, **variables: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    ran = subprocess.run(
        [sys.executable, str(script)],
        cwd=cwd,
        env=kept | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("through", ["database", "server"])
def test_a_script_runs_its_own_tasks(through, database_url, tmp_path):
    (tmp_path / "orders.py").write_text(SCRIPT)
    variables = {"TENAX_HOME": str(tmp_path), "TENAX_DATABASE_URL": database_url}
    served = None
    if through == "server":
        served = start_server(Settings(home=tmp_path, database_url=database_url, port=0))
        variables = {"TENAX_HOME": str(tmp_path), "TENAX_SERVER": served.url}
    try:
        printed = run(tmp_path / "orders.py", tmp_path, **variables)
    finally:
        if served is not None:
            served.stop()
    assert printed.splitlines() == [
        "Order(id=2)",
        "['Order', '__tenax_task__']",
        "[Order(id=3), Order(id=4)]",
    ]


def test_a_worker_apart_finds_the_module_beside_the_program(own_database_url, tmp_path):
    program, elsewhere = tmp_path / "program", tmp_path / "elsewhere"
    for folder in (program, elsewhere):
        folder.mkdir()
    (program / "shop.py").write_text(SHOP)
    (program / "caller.py").write_text(CALLER)
    with Household(elsewhere, tmp_path / "home", database_url=own_database_url) as house:
        house.server()
        house.worker()
        printed = run(
            program / "caller.py", elsewhere, TENAX_HOME=str(tmp_path / "home"), TENAX_SERVER=house.url
        )
    assert printed == "42\n"
