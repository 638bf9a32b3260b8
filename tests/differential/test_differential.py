"""Two sources of facts, one engine: what the server remembers of its leases, and the rows of the database.

A report on a lease that this server granted is decided on from memory. A report on a lease of another server is decided on from the
rows. Random scenarios are played both ways; every answer, every column of every table and every event must be equal.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from scenarios import FIXED, scenarios
from stage import Stage, stage_on
from support.profiles import examples
from support.recorded.declared_events import log_faults

from tenax.engine.engine import Engine
from tenax.store.transaction import transaction

EXAMPLES = 40


@pytest.fixture(scope="module")
def stage(
    database_url_of_module: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[asyncio.Runner, Stage]]:
    """Gives a stage that is kept for all examples of this file."""
    with asyncio.Runner() as runner:
        opened = stage_on(database_url_of_module, tmp_path_factory.mktemp("home"))
        yield runner, runner.run(opened.__aenter__())
        runner.run(opened.__aexit__(None, None, None))


@settings(
    max_examples=examples(EXAMPLES),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
)
@given(scenario=scenarios())
def test_memory_and_rows_lead_to_the_same(stage, scenario):
    check_both_ways(*stage, scenario)


@pytest.mark.parametrize("name", FIXED)
def test_what_is_rarely_met_leads_to_the_same(stage, name):
    check_both_ways(*stage, FIXED[name])


def check_both_ways(runner: asyncio.Runner, on_stage: Stage, scenario: dict[str, Any]) -> None:
    from_memory = runner.run(on_stage.play(scenario))
    assert runner.run(faults_of(on_stage)) == []
    assert limits_exceeded(from_memory) == []
    from_rows = runner.run(on_stage.play(scenario, forgetful=True))
    assert_equal(scenario, from_memory, from_rows)


def limits_exceeded(told: list[Any]) -> list[str]:
    """Returns the limits under which more items ran than may run, at any of the looks."""
    found: list[str] = []
    for look in told:
        rows = look.get("item", ()) if isinstance(look, dict) else ()
        running = [
            row["limits"] for row in rows if row["state"] in ("leased", "accepted") and "limits" in row
        ]
        for name, most in (("action", "action_most"), ("key", "key_most")):
            counts = Counter((one[name], one[most]) for one in running if one[name] is not None)
            found += [limit for (limit, allowed), count in counts.items() if count > allowed]
    return found


async def faults_of(on_stage: Stage) -> list[str]:
    """Returns what is wrong with the events of the last scenario, and the laws that it breaks. The next scenario removes all of it."""
    verified = await Engine(on_stage._database, on_stage._settings).verify()
    async with transaction(on_stage._database) as tx:
        return [*await log_faults(tx), *(f"{one.law}: {one.message}" for one in verified.violations)]


def assert_equal(scenario: dict[str, Any], one: list[Any], other: list[Any]) -> None:
    for number, (left, right) in enumerate(zip(one, other, strict=True)):
        if left != right:
            note("\n".join(scenario["workflows"]))
            note(json.dumps(scenario["moves"]))
            raise AssertionError(f"they differ at {number}: {first_difference(left, right)}")


def first_difference(left: Any, right: Any, path: str = "") -> str:
    if isinstance(left, dict) and isinstance(right, dict):
        for name in {**left, **right}:
            if left.get(name) != right.get(name):
                return first_difference(left.get(name), right.get(name), f"{path}.{name}")
    if isinstance(left, list) and isinstance(right, list):
        for n, (one, other) in enumerate(zip(left, right, strict=False)):
            if one != other:
                return first_difference(one, other, f"{path}[{n}]")
        return f"{path}: {len(left)} entries and {len(right)}: {left[len(right) :] or right[len(left) :]}"
    return f"{path}: {left!r} and {right!r}"
