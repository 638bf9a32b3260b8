"""Runs workflows that were built in Python on a real engine."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from builder import builder_tasks as tasks
from support.serve.served import start_server

from tenax import Tenax, Workflow
from tenax.errors import InvalidDefinition, InvalidInput, UsageError
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
    submission = order().submission({"order": {"id": 4, "amount": 250}}, key="order-4")
    execution = run(submission, database_url, tmp_path)
    assert execution["result"] == {
        "parcels": ["completed", "skipped"],
        "heavy": {"parcel": "P-R-4", "weight": 9.5},
    }
    assert execution["workflow"] == "order"


def test_a_failure_is_compensated(database_url: str, tmp_path: Path) -> None:
    execution = run(order().submission({"order": {"id": 13, "amount": 1}}), database_url, tmp_path)
    assert (execution["status"], execution["compensation"]) == ("failed", "completed")
    assert execution["failure"]["message"] == "no such address"


async def test_the_application_that_is_open_around_the_call_gets_it(
    database_url: str, tmp_path: Path
) -> None:
    wf = Workflow("delivery", input={"address": tasks.Address, "day": date})
    wf.step(tasks.deliver, address=wf.input.address, on=wf.input.day)
    inputs = {"address": tasks.Address("Main St", 7), "day": date(2030, 1, 31)}
    async with (
        Tenax(database_url, home=tmp_path) as app,
        app.worker(queues=["parcels"], labels={"zone": "eu"}),
    ):
        handle = await wf.submit(inputs, key="one")
        assert await handle.result(timeout=30) == {"deliver": "Main St 7 2030-01-31"}
        again = await wf.submit(inputs, key="one", app=app)
        assert (again.id, again.created) == (handle.id, False)
        with pytest.raises(InvalidInput, match="day"):
            await wf.submit({"address": {"street": "x"}})


def test_code_without_an_event_loop(database_url: str, tmp_path: Path) -> None:
    wf = Workflow("calls", deadline="1m")
    wf.step(tasks.add, 40, 2)
    with Tenax.sync(database_url, home=tmp_path) as app, app.worker():
        assert wf.submit_sync().result(timeout=30) == {"add": 42}


def test_without_an_application() -> None:
    wf = Workflow("calls")
    wf.step(tasks.add, 40, 2)
    with pytest.raises(UsageError, match="no application is open"):
        wf.submit_sync()


async def test_what_only_the_server_finds_is_at_the_line_of_python(database_url: str, tmp_path: Path) -> None:
    wf = Workflow("large")
    here = inspect.stack()[0].lineno - 1
    wf.step(tasks.add, 40, 2)
    wf.sleep("nap", for_="1s")
    async with Tenax(database_url, home=tmp_path, max_steps=1):
        with pytest.raises(InvalidDefinition) as refused:
            await wf.submit()
    [finding] = refused.value.findings
    assert (finding.line, finding.path) == (here, "workflow")
    assert "at most 1 (`max_steps`)" in finding.message


@pytest.fixture
def through_a_server(database_url: str, tmp_path: Path) -> Iterator[Callable[[], Tenax]]:
    served = start_server(Settings(home=tmp_path, database_url=database_url, port=0))
    yield partial(Tenax, served.url, token=served.token("admin"), home=tmp_path)
    served.stop()


async def test_tasks_of_the_main_script_need_a_worker_in_its_process(
    through_a_server: Callable[[], Tenax],
) -> None:
    wf = Workflow("script")
    wf.step("__main__:report")
    async with through_a_server():
        with pytest.raises(UsageError, match="belongs to the main script"):
            await wf.submit()


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
    submission = parent.submission({"receipts": ["a", "b"]})
    assert set(submission.files) == {
        "child.yaml",
        "below.yaml",
        "children/sum.yaml",
        "children/deeper/one.yaml",
    }
    execution = run(submission, database_url, tmp_path)
    assert execution["status"] == "completed", execution["failure"]
    assert execution["result"] == {"file": {"deeper": {"total": 43}}}
