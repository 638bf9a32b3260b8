"""A bulk job of some thousands of executions whose server is killed in the middle: each is acted on once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.processes import Household
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
