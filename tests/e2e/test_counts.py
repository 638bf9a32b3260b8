"""What the servers count of the log is exact while those that lead are killed under load."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
from prometheus_client.parser import text_string_to_metric_families
from support.attack.several_servers import Crew
from support.connections import connected
from support.slow_models.rolled_up import assert_equal_to_events, assert_view_equals_events
from support.waiting import eventually

from tenax.credentials.token_file import read_token

KILLS = 2
FLAKY = """
name: flaky
workflow:
  - step: odd
    type: process
    command: ["sh", "-c", "test $TENAX_ATTEMPT -gt 1"]
    retry: {max_attempts: 3, initial_delay: 50ms, jitter: 0}
  - {step: bad, type: process, command: ["false"], retry: {max_attempts: 2, initial_delay: 50ms, jitter: 0}, needs: [odd]}
"""
COUNTED = "select counted_at > (select max(at) from tenax.log) as all, counted_at from tenax.roll_up"


class Reader:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def sql(self, statement: str, *arguments: Any) -> Any:
        return await self._connection.fetch(statement, *arguments)


async def compare(url: str) -> int:
    """Compares the counts with the events. Returns the number of attempts."""
    async with connected(url, asyncpg.connect) as connection:
        reader = Reader(connection)
        found = await assert_equal_to_events(reader)
        await assert_view_equals_events(reader)
        return found["attempts"].total()


def exported(crew: Crew, name: str) -> list[float]:
    """Returns the sum of a metric's series on each server."""
    token = read_token(crew.home)
    found = []
    for url in crew.urls:
        text = httpx2.get(f"{url}/metrics", headers={"Authorization": f"Bearer {token}"}, timeout=30).text
        samples = [s for family in text_string_to_metric_families(text) for s in family.samples]
        found.append(sum(one.value for one in samples if one.name == name))
    return found


def test_nothing_is_counted_twice_and_nothing_is_lost(tmp_path: Path, database_url: str) -> None:
    with Crew(tmp_path, database_url, servers=2) as crew:
        servers = dict(enumerate(crew.serve(0, 1)))
        crew.work("w1", "w2")
        with crew.load(FLAKY) as load:
            for _ in range(KILLS):
                load.until_ended(10)
                leads = crew.until_led()
                number = eventually(
                    lambda: (found := exported(crew, "tenax_leader")) and 1 in found and found
                ).index(1)
                crew.kill(servers[number])
                crew.until_led(not_by=leads)
                [servers[number]] = crew.serve(number)
            load.until_ended(10)
        eventually(lambda: crew.rows(COUNTED)[0]["all"], timeout=60)
        attempts = asyncio.run(compare(database_url))
        assert attempts >= 4 * 10 * (KILLS + 1)
        eventually(lambda: sum(exported(crew, "tenax_attempts_total")) == attempts, timeout=30)
