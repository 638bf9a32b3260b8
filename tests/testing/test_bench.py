"""The workbench for users' own tests. What it runs is tested with the docs and the examples."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from tenax.errors import UsageError
from tenax.settings import Settings
from tenax.testing import workbench


def test_a_file_that_cannot_be_read_is_said_in_words(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "bytes.yaml").write_bytes(b"\xff")

    async def scene() -> None:
        async with workbench(Settings(home=tmp_path, database_url=database_url)) as bench:
            with pytest.raises(UsageError, match=r"nowhere\.yaml: there is no such file$"):
                await bench.run(tmp_path / "nowhere.yaml")
            with pytest.raises(UsageError, match="this is a folder, not a file"):
                await bench.run(tmp_path)
            with pytest.raises(UsageError, match=r"bytes\.yaml: not UTF-8 text: byte 0 is 0xff"):
                await bench.run(tmp_path / "bytes.yaml")

    asyncio.run(scene())


PARENT = "name: parent\nworkflow: [{step: part, type: workflow, file: parts/child.yaml}]\n"
CHILD = "name: child\nworkflow: [{step: say, type: process, command: [echo, '1']}]\n"


def test_children_are_found_beside_the_file(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parent.yaml").write_text(PARENT)
    (tmp_path / "parts" / "child.yaml").write_text(CHILD)

    async def scene() -> None:
        async with workbench(Settings(home=tmp_path, database_url=database_url)) as bench:
            from_file = await bench.run(tmp_path / "parent.yaml")
            from_text = await bench.run_text(PARENT, files={"parts/child.yaml": CHILD})
            assert from_file["result"] == from_text["result"] == {"part": {"say": 1}}

    asyncio.run(scene())


def test_the_clock_is_awaited(database_url: str, tmp_path: Path) -> None:
    async def scene() -> None:
        async with workbench(Settings(home=tmp_path, database_url=database_url)) as bench:
            before = await bench.clock.now()
            after = await bench.clock.advance(3600)
            assert ((after - before).total_seconds(), await bench.clock.now()) == (3600, after)

    asyncio.run(scene())


WAITS = """
name: waits
workflow:
  - {step: nap, type: sleep, for: 30d}
  - {step: asked, type: wait, signal: go, deadline: 1h, on_failure: {value: nobody came}, needs: [nap]}
  - {step: many, type: sleep, for: "{{ item }}", for_each: [1h, 2d, 5s], parallelism: 2, needs: [asked]}
"""


def test_time_passes_for_sleeps_waits_and_fan_outs(database_url: str, tmp_path: Path) -> None:
    async def scene() -> None:
        async with workbench(Settings(home=tmp_path, database_url=database_url)) as bench:
            before = await bench.clock.now()
            execution = await bench.run_text(WAITS)
            passed = await bench.clock.now() - before
            assert execution["status"] == "completed"
            assert execution["steps"]["asked"]["result"] == "nobody came"
            assert passed == timedelta(days=32, hours=1)

    asyncio.run(scene())
