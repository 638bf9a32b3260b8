"""Plays random scenarios on this engine and on that of an earlier commit, and compares all that they leave behind.

    PYTHONPATH=tests python tests/differential/against.py COMMIT [--examples 2000] [--seed 1]

The earlier engine decides on every report from its rows: its other ways differ from that in the order in which they write what
one batch says of one execution.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import structlog
from hypothesis import HealthCheck, Phase, given, seed, settings
from scenarios import scenarios
from stage import stage_on
from support.recorded.earlier_sources import extract
from test_differential import assert_equal

from tenax.store.embedded.server import EmbeddedPostgres
from tenax.store.migrate import migrate

HERE = Path(__file__).parent
NOT_DURABLE = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


class Reference:
    """A process with the engine of an earlier commit."""

    def __init__(self, source: Path, url: str, home: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source)}
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "stage.py"), url, str(home)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True,
        )  # fmt: skip

    def play(self, scenario: dict[str, Any]) -> list[Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(scenario) + "\n")
        self._process.stdin.flush()
        told: list[Any] = json.loads(self._process.stdout.readline())
        return told

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


def migrated_by(source: Path, url: str) -> None:
    """Makes the schema of an earlier commit."""
    script = (
        "import asyncio, asyncpg, sys\n"
        "from tenax.store.migrate import migrate\n"
        "async def main():\n"
        "    await migrate(await asyncpg.connect(sys.argv[1]))\n"
        "asyncio.run(main())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(source)}
    subprocess.run([sys.executable, "-c", script, url], check=True, env=environment)


@contextmanager
def databases(folder: Path) -> Iterator[tuple[str, str]]:
    server = EmbeddedPostgres(folder, options=NOT_DURABLE)
    with server:
        url = server.ensure_running()
        names = ("now", "before")
        asyncio.run(_create(url, names))
        now, before = (urlunsplit(urlsplit(url)._replace(path=f"/{name}", netloc="tenax@")) for name in names)
        yield now, before


async def _create(url: str, names: tuple[str, ...]) -> None:
    connection = await asyncpg.connect(url)
    for name in names:
        await connection.execute(f"create database {name}")
    await connection.close()


async def _migrate(url: str) -> None:
    connection = await asyncpg.connect(url)
    await migrate(connection)
    await connection.close()


def in_certain_order(told: list[Any]) -> list[Any]:
    """Returns what was told with the events of one time by step and item.

    Items that run out at one time, and messages that come at one time, are found in no certain order, in either engine.
    """
    return [
        {**one, "events": {name: sorted(events, key=_place) for name, events in one["events"].items()}}
        if isinstance(one, dict) and "events" in one
        else one
        for one in told
    ]


def _place(told: list[Any]) -> tuple[Any, ...]:
    at, event = told
    return at, event.get("step", ""), event.get("item", -1)


def compare_both(scenario: dict[str, Any], mine: list[Any], theirs: list[Any], seen: Counter[str]) -> None:
    """Compares what two engines left behind, if need be without the order of events of one time."""
    try:
        assert_equal(scenario, mine, theirs)
    except AssertionError:
        assert_equal(scenario, in_certain_order(mine), in_certain_order(theirs))
        seen["but for the order at one time"] += 1


def compare(now: str, before: str, source: Path, folder: Path, *, examples: int, start: int) -> Counter[str]:
    asyncio.run(_migrate(now))
    migrated_by(source, before)
    reference = Reference(source, before, folder / "before")
    seen: Counter[str] = Counter()
    with asyncio.Runner() as runner:
        opened = stage_on(now, folder / "now")
        stage = runner.run(opened.__aenter__())

        def play_both(scenario: dict[str, Any]) -> tuple[list[Any], list[Any]]:
            mine: list[Any] = json.loads(json.dumps(runner.run(stage.play(scenario)), default=str))
            return mine, reference.play({**scenario, "forgetful": True})

        @seed(start)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
        @given(scenario=scenarios())
        def both_lead_to_the_same(scenario: dict[str, Any]) -> None:
            # A claim uses a queue snapshot of the last 0.1 s of real time: a process that was held up meanwhile may lease in another
            # order. What differs for another reason differs every time.
            for last in (False, False, True):
                mine, theirs = play_both(scenario)
                try:
                    compare_both(scenario, mine, theirs, seen)
                    break
                except AssertionError:
                    if last:
                        raise
                    seen["played again"] += 1
            seen["examples"] += 1
            seen.update(event["type"] for told in mine[-1]["events"].values() for _, event in told)
            if seen["examples"] % 50 == 0:
                print(f"{seen['examples']} of {examples}", flush=True)

        try:
            both_lead_to_the_same()
        finally:
            reference.end()
            runner.run(opened.__aexit__(None, None, None))
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("commit", help="the commit of the engine to compare with")
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    structlog.configure(
        processors=[structlog.dev.ConsoleRenderer()],
        logger_factory=structlog.PrintLoggerFactory(io.StringIO()),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        source = extract(chosen.commit, folder)
        with databases(folder / "postgres") as (now, before):
            seen = compare(now, before, source, folder, examples=chosen.examples, start=chosen.seed)
    print(
        f"equal in {seen.pop('examples')} examples, {seen.pop('but for the order at one time', 0)} of them but for the order of events"
        f" of one time; played again: {seen.pop('played again', 0)}; events compared at their ends: {dict(seen.most_common())}"
    )


if __name__ == "__main__":
    main()
