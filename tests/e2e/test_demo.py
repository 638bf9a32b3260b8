"""`make demo`: it shows what it promises, and leaves nothing behind."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

SHOWN = (
    "attempt 1 failed: transient (http_503)",
    "attempt 2 failed: transient (http_503)",
    "attempt 3 failed: transient (http_429)",
    "attempt 4 succeeded",
    "was killed by signal 9; starting it again",
    "worker_lost (worker_died)",
    "attempt 1 of 3, not counted",
    "execution completed",
    "-- timeline --",
    "The callee asked to wait 2s (Retry-After): that is the floor",
    "no process is left",
)


@pytest.fixture
def temporary() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tenax-demo-test-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def demo(folder: Path, **how: Any) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    environment = {**kept, "TMPDIR": str(folder), "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "tenax.demo"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=150,
        **how,
    )


def processes_of(folder: Path) -> list[str]:
    """The demo's homes are below this folder, so whatever is left of it has that in its command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words:
            found.append(words)
    return found


def check(ended: subprocess.CompletedProcess[str], folder: Path) -> None:
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr == ""
    assert [words for words in SHOWN if words not in ended.stdout] == []
    assert processes_of(folder) == []
    assert list(folder.glob("tenax-demo-*")) == []


def test_the_demo_shows_a_recovery_and_leaves_nothing_behind(temporary: Path) -> None:
    # As root this is also the case in which PostgreSQL's account cannot reach the folder: it is of mode 0700.
    check(demo(temporary), temporary)


def test_the_demo_that_is_kept_leads_to_its_page_until_it_is_interrupted(temporary: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    running = subprocess.Popen(
        [sys.executable, "-m", "tenax.demo", "--keep"],
        cwd=temporary,
        env={**kept, "TMPDIR": str(temporary), "HOME": str(temporary), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout is not None
        link = next(line.strip() for line in running.stdout if "/sign-in?code=" in line)
        assert link.endswith("&next=/executions/1")
        with httpx2.Client(base_url=link.partition("/sign-in")[0], follow_redirects=True) as browser:
            form = browser.get(link)
            fields = dict(re.findall(r'name="(\w+)"[^>]*value="([^"]*)"', form.text))
            page = browser.post("/sign-in", data=fields)
        assert page.status_code == 200, re.findall(r"notice-title.*", page.text)
        assert "fetch_prices" in page.text
        running.send_signal(signal.SIGINT)
        assert "The demo is over" in running.stdout.read()
        assert running.wait(60) == 0
    finally:
        running.kill()
        running.wait()
    assert processes_of(temporary) == []
    assert list(temporary.glob("tenax-demo-*")) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_the_demo_works_as_an_ordinary_user(temporary: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    as_nobody = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    os.chown(temporary, nobody.pw_uid, nobody.pw_gid)
    try:
        subprocess.run([sys.executable, "-c", "import tenax.cli"], cwd=temporary, check=True, **as_nobody)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this clone, or its Python, cannot be read by other users")
    check(demo(temporary, **as_nobody), temporary)
