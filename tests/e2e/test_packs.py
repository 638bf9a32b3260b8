"""Tests packs over machines: what one server installs runs on a worker that has never seen its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.packs import CALL, FLAKY_API, write_files
from support.processes import Household
from support.waiting import eventually

from tenax.model.wire import Submission
from tenax.sdk.sync_client import SyncClient

CRASHES_ONCE = (
    "import os, signal\nif os.environ['TENAX_ATTEMPT'] == '1':\n    os.kill(os.getpid(), signal.SIGKILL)\n"
)
FLOW = """
name: calls
workflow:
  - step: call
    action: mypack.flaky_api_call
    params: {url: "{{ input.url }}"}
    for_each: [1, 2, 3]
    parallelism: 3
    retry: {initial_delay: 0.1, jitter: 0}
input: {url: {type: string}}
"""


def test_a_pack_runs_on_a_worker_that_has_never_seen_its_folder(tmp_path: Path, database_url: str) -> None:
    """One server installs the pack, and another one serves the worker, which has a home of its own, a worker's token,
    and no way to the folder."""
    source = write_files(
        tmp_path / "author" / "mypack",
        {"actions/flaky-api.yaml": FLAKY_API, "actions/flaky_api.py": CRASHES_ONCE + CALL},
    )
    homes = [tmp_path / name for name in ("first", "second", "third")]
    with (
        Household(tmp_path, homes[0], database_url=database_url) as first,
        Household(tmp_path / "other", homes[1], database_url=database_url) as second,
    ):
        second.folder.mkdir()
        first.server()
        with first.client() as client:
            token = client.create_token("the-worker", "worker")["token"]
            admin = client.create_token("second", "admin")["token"]
            second.environment["TENAX_TOKEN"] = admin
            second.start("server")
            eventually(lambda: _is_ready(second.url, admin), timeout=60)
            installed = first.run("pack", "install", str(source))
            assert installed.returncode == 0, installed.stderr
            for path in sorted(source.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            mine = {"TENAX_SERVER": second.url, "TENAX_TOKEN": token, "TENAX_HOME": str(homes[2])}
            worker = second.start("worker", **mine)
            submitted = client.submit(Submission(source=FLOW, input={"url": "http://x"}))
            found: dict[str, Any] = client.wait(submitted.id)
            assert found["status"] == "completed", (found, second.words(worker))
            assert found["result"] == {"call": [{"called": "http://x"}] * 3}
            [pack] = client.packs()
        assert (homes[2] / "packs" / pack["hash"] / "actions" / "flaky_api.py").is_file()
        report = first.verify()
        assert report is not None
        assert report["violations"] == []


def _is_ready(url: str, token: str) -> bool:
    try:
        with SyncClient(url, token) as client:
            return client.ready()
    except Exception:  # noqa: BLE001 -- it is not up yet, whatever the reason
        return False
