"""The command `tenax` as a real process, in a folder and with a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Ended:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)


Command = Callable[..., Ended]


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TENAX_", "COV_"))}
    kept.pop("FORCE_COLOR", None)
    return {**kept, "TENAX_HOME": str(home), **more}


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """The variables that a command of this test runs with, and some more."""
    return lambda **more: clean_environment(tmp_path / "home", **more)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """`command("list", "--json", TENAX_SERVER="...")`: arguments, and variables of the environment."""

    def run(*arguments: str, stdin: str = "", **variables: str) -> Ended:
        ended = subprocess.run(
            [sys.executable, "-m", "tenax", *arguments],
            cwd=tmp_path,
            env=clean_environment(tmp_path / "home", **variables),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return run
