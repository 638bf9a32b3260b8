"""Tests the turns of senders: no sender takes all processes, and none waits for all work of another."""

from __future__ import annotations

import asyncio
from collections import Counter

from tenax.engine.definitions.sender_turns import SenderTurns, sent_by


class Scene:
    """Work of several senders, each piece of which goes on until it is ended."""

    def __init__(self, places: int) -> None:
        self._turns = SenderTurns(places)
        self.begun: list[str] = []
        self.running: Counter[str] = Counter()
        self._ends: dict[str, list[asyncio.Event]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def send(self, who: str, count: int = 1, kind: str = "caller") -> None:
        with sent_by(kind, who):
            self._tasks += [asyncio.create_task(self._work(who)) for _ in range(count)]
        await self.settle()

    async def _work(self, who: str) -> None:
        async with self._turns.turn():
            self.begun.append(who)
            self.running[who] += 1
            end = asyncio.Event()
            self._ends.setdefault(who, []).append(end)
            await end.wait()
            self.running[who] -= 1

    async def end(self, who: str) -> None:
        self._ends[who].pop(0).set()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    async def cancel(self, number: int) -> None:
        self._tasks[number].cancel()
        await self.settle()


async def test_one_sender_leaves_a_place_to_others():
    scene = Scene(3)
    await scene.send("flood", 10)
    assert scene.running == {"flood": 2}
    await scene.send("other")
    assert scene.running == {"flood": 2, "other": 1}


async def test_a_single_place_is_for_everybody_in_turn():
    scene = Scene(1)
    await scene.send("flood", 5)
    await scene.send("other", 2)
    for who in ("flood", "flood", "other", "flood", "other"):
        await scene.end(who)
    assert scene.begun == ["flood", "flood", "other", "flood", "other", "flood"]


async def test_many_executions_have_no_more_turns_than_the_callers():
    scene = Scene(1)
    for number in range(5):
        await scene.send(f"execution {number}", kind="execution")
    await scene.send("caller", 2)
    for who in ("execution 0", "caller", "execution 1"):
        await scene.end(who)
    assert scene.begun == ["execution 0", "caller", "execution 1", "caller"]


async def test_a_place_of_work_that_was_cancelled_is_free_again():
    scene = Scene(1)
    await scene.send("running")
    await scene.send("waiting")
    await scene.send("last")
    await scene.cancel(1)
    await scene.cancel(0)
    assert scene.begun == ["running", "last"]


async def test_senders_are_forgotten_when_their_work_has_ended():
    turns = SenderTurns(1)
    end = asyncio.Event()

    async def work() -> None:
        async with turns.turn():
            await end.wait()

    tasks = []
    for number in range(100):
        with sent_by("caller", number):
            tasks.append(asyncio.create_task(work()))
    await asyncio.sleep(0)
    tasks[50].cancel()
    end.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    remembered = [one for held in vars(turns).values() if isinstance(held, dict) for one in held]
    assert [one for one in remembered if isinstance(one, tuple)] == []


async def test_work_that_is_cancelled_as_its_turn_comes_gives_the_place_back():
    turns = SenderTurns(1)

    async def work() -> None:
        async with turns.turn():
            pass

    async with turns.turn():
        waiting = asyncio.create_task(work())
        await asyncio.sleep(0)
    waiting.cancel()  # it has its place by now, and does not know it yet
    await asyncio.gather(waiting, return_exceptions=True)
    assert waiting.cancelled()
    async with asyncio.timeout(5):
        await work()
