"""Ticks of schedules under kills: real servers on one database, one of which is killed again and again."""

from __future__ import annotations

import itertools
from datetime import timedelta
from pathlib import Path

from support.processes import Household
from support.waiting import eventually

SOURCE = "name: often\nschedule: {every: 1s, overlap: allow, catch_up: 1000}\nworkflow: [{step: a, type: sleep, for: 1ms}]\n"
KILLS, TICKS = 4, 12
SECOND = timedelta(seconds=1)


def test_each_tick_starts_once_while_servers_are_killed(tmp_path: Path, database_url: str) -> None:
    with Household(tmp_path, tmp_path / "home", database_url=database_url) as house:
        house.server()
        others = [house.start("server", TENAX_PORT="0") for _ in range(2)]
        with house.client() as client:
            client.store_workflow(SOURCE)
        for number in range(KILLS):
            before = count(house)
            eventually(lambda seen=before: count(house) >= seen + 2, timeout=60)
            others[number % 2].kill()  # at any moment: ticks come every second, and three servers look
            others[number % 2] = house.start("server", TENAX_PORT="0")
        eventually(lambda: count(house) >= TICKS, timeout=60)
        with house.client() as client:
            client.pause_schedule("often")
        ticks = sorted(house.query("select tick from tenax.schedule_run where kind = 'started'"))
        executions = house.query("select submit_key from tenax.execution")
        assert len(set(executions)) == len(executions) == len(ticks)
        gaps = [later - tick for tick, later in itertools.pairwise(ticks)]
        assert gaps == [SECOND] * len(gaps)
        assert house.query("select kind from tenax.schedule_run where kind <> 'started'") == []
        report = house.verify()
        assert report is not None
        assert report["violations"] == []


def count(house: Household) -> int:
    [found] = house.query("select count(*) from tenax.schedule_run")
    return int(found)
