"""Bulk jobs of thousands of executions and dead letters whose servers are killed in the middle: each is acted on once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from support.processes import Household
from support.profiles import is_full
from support.waiting import eventually

from tenax.model.wire import Submission

WAITS = "name: waits\nworkflow:\n  - {step: paid, type: wait, signal: payment}\n"
COUNT = 3000
ACTED_TWICE = """
select execution_id from tenax.event
 where type = 'operator_action' and execution_id is not null and data ->> 'action' = $1
 group by execution_id having count(*) > 1
"""
ACTED = "select count(distinct execution_id) from tenax.event where type = 'operator_action' and data ->> 'action' = $1"


def job(house: Household, job_id: int) -> dict[str, Any]:
    with house.client() as client:
        return client.bulk_job(job_id)


def test_each_execution_is_acted_on_once_though_servers_are_killed(tmp_path: Path, database_url: str) -> None:
    with Household(tmp_path, tmp_path / "home", database_url=database_url) as house:
        server = house.server()
        with house.client() as client:
            for start in range(0, COUNT, 1000):
                batch = [Submission(source=WAITS, key=f"k{n}") for n in range(start, start + 1000)]
                assert all(one.created for one in client.submit_many(batch))
            made = client.create_bulk_job("cancel", "workflow=waits", reason="the shop is closed", canary=50)
            assert (made["total"], made["state"]) == (COUNT, "preview")
            client.start_bulk_job(made["id"])
        for share in (0.2, 0.5):
            wanted = int(COUNT * share)
            eventually(lambda: job(house, made["id"])["counts"]["done"] > wanted, timeout=120)  # noqa: B023
            server.kill()
            server.wait()
            assert house.query("select state from tenax.bulk_job") == ["running"]
            server = house.server()
        ended = eventually(
            lambda: (found := job(house, made["id"]))["state"] == "completed" and found, timeout=180
        )
        assert ended["counts"] == {"pending": 0, "done": COUNT, "skipped": 0, "failed": 0}
        assert ended["canary_state"] == "passed"
        assert house.query(ACTED_TWICE, "cancel") == []
        assert house.query(ACTED, "cancel") == [COUNT]
        assert house.query("select count(*) from tenax.execution where state <> 'cancelled'") == [0]
        verified = house.verify()
        assert verified is not None
        assert verified["violations"] == []


LETTERS = int(os.environ.get("TENAX_BULK_LETTERS") or (3_000 if is_full() else 1_000))
TASKS = """
from tenax import Fatal, TaskContext, task


@task
def load(ctx: TaskContext) -> int:
    if ctx.attempt == 1:
        raise Fatal("the service is closed")
    return ctx.attempt
"""
LOADS = 'name: loads\nworkflow: [{step: load, type: python, task: "again:load", retry: false}]\n'
REDRIVEN = """
select execution_id, item from tenax.event
 where type = 'operator_action' and execution_id is not null and data ->> 'action' in ('retry', 'retry_now')
 group by execution_id, item having count(*) > 1
"""


def statuses(house: Household) -> dict[str, int]:
    rows = house.query("select status || ' ' || count(*) from tenax.dead_letter group by status")
    return {status: int(count) for status, count in map(str.split, rows)}


def test_thousands_of_dead_letters_are_each_redriven_once(tmp_path: Path, database_url: str) -> None:
    """They are redriven with a canary and a rate, while servers are killed."""
    (tmp_path / "again.py").write_text(TASKS)
    with Household(tmp_path, tmp_path / "home", database_url=database_url) as house:
        server = house.server()
        house.worker("again", "--slots", "400")
        with house.client() as client:
            for start in range(0, LETTERS, 1000):
                client.submit_many([Submission(source=LOADS, key=f"k{start + n}") for n in range(1000)])
            eventually(lambda: statuses(house) == {"open": LETTERS}, timeout=300)
            [group] = client.dead_letter_groups()
            assert group["count"] == LETTERS
            job_id = client.redrive_matching(
                {"fingerprint": group["fingerprint"]},
                reason="it is open again",
                rate=LETTERS / 5,
                canary=100,
                max_failed=5,
            )
        for share in (0.2, 0.6):
            wanted = int(LETTERS * share)
            eventually(lambda: job(house, job_id)["counts"]["done"] > wanted, timeout=300)  # noqa: B023
            server.kill()
            server.wait()
            assert house.query("select state from tenax.bulk_job") == ["running"]
            server = house.server()
        ended = eventually(
            lambda: (found := job(house, job_id))["state"] == "completed" and found, timeout=300
        )
        assert ended["counts"] == {"pending": 0, "done": LETTERS, "skipped": 0, "failed": 0}
        assert (ended["canary_state"], ended["total"]) == ("passed", LETTERS)
        eventually(lambda: statuses(house) == {"recovered": LETTERS}, timeout=300)
        assert house.query(REDRIVEN) == []
        assert house.query("select sum(attempts)::integer from tenax.dead_letter") == [LETTERS]
        assert house.query("select count(*) from tenax.execution where state <> 'completed'") == [0]
        verified = house.verify()
        assert verified is not None
        assert verified["violations"] == []
