"""`tenax up`, `tenax server` and `tenax worker` as real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from support.processes import Household, alive
from support.waiting import eventually

from tenax.cli.process.up import _workers_token
from tenax.settings import Settings
from tenax.store.connect import Database
from tenax.store.fleet.tokens import create_token, list_tokens
from tenax.store.transaction import transaction

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "household_tasks.py").write_text(TASKS)
    (tmp_path / "double.yaml").write_text(DOUBLE)
    return tmp_path


def stopped(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGTERM)
    return process.wait(40)


def test_up_serves_and_works_and_stops_in_order(folder: Path, database_url: str) -> None:
    with Household(folder, folder / "home", database_url=database_url) as house:
        up = house.up("--workers", "2", "household_tasks")
        assert house.url in house.words(up)
        ran = house.run("run", "double.yaml", "--json")
        assert ran.returncode == 0, ran.stderr
        assert '"double": 42' in ran.stdout
        eventually(lambda: len(house.children(up, "worker")) == 2)
        children = [*house.children(up, "server"), *house.children(up, "worker")]
        assert len(children) == 3
        assert stopped(up) == 0
        assert not [pid for pid in children if alive(pid)]
        assert "tenax up: stopping on SIGTERM: the workers finish or hand back" in house.words(up)
        assert house.words(up).rstrip().endswith("tenax up: stopped")


def test_what_dies_is_started_again(folder: Path, database_url: str) -> None:
    with Household(folder, folder / "home", database_url=database_url) as house:
        up = house.up("--workers", "1", "household_tasks")
        eventually(lambda: "the worker starts" in house.words(up))
        for kind in ("worker", "server"):
            [killed] = house.children(up, kind)
            os.kill(killed, signal.SIGKILL)
            eventually(lambda kind=kind, killed=killed: house.children(up, kind) != [killed])
            assert "was killed by signal 9; starting it again" in house.words(up)
        house.until_ready(up)
        ran = house.run("run", "double.yaml", "--json")
        assert ran.returncode == 0, ran.stderr
        assert stopped(up) == 0
        name = f"name={socket.gethostname()}-{house.port}-1"
        assert house.words(up).count(name) == 2, "the next life of a worker has the name of the one before"


def test_one_that_ends_in_good_order_is_started_again(folder: Path, database_url: str) -> None:
    with Household(folder, folder / "home", database_url=database_url) as house:
        up = house.up("--workers", "1", "household_tasks")
        eventually(lambda: "the worker starts" in house.words(up))
        [asked] = house.children(up, "worker")
        os.kill(asked, signal.SIGTERM)
        eventually(lambda: house.children(up, "worker") not in ([], [asked]))
        assert "worker-1 ended normally (it was drained, or asked to stop)" in house.words(up)
        assert stopped(up) == 0


def test_a_worker_whose_name_is_taken_over_stays_down_and_the_rest_goes_on(
    folder: Path, database_url: str
) -> None:
    terms = {"lease": "3s", "heartbeat": "0.2s", "worker_name": "w"}
    with Household(folder, folder / "home", database_url=database_url, **terms) as house:
        up = house.up("--workers", "2", "household_tasks")
        eventually(lambda: house.words(up).count("the worker starts") == 2)
        refused = house.run("worker", "household_tasks", "--name", "w-1")
        assert refused.returncode == 2
        assert "tenax: the name w-1 belongs to the token 'up-" in refused.stderr
        released = house.run("workers", "release", "w-1", "--reason", "a rival is to have it")
        assert released.stdout == "the name w-1 is free: the next worker that starts under it gets it\n"
        rival = house.worker("household_tasks", "--name", "w-1")
        down = "worker-1 ended with exit code 2; its messages above say why. It is not started again; the other processes go on"
        eventually(lambda: down in house.words(up))
        assert "another worker has taken over the name w-1" in house.words(up)
        assert stopped(rival) == 0
        ran = house.run("run", "double.yaml", "--json")
        assert ran.returncode == 0, ran.stderr
        assert stopped(up) == 0
        assert house.words(up).count("worker-1 is process") == 1
        assert house.words(up).count("worker-2 is process") == 1


def test_children_die_with_a_supervisor_that_is_killed(folder: Path, open_folder: Path) -> None:
    with Household(folder, open_folder) as house:
        up = house.up("--workers", "2")
        eventually(lambda: len(house.children(up, "worker")) == 2)
        family = [*house.children(up, "server"), *house.children(up, "worker"), house.postmaster()]
        up.kill()
        up.wait()
        eventually(lambda: not [pid for pid in family if alive(pid)])


def test_up_works_with_tokens_in_force(folder: Path, database_url: str) -> None:
    with Household(folder, folder / "home", database_url=database_url) as house:
        made = house.run("token", "create", "me", "--role", "operator", "--json", TENAX_SERVER="")
        assert made.returncode == 0, made.stderr
        secret = json.loads(made.stdout)["token"]
        up = house.up("--workers", "1", "household_tasks")
        refused = house.run("run", "double.yaml", "--json")
        assert refused.returncode == 3
        ran = house.run("run", "double.yaml", "--json", TENAX_TOKEN=secret)
        assert ran.returncode == 0, ran.stderr
        assert stopped(up) == 0
        listed = house.run("token", "list", "--all", "--json", TENAX_SERVER="")
        passes = [token for token in json.loads(listed.stdout) if token["name"].startswith("up-")]
        assert len(passes) == 1
        assert passes[0]["role"] == "worker"
        assert passes[0]["revoked_at"] is not None


def test_without_workers_it_says_so(folder: Path, database_url: str) -> None:
    with Household(folder, folder / "home", database_url=database_url) as house:
        up = house.up("--workers", "0")
        eventually(
            lambda: "there are no workers: nothing will be run until one is started" in house.words(up)
        )


def test_a_port_in_use_is_said_once(folder: Path, database_url: str) -> None:
    with Household(folder, folder / "home", database_url=database_url) as house:
        house.server()
        second = house.run("server")
        assert second.returncode == 3
        assert str(house.port) in second.stderr
        assert "Traceback" not in second.stderr
        up = house.run("up", "--workers", "1")
        assert up.returncode == 3
        assert "worker-1" not in up.stderr
        assert "Traceback" not in up.stderr


@pytest.mark.parametrize(
    ("module", "words"),
    [("absent_module", "there is no module 'absent_module'"), ("broken_module", "ZeroDivisionError")],
)
def test_a_module_that_cannot_be_imported(folder: Path, database_url: str, module: str, words: str) -> None:
    (folder / "broken_module.py").write_text("1 / 0\n")
    with Household(folder, folder / "home", database_url=database_url) as house:
        worker = house.run("worker", module)
        assert worker.returncode == 2
        assert words in worker.stderr
        assert "Traceback" not in worker.stderr
        up = house.run("up", "--workers", "2", module)
        assert up.returncode == 2
        assert words in up.stderr
        assert up.stderr.count("It is not started again; the other processes go on") == 1
        assert up.stderr.count("Everything is stopped") == 1


def test_a_worker_with_a_refused_token_says_so(folder: Path, database_url: str) -> None:
    with Household(folder, folder / "home", database_url=database_url) as house:
        house.run("token", "create", "me", "--role", "admin", TENAX_SERVER="")
        house.server()
        worker = house.run("worker", TENAX_TOKEN="tenax_wrong")
        assert worker.returncode == 3
        assert "Traceback" not in worker.stderr


def test_an_old_schema_is_exit_code_3(folder: Path, empty_database_url: str) -> None:
    with Household(folder, folder / "home", database_url=empty_database_url) as house:
        for command in ("server", "up"):
            ended = house.run(command)
            assert ended.returncode == 3
            assert "tenax db migrate" in ended.stderr
            assert "Traceback" not in ended.stderr


def test_following_on_a_server_can_be_left_with_ctrl_c(folder: Path, database_url: str) -> None:
    with Household(folder, folder / "home", database_url=database_url) as house:
        house.server()
        run = house.start("run", "double.yaml")  # no worker is there: it waits
        eventually(lambda: "enqueued" in house.words(run))
        run.send_signal(signal.SIGINT)
        assert run.wait(20) == 130
        assert "detached: execution" in house.words(run)
        house.worker("household_tasks")
        with house.client() as client:
            assert client.wait(1)["status"] == "completed"


def test_the_next_life_in_a_container_has_the_same_name_and_number(database_url: str) -> None:
    """A pass that a killed `up` left behind under our own host and process id is an orphan, and no obstacle."""

    async def scene() -> None:
        settings = Settings(home=Path("/nonexistent"), database_url=database_url)
        async with Database.open(settings) as database:
            async with transaction(database) as tx:
                await create_token(tx, f"up-{socket.gethostname()[:60]}-{os.getpid()}-0a1b2c3d", "worker")
            async with _workers_token(database) as first:
                secret = await first.secret()
                assert await first.secret() == secret
                async with transaction(database) as tx:
                    live = [token.name for token in await list_tokens(tx) if token.revoked_at is None]
                assert len(live) == 1
                assert not live[0].endswith("-0a1b2c3d")

    asyncio.run(scene())


KILLS = """
import os, signal
from tenax import TaskContext, task

@task(name="kills")
def kills(ctx: TaskContext):
    if ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return ctx.attempt
"""
KILLED = """
name: killed
workflow:
  - step: killed
    type: python
    task: kills
"""


def test_a_worker_that_dies_has_its_work_decided_on_at_once(folder: Path, database_url: str) -> None:
    """The lease is an hour: nothing but the supervisor's word ends it in time. There is no policy."""
    (folder / "household_tasks.py").write_text(KILLS)
    (folder / "killed.yaml").write_text(KILLED)
    with Household(folder, folder / "home", database_url=database_url, lease="1h", heartbeat="1s") as house:
        up = house.up("--workers", "1", "household_tasks")
        ran = house.run("run", "killed.yaml", "--json")
        assert ran.returncode == 0, ran.stderr
        assert '"killed": 2' in ran.stdout
        assert "worker-1 has died and lost 1 attempt; the server decides on them at once" in house.words(up)
        assert stopped(up) == 0


ENDLESS = """
import asyncio
from pathlib import Path

from tenax import task

@task(name="endless")
async def endless():
    Path(__file__).with_name("running").touch()
    await asyncio.Event().wait()
"""


def test_a_draining_up_says_that_a_second_ctrl_c_stops_at_once_and_does(
    folder: Path, database_url: str
) -> None:
    """The worker may drain for an hour: nothing but the second signal ends it in time."""
    (folder / "household_tasks.py").write_text(ENDLESS)
    (folder / "endless.yaml").write_text(
        "name: endless\nworkflow:\n  - {step: endless, type: python, task: endless, timeout: 2h}\n"
    )
    with Household(folder, folder / "home", database_url=database_url, drain="1h") as house:
        up = house.up("--workers", "1", "household_tasks")
        submitted = house.run("submit", "endless.yaml")
        assert submitted.returncode == 0, submitted.stderr
        eventually((folder / "running").exists)
        up.send_signal(signal.SIGINT)
        said = "tenax up: stopping on SIGINT: the workers finish or hand back what they have; a second Ctrl-C stops them at once"
        eventually(lambda: said in house.words(up))
        eventually(lambda: "draining: 1 attempt is running, up to 3600 s" in house.words(up))
        assert up.poll() is None
        up.send_signal(signal.SIGINT)
        assert up.wait(60) == 0
        events = house.run("events", "1", "--database", database_url)
        assert "attempt 1 was handed back, uncounted (its worker is stopping)" in events.stdout
