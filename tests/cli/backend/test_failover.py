"""Two servers on one database, and workers and commands that know both."""

from __future__ import annotations

from pathlib import Path

from support.processes import Household, free_port
from support.waiting import eventually

SLOW = """
name: slow
workflow:
  - step: wait
    type: process
    command: touch {gate}-reached; until [ -e {gate} ]; do sleep 0.05; done; echo done
"""
QUICK = "name: quick\nworkflow: [{step: a, type: process, command: 'echo 42'}]\n"


def test_work_goes_on_when_the_server_that_was_in_use_is_killed(tmp_path: Path, database_url: str) -> None:
    gate = tmp_path / "gate"
    (tmp_path / "slow.yaml").write_text(SLOW.format(gate=gate))
    (tmp_path / "quick.yaml").write_text(QUICK)
    with Household(tmp_path, tmp_path / "home", database_url=database_url) as house:
        port = free_port()
        both = f"{house.url},http://127.0.0.1:{port}"
        first = house.server()
        second = house.start("server", "--port", str(port))
        eventually(lambda: "listening on" in house.words(second))
        worker = house.start("worker", "--name", "w", TENAX_SERVER=both)
        run = house.start("run", "slow.yaml", "--json", TENAX_SERVER=both)
        eventually((tmp_path / "gate-reached").exists)
        first.kill()
        first.wait()
        gate.touch()
        assert run.wait(60) == 0, house.words(run)
        again = house.run("run", "quick.yaml", "--json", TENAX_SERVER=both)
        assert again.returncode == 0, again.stderr
        assert worker.poll() is None
        nobody = house.run("list", TENAX_SERVER=house.url)
        assert nobody.returncode == 3
