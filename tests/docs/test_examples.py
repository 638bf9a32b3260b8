"""The examples run to their end, with the outcome that their comments promise."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from generate import ROOT

from tenax.demo.endpoint import flaky_service
from tenax.engine.engine import Engine
from tenax.model.execution_views import Event
from tenax.model.views import ItemInfo
from tenax.model.wire import Submission
from tenax.policy.check import load_workflow
from tenax.settings import Settings
from tenax.testing import workbench

EXAMPLES = ROOT / "examples"


def _run(name: str, database_url: str, home: Path, **inputs: Any) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        async with workbench(Settings(home=home, database_url=database_url)) as bench:
            return await bench.run(EXAMPLES / name, input=inputs)

    return asyncio.run(run())


def _run_as_written(name: str, database_url: str, home: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """`tenax run`, for what a workbench has not: files of children, and someone who hears callbacks."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TENAX_")}
    ended = subprocess.run(
        [sys.executable, "-m", "tenax", "run", str(EXAMPLES / name), "--json", *arguments],
        env=kept | {"TENAX_HOME": str(home), "TENAX_DATABASE_URL": database_url},
        capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert ended.stdout, ended.stderr
    return ended.returncode, json.loads(ended.stdout)


def test_a_pack_and_a_workflow_that_uses_it(database_url: str, tmp_path: Path) -> None:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TENAX_")}
    installed = subprocess.run(
        [sys.executable, "-m", "tenax", "pack", "install", str(EXAMPLES / "packs" / "weather")],
        env=kept | {"TENAX_HOME": str(tmp_path), "TENAX_DATABASE_URL": database_url},
        capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert installed.returncode == 0, installed.stderr
    code, execution = _run_as_written("packs/forecast.yaml", database_url, tmp_path)
    assert (code, execution["result"]) == (0, {"tell": "north 4 C, south 21.5 C"})
    assert execution["steps"]["ask"]["result"][1] == {"station": "south", "temperature": 21.5, "unit": "C"}


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


def _line(event: Event) -> str:
    words = [event.type]
    if event.attempt is not None:
        words.append(f"attempt={event.attempt}")
    if "delay_seconds" in event.data:
        words.append(f"delay_seconds={event.data['delay_seconds']}")
    return " ".join(words)


def test_pages(database_url: str, tmp_path: Path) -> None:
    async def run() -> tuple[dict[str, Any], list[tuple[int, str]]]:
        async with workbench(Settings(home=tmp_path, database_url=database_url)) as bench:
            execution = await bench.run(EXAMPLES / "pages.yaml")
        async with workbench(Settings(home=tmp_path, database_url=database_url)) as bench:
            found = (await bench.engine.output(execution["id"])).chunks
            return execution, [(chunk.attempt, chunk.text) for chunk in found]

    execution, printed = asyncio.run(run())
    assert execution["result"] == {"read": {"began_at": 12}}
    lines = {attempt: "".join(text for n, text in printed if n == attempt).splitlines() for attempt in (1, 2)}
    assert lines == {
        1: [f"read page {page}" for page in range(1, 12)],
        2: [f"read page {page}" for page in range(12, 31)],
    }
    source = (EXAMPLES / "pages.py").read_text("utf-8").partition("\n\n")[2]
    assert source in (ROOT / "docs/live.md").read_text("utf-8")


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


def test_thumbnails(database_url: str, tmp_path: Path) -> None:
    async def run() -> tuple[dict[str, Any], list[ItemInfo]]:
        async with workbench(Settings(home=tmp_path, database_url=database_url)) as bench:
            execution = await bench.run(EXAMPLES / "thumbnails.yaml")
            return execution, list(await bench.engine.items(execution["id"], "shrink"))

    execution, items = asyncio.run(run())
    assert execution["status"] == "completed", execution["failure"]
    assert [one.attempt for one in items] == [1, 2, 1, 1, 2, 1, 1], "the failed ones alone are tried again"
    assert [one.item for one in items if one.status == "failed"] == [3]
    assert [page.split("-")[0] for page in execution["result"]["pages"]] == [
        "lake", "hill", "dog", "cat", "road", "sea",
    ]  # fmt: skip
    [left_out] = execution["result"]["left_out"]
    assert left_out.startswith("number 4: notes.txt is not a picture")


def test_thumbnails_beyond_what_is_tolerated(database_url: str, tmp_path: Path) -> None:
    execution = _run("thumbnails.yaml", database_url, tmp_path, photos=["a.jpg", "b.txt", "c.txt", "d.jpg"])
    assert execution["status"] == "failed"
    assert execution["failure"]["step"] == "shrink"


def test_limits(database_url: str, tmp_path: Path) -> None:
    execution = _run("limits.yaml", database_url, tmp_path)
    assert execution["status"] == "completed", execution["failure"]
    result = execution["result"]
    assert (result["calls"], result["most_of_one_customer"]) == (11, 1)
    assert 1 <= result["most_at_once"] <= 4


def test_export(database_url: str, tmp_path: Path) -> None:
    execution = _run("export.yaml", database_url, tmp_path)
    assert execution["result"] == {"rows": ["ada", "ben", "cyd", "dan", "eve"]}
    assert _outcomes(execution, "ready") == ["polled", "polled", "succeeded"]
    assert _outcomes(execution, "pages") == ["polled", "failed", "polled", "succeeded"]


def test_release_without_an_answer(database_url: str, tmp_path: Path) -> None:
    execution = _run("release.yaml", database_url, tmp_path)
    assert execution["status"] == "completed", execution["failure"]
    assert execution["result"] == {"build": 0, "published": False, "reason": "wait_deadline"}


@pytest.mark.parametrize("approved", [True, False])
def test_release_with_answers(database_url: str, tmp_path: Path, approved: bool) -> None:
    async def run() -> dict[str, Any]:
        async with workbench(Settings(home=tmp_path, database_url=database_url)) as bench:
            source = (EXAMPLES / "release.yaml").read_text("utf-8")
            [submitted] = await bench.engine.submit([Submission(source=source)])
            await bench.engine.signal(submitted.id, "built", data={"build": 42}, actor="ann")
            await _begun(bench.engine, submitted.id, "sign_off")
            await bench.engine.decide_approval(
                submitted.id, "sign_off", approved=approved, item=None, actor="ann", reason="seen"
            )
            return await bench.finish(submitted.id)

    reason = "seen" if approved else "rejected"
    assert asyncio.run(run())["result"] == {"build": 42, "published": approved, "reason": reason}


async def _begun(engine: Engine, execution_id: int, step: str) -> None:
    cursor, begun = None, False
    while not begun:
        news = await engine.news(execution_id, cursor=cursor, wait=20)
        assert news.events, f"step {step} does not begin"
        cursor = news.cursor
        begun = any((event.type, event.step) == ("action_started", step) for event in news.events)


def test_trip(database_url: str, tmp_path: Path) -> None:
    async def run() -> tuple[dict[str, Any], list[tuple[str, str]]]:
        async with workbench(Settings(home=tmp_path, database_url=database_url)) as bench:
            execution = await bench.run(EXAMPLES / "trip.yaml")
            events = await bench.engine.events(execution["id"])
            undone = [(e.step, e.type) for e in events if e.type.startswith("compensation_")]
            return execution, undone

    execution, undone = asyncio.run(run())
    assert (execution["status"], execution["compensation"]) == ("failed", "completed")
    assert execution["failure"]["message"] == "no car is left"
    assert undone == [
        ("flight", "compensation_enqueued"),
        ("flight", "compensation_started"),
        ("flight", "compensation_error"),
        ("flight", "compensation_retry"),
        ("flight", "compensation_started"),
        ("flight", "compensation_completed"),
        ("hotel", "compensation_enqueued"),
        ("hotel", "compensation_started"),
        ("hotel", "compensation_completed"),
    ]


def test_summary(database_url: str, tmp_path: Path) -> None:
    execution = _run("summary.yaml", database_url, tmp_path)
    assert execution["result"] == {"model": "large", "summary": "Retries are easy to write"}
    assert _outcomes(execution, "summarize") == ["not_completed", "succeeded"]


def test_offer(database_url: str, tmp_path: Path) -> None:
    execution = _run("offer.yaml", database_url, tmp_path)
    assert execution["status"] == "completed", execution["failure"]
    offer = execution["result"]["offer"]
    assert (offer["price"], offer["stock"]["count"]) == ({"amount": 12, "day": "yesterday"}, 0)
    states = {name: step["status"] for name, step in execution["steps"].items()}
    assert states == {
        "price": "failed", "old_price": "completed", "stock": "completed", "advertise": "failed", "offer": "completed",
    }  # fmt: skip


def test_report_and_its_children(database_url: str, tmp_path: Path) -> None:
    code, execution = _run_as_written("child/report.yaml", database_url, tmp_path)
    assert code == 0
    assert [(one["region"], one["source"]) for one in execution["result"]["regions"]] == [
        ("north", "live"), ("south", "archive"),
    ]  # fmt: skip
    children = [(one["item"], one["attempt"], one["status"]) for one in execution["tree"]["children"]]
    assert sorted(children) == [(0, 1, "completed"), (1, 1, "failed"), (1, 2, "completed")]


def test_a_child_alone(database_url: str, tmp_path: Path) -> None:
    execution = _run("child/region.yaml", database_url, tmp_path, region="north")
    assert execution["result"] == {"region": "north", "source": "live", "sales": 1200}


def test_convert(database_url: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    code, execution = _run_as_written("convert.yaml", database_url, tmp_path, "--input", f"port={port}")
    assert (code, execution["result"]) == (0, {"pages": 3})
    attempts = execution["steps"]["convert"]["attempts"]
    assert attempts[-2]["failure"]["message"] == "out of disk", "the service said so in its first callback"
    assert attempts[-1]["outcome"] == "succeeded"


PACK = EXAMPLES / "packs" / "weather"
WORKFLOWS = sorted(set(EXAMPLES.rglob("*.yaml")) - set(PACK.rglob("*.yaml")))


@pytest.mark.parametrize("example", WORKFLOWS, ids=lambda path: path.name)
def test_every_example_is_valid_explained_and_tested(example: Path) -> None:
    source, name = example.read_text("utf-8"), example.relative_to(EXAMPLES).as_posix()
    load_workflow(source, filename=example.name)
    comment, _, _ = source.partition("\nname:")
    assert all(line.startswith("#") for line in comment.splitlines())
    assert f"\n#   tenax run examples/{name}" in comment
    assert f'"{name}"' in Path(__file__).read_text("utf-8")


def test_every_example_is_listed() -> None:
    listed = re.findall(r"\]\((\S+\.yaml)\)", (EXAMPLES / "README.md").read_text("utf-8"))
    children = {"child/region.yaml", "agents/answer.yaml", "agents/expert.yaml"}
    assert set(listed) | children == {path.relative_to(EXAMPLES).as_posix() for path in WORKFLOWS}


def test_a_team_of_agents(database_url: str, tmp_path: Path) -> None:
    code, execution = _run_as_written("agents/team.yaml", database_url, tmp_path)
    assert code == 0, execution["failure"]
    assert execution["result"] == {
        "another_model": {"answer": "42", "model": "large"},
        "another_prompt": "5, 9",
        "another_agent": "7",
        "report": "not done: nobody can do that (after 1 attempt)",
    }
    assert _outcomes(execution, "another_model") == ["failed", "succeeded"]
    [budget] = execution["budgets"]
    assert budget["spent_usd"] == pytest.approx(0.00583)
    assert budget["reserved_usd"] == 0


def test_an_agent_alone(database_url: str, tmp_path: Path) -> None:
    code, execution = _run_as_written("agents/answer.yaml", database_url, tmp_path, "--input", "task=6 * 7")
    assert (code, execution["result"]) == (0, {"answer": "42", "model": "small"})
    [attempt] = execution["steps"]["think"]["attempts"]
    assert attempt["usage"]["tokens"] > 0
    assert [file["path"] for file in execution["steps"]["think"]["result"]["outbox"]] == ["task.txt"]
