"""Tests how an engine stops: its last answers are made, and nothing that hangs keeps it."""

from __future__ import annotations

import asyncio
from typing import Any

from support.hand import one_postgres

from tenax.engine.lease import dispatcher as dispatcher_module

pytestmark = one_postgres

SLOW = """
name: slow
input: {x: {type: string, pattern: "^(ab|cd)$"}}
workflow: [{step: do, type: python, task: "t:t"}]
"""


async def test_the_last_answers_have_the_reader_processes(hand):
    """An answer that is made while the server ends may need a plan or a check from a reader process."""
    engine = hand.engine
    reading = engine.context.reading
    workflow = (await reading.read(SLOW, None)).workflow
    checked: list[Any] = []

    async def answer() -> None:
        while not all(loop.done() for loop in engine._loops):  # noqa: ASYNC110 -- no event tells of it
            await asyncio.sleep(0)
        checked.append(await reading.check(workflow, {"x": "cd"}))

    async with engine.running():
        engine.dispatcher._background.start(answer())
    assert checked == [{"x": "cd"}]


async def test_an_answer_that_hangs_does_not_keep_the_server(hand, monkeypatch):
    monkeypatch.setattr(dispatcher_module, "CLOSE_SECONDS", 0.05)
    ended: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    hand.engine.dispatcher._background.start(hang())
    async with asyncio.timeout(20):
        await hand.engine.dispatcher.close()
    assert ended == ["cancelled"]
