"""Kills and stops servers, workers and PostgreSQL under load. Then nothing is lost or doubled, and no law is broken.

`make chaos` runs it longer and several times: TENAX_CHAOS_SECONDS and TENAX_CHAOS_RUNS.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.attack.bookings import TABLES, TASKS, UNEQUAL_KEYS, WORKFLOW, WRONG, Bookings
from support.attack.chaos import Chaos, Feeders, until_all_ended
from support.profiles import is_full

SECONDS = float(os.environ.get("TENAX_CHAOS_SECONDS") or (15 if is_full() else 8))
RUNS = int(os.environ.get("TENAX_CHAOS_RUNS", "1"))
SEED = int(os.environ.get("TENAX_CHAOS_SEED", "1"))


def shown(report: dict[str, Any]) -> str:
    return "\n".join(str(violation) for violation in report["violations"][:20])


@pytest.mark.parametrize("seed", range(SEED, SEED + RUNS))
def test_no_law_is_broken_whatever_is_killed(tmp_path: Path, open_folder: Path, seed: int) -> None:
    with Chaos(tmp_path, open_folder, seed, lease="2s", heartbeat="500ms", drain="500ms") as house:
        house.open()
        feeders = Feeders(house.client, seed)
        with feeders.feeding():
            house.rage(SECONDS / 2)
            in_the_middle = house.verify()
            assert in_the_middle is None or not in_the_middle["violations"], shown(in_the_middle)
            house.rage(SECONDS / 2)
        ended = until_all_ended(house, feeders.submitted)
        report = house.verify()
        assert report is not None
        assert not report["violations"], shown(report)
        print(f"blows: {dict(house.done)}; checked: {report['checked']}")
        # Nothing lost: every key has its execution, and it has ended. Nothing twice: one execution for each key.
        assert len(ended) == len(feeders.submitted) == len(set(feeders.submitted.values()))
        assert house.query("select count(*) from tenax.execution where parent_id is null") == [len(ended)]
        assert house.query("select count(*) from tenax.execution where finished_at is null") == [0]
        assert set(ended.values()) == {"completed", "failed"}


def test_effects_happen_once_for_each_success_whatever_is_killed(tmp_path: Path, open_folder: Path) -> None:
    """Jobs are submitted, and attempts completed, in transactions. Each success has its row once, and each order its execution."""
    (tmp_path / "bookings.py").write_text(TASKS)
    (tmp_path / "booking.yaml").write_text(WORKFLOW)
    with Chaos(tmp_path, open_folder, SEED, lease="2s", heartbeat="500ms", drain="500ms") as house:
        house.work_on_database("bookings")
        house.open()
        for statement in TABLES.split(";"):
            house.query(statement)
        stored = house.run("store", "booking.yaml")
        assert stored.returncode == 0, stored.stderr
        bookings = Bookings(house, SEED)
        with bookings.feeding():
            house.rage(SECONDS / 2)
        bookings.until_all_ended()
        report = house.verify()
        assert report is not None
        assert not report["violations"], shown(report)
        print(f"blows: {dict(house.done)}; {bookings.figures()}; checked: {report['checked']}")
        assert house.query(WRONG) == []
        assert house.query(UNEQUAL_KEYS) == []
        assert house.query("select count(*) from tenax.rejected_submission") == [0]
        assert house.query("select count(*) from public.booked")[0] > 0
