"""The examples run to their end, with the outcome that their comments promise."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from generate import ROOT

from tenax.demo.endpoint import flaky_service
from tenax.policy.check import load_workflow
from tenax.settings import Settings
from tenax.testing import workbench

EXAMPLES = ROOT / "examples"


def _run(name: str, database_url: str, home: Path, **inputs: Any) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        async with workbench(Settings(home=home, database_url=database_url)) as bench:
            return await bench.run(EXAMPLES / name, input=inputs)

    return asyncio.run(run())


def _outcomes(execution: dict[str, Any], step: str) -> list[str]:
    return [attempt["outcome"] for attempt in execution["steps"][step]["attempts"]]


def test_flaky(database_url: str, tmp_path: Path) -> None:
    execution = _run("flaky.yaml", database_url, tmp_path)
    assert execution["status"] == "completed"
    assert [a["delay_seconds"] for a in execution["steps"]["fetch"]["attempts"]] == [1.0, 2.0, None]


def test_the_sequence_of_events_is_the_one_in_the_docs(database_url: str, tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with workbench(Settings(home=tmp_path, database_url=database_url)) as bench:
            execution = await bench.run(EXAMPLES / "flaky.yaml")
            return [_line(event) for event in await bench.engine.events(execution["id"])]

    text = (ROOT / "docs/events.md").read_text("utf-8")
    [shown] = re.findall(r"^```\n(execution_started\n.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert asyncio.run(run()) == [" ".join(line.split()) for line in shown.splitlines()]


def _line(event: dict[str, Any]) -> str:
    words = [event["type"]]
    if event["attempt"] is not None:
        words.append(f"attempt={event['attempt']}")
    if "delay_seconds" in event["data"]:
        words.append(f"delay_seconds={event['data']['delay_seconds']}")
    return " ".join(words)


def test_prices(database_url: str, tmp_path: Path) -> None:
    with flaky_service() as url:
        execution = _run("prices.yaml", database_url, tmp_path, url=url)
    assert execution["status"] == "completed", execution["failure"]
    assert execution["result"] == {"total": 91, "count": 4}
    assert _outcomes(execution, "fetch") == ["failed", "failed", "failed", "succeeded"]
    assert execution["steps"]["fetch"]["attempts"][2]["failure"]["reason"] == "http_429"
    assert execution["steps"]["fetch"]["attempts"][2]["delay_seconds"] > 5, "the rule for 429 is slower"


def test_order(database_url: str, tmp_path: Path) -> None:
    execution = _run("order.yaml", database_url, tmp_path, order={"id": 17, "amount": 250})
    assert execution["status"] == "completed", execution["failure"]
    assert execution["result"] == {"parcel": "P-17", "gift_wrapped": False}
    assert _outcomes(execution, "pay") == ["failed", "succeeded"]
    assert _outcomes(execution, "reserve") == ["snoozed", "succeeded"]
    assert _outcomes(execution, "ship") == ["not_completed", "succeeded"]
    assert execution["steps"]["wrap"]["status"] == "skipped"


def test_order_as_a_gift(database_url: str, tmp_path: Path) -> None:
    execution = _run("order.yaml", database_url, tmp_path, order={"id": 3, "amount": 1}, gift=True)
    assert execution["result"] == {"parcel": "P-3", "gift_wrapped": True}
    assert execution["steps"]["wrap"]["result"] == "wrapped order 3"


def test_order_without_an_amount_fails_for_good(database_url: str, tmp_path: Path) -> None:
    execution = _run("order.yaml", database_url, tmp_path, order={"id": 3, "amount": 0})
    assert execution["status"] == "failed"
    assert _outcomes(execution, "pay") == ["failed"]
    assert execution["failure"]["class"] == "logical"


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_is_valid_and_tested(example: Path) -> None:
    load_workflow(example.read_text("utf-8"), filename=example.name)
    assert example.stem in Path(__file__).read_text("utf-8")
