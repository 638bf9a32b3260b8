"""A task goes on where the last attempt was, whatever was killed. Real processes, killed by SIGKILL."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.processes import Household
from support.waiting import eventually

from tenax.errors import Unreachable
from tenax.model.wire import Submission

PAGES = """
name: pages
workflow:
  - step: crawl
    type: python
    task: crawler:crawl
    timeout: 5m
    retry: {max_attempts: 3, initial_delay: 100ms, jitter: 0}
"""
CRAWLER = """
import pathlib, time
import tenax

HERE = pathlib.Path(__file__).parent

@tenax.task(PROCESS)
def crawl(ctx):
    start = ctx.resumed_from or 0
    for page in range(start, 100):
        with (HERE / f"visited-{ctx.attempt}").open("a") as visited:
            visited.write(f"{page}\\n")
        print(f"page {page}")
        ctx.progress(page / 100, f"page {page} of 100")
        ctx.checkpoint(page + 1, flush=page == 59)
        if page == 59 and ctx.attempt == 1:
            (HERE / "at-60").touch()
            time.sleep(300)
    return start
"""


def visited(folder: Path, attempt: int) -> list[int]:
    return [int(line) for line in (folder / f"visited-{attempt}").read_text().split()]


@pytest.mark.parametrize("process", ["", "process=True"], ids=["thread", "process"])
@pytest.mark.parametrize("with_server", [False, True], ids=["worker", "worker and server"])
def test_a_task_killed_at_page_60_goes_on_at_page_60(
    tmp_path: Path, database_url: str, process: str, with_server: bool
) -> None:
    (tmp_path / "crawler.py").write_text(CRAWLER.replace("PROCESS", process))
    settings = {"lease": "1s", "heartbeat": "300ms"}
    with Household(tmp_path, tmp_path / "home", database_url=database_url, **settings) as house:
        server, worker = house.server(), house.worker()
        with house.client() as client:
            execution_id = client.submit(Submission(source=PAGES, base_dir=str(tmp_path))).id
        eventually((tmp_path / "at-60").exists, timeout=60)
        worker.kill()
        if with_server:
            server.kill()
            server.wait()
            house.server()
        house.worker()

        def result() -> dict[str, object] | None:
            try:
                with house.client() as client:
                    execution = client.get(execution_id)
            except Unreachable:
                return None
            assert execution["status"] != "failed", execution["failure"]
            return execution["result"] if execution["status"] == "completed" else None

        assert eventually(result, timeout=60) == {"crawl": 60}
        assert visited(tmp_path, 1) == list(range(60))
        assert visited(tmp_path, 2) == list(range(60, 100))
        with house.client() as client:
            starts = [e for e in client.events(execution_id) if e["type"] == "action_started"]
        assert [start["data"].get("resumed_from") for start in starts] == [None, 1]
        report = house.verify()
        assert report is not None
        assert not report["violations"]
