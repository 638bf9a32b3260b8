"""Tests that secrets, the token and the database's URL are in no environment that a step could read, not even in `/proc`."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from support.processes import Household
from support.waiting import eventually

LOOK = """
import json, os, pathlib, sys
needles = [needle.encode() for needle in sys.argv[1:]]
ancestors, found, pid = [], [], os.getppid()
while pid:
    ancestors.append(pid)
    pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
for place in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        environ, command = (place / "environ").read_bytes(), (place / "cmdline").read_bytes()
    except OSError:
        continue
    if any(needle in environ for needle in needles):
        found.append(command.replace(b"\\0", b" ").decode())
parent = pathlib.Path(f"/proc/{os.getppid()}/environ").read_bytes()
print(json.dumps({"found": found, "ancestors": len(ancestors), "parent": b"PATH=" in parent}))
"""
FLOW = """
name: look
input: {secret: {type: string}, other: {type: string}}
workflow:
  - step: use
    type: process
    command: [sh, -c, 'test "$KEY" = "$1"', sh, "{{ input.secret }}"]
    env: {KEY: "{{ secret.KEY }}"}
  - step: look
    type: process
    needs: use
    command: [python3, look.py, "{{ input.secret }}", "{{ input.other }}"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "look.py").write_text(LOOK)
    (tmp_path / "look.yaml").write_text(FLOW)
    return tmp_path


def look(house: Household, secret: str, other: str, **more: str) -> dict[str, Any]:
    """Holds what a process step saw: the environments that hold one of the two texts, and the number of its ancestors."""
    inputs = ("--input", f"secret={secret}", "--input", f"other={other}")
    ran = house.run_anew("run", "look.yaml", "--json", *inputs, **more)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    seen = json.loads(ran.stdout)["result"]["look"]
    assert seen["parent"], "it can read the environment of its parent"
    return dict(seen)


def test_a_step_of_tenax_run_finds_no_secret_in_any_environment(folder: Path, database_url: str) -> None:
    secret = f"needle-{uuid4()}"
    with Household(folder, folder / "home", database_url=database_url) as house:
        seen = look(house, secret, database_url, TENAX_SECRET_KEY=secret, TENAX_SERVER="")
        assert seen["found"] == []
        assert seen["ancestors"] >= 2


def test_a_step_under_tenax_up_finds_no_secret_in_any_environment(folder: Path, database_url: str) -> None:
    """Nor the database. The workers have it from a pipe: also one that is started again shows nothing, not for a moment."""
    secret = f"needle-{uuid4()}"
    with Household(folder, folder / "home", database_url=database_url) as house:
        house.environment["TENAX_SECRET_KEY"] = secret
        up = house.up("--workers", "1")
        del house.environment["TENAX_SECRET_KEY"]
        eventually(lambda: "the worker starts" in house.words(up))
        os.kill(*house.children(up, "worker"), signal.SIGKILL)
        eventually(lambda: house.words(up).count("the worker starts") == 2)
        for pid in (*house.children(up, "worker"), *house.children(up, "server")):
            lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            names = {line.partition(b"=")[0] for line in lines}
            assert b"TENAX_HOME" in names
            assert not {b"TENAX_SECRET_KEY", b"TENAX_TOKEN", b"TENAX_DATABASE_URL"} & names
        seen = look(house, secret, database_url)
        assert seen["found"] == []
        assert seen["ancestors"] >= 3
