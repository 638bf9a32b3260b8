"""Runs workflows that were built in Python on a real engine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builder import builder_tasks as tasks

from tenax import Workflow
from tenax.model.wire import Submission
from tenax.settings import Settings
from tenax.testing import workbench


def run(submission: Submission, database_url: str, home: Path) -> dict[str, Any]:
    async def running() -> dict[str, Any]:
        async with workbench(Settings(home=home, database_url=database_url)) as bench:
            [submitted] = await bench.engine.submit([submission])
            return await bench.finish(submitted.id)

    return asyncio.run(running())


def order() -> Workflow:
    wf = Workflow("order", input={"order": dict[str, Any]})
    pay = wf.step(tasks.charge, wf.input.order, retry=2)
    pay.compensate(tasks.refund, receipt=wf.result.receipt)
    heavy = wf.step(
        tasks.ship, step="heavy", receipt=pay.result.receipt, weight=9.5, when=pay.result.total >= 100
    )
    light = wf.step(tasks.ship, step="light", receipt=pay.result.receipt, when=~(pay.result.total >= 100))
    wf.outputs = {"parcels": [heavy.status, light.status], "heavy": heavy.result | "default(none)"}
    return wf


def results(execution: Mapping[str, Any]) -> dict[str, str]:
    return {name: step["status"] for name, step in execution["steps"].items()}


def test_an_order_goes_its_way(database_url: str, tmp_path: Path) -> None:
    submission = order().submission(input={"order": {"id": 4, "amount": 250}}, key="order-4")
    execution = run(submission, database_url, tmp_path)
    assert execution["result"] == {
        "parcels": ["completed", "skipped"],
        "heavy": {"parcel": "P-R-4", "weight": 9.5},
    }
    assert execution["workflow"] == "order"


def test_a_failure_is_compensated(database_url: str, tmp_path: Path) -> None:
    execution = run(order().submission(input={"order": {"id": 13, "amount": 1}}), database_url, tmp_path)
    assert (execution["status"], execution["compensation"]) == ("failed", "completed")
    assert execution["failure"]["message"] == "no such address"


def test_a_fan_out_and_children_that_were_built_and_that_are_files(database_url: str, tmp_path: Path) -> None:
    below = Workflow("below", input={"receipt": str})
    below.step(tasks.refund, receipt=below.input.receipt)
    child = Workflow("child", input={"receipt": str})
    child.workflow("below", below, input={"receipt": child.input.receipt})
    parent = Workflow("parent", input={"receipts": list[str]})
    each = parent.workflow(
        "each", child, input={"receipt": parent.item}, for_each=parent.input.receipts, parallelism=2
    )
    added = parent.step(tasks.add, each.result | "length", 40)
    parent.workflow("file", file="children/sum.yaml", input={"numbers": [added, 1]})
    submission = parent.submission(input={"receipts": ["a", "b"]})
    assert set(submission.files) == {
        "child.yaml",
        "below.yaml",
        "children/sum.yaml",
        "children/deeper/one.yaml",
    }
    execution = run(submission, database_url, tmp_path)
    assert execution["status"] == "completed", execution["failure"]
    assert execution["result"] == {"file": {"deeper": {"total": 43}}}
