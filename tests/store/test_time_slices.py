"""Long work on the event loop takes turns, and short work goes before it."""

from __future__ import annotations

import asyncio

from tenax.store.time_slices import ROUNDS_BETWEEN, give_way


async def _work(name: str, steps: int, done: list[str]) -> None:
    for _ in range(steps):
        await give_way()
        done.append(name)


async def test_the_loop_goes_round_several_times_between_two_slices() -> None:
    done: list[str] = []
    long = [asyncio.create_task(_work(name, 5, done)) for name in "abc"]
    while not all(task.done() for task in long):
        done.append(".")
        await asyncio.sleep(0)
    rounds = "".join(done).strip(".")
    between = [
        len(part) for part in rounds.replace("a", "|").replace("b", "|").replace("c", "|").split("|")[1:-1]
    ]
    assert len(between) == 14
    assert min(between) >= ROUNDS_BETWEEN - 1


async def test_the_oldest_goes_first_so_that_all_get_on_alike() -> None:
    done: list[str] = []
    await asyncio.gather(*(_work(name, 3, done) for name in "abc"))
    assert "".join(done) == "abcabcabc"


async def test_work_that_is_cancelled_in_the_line_holds_up_nobody() -> None:
    done: list[str] = []
    first, second = (asyncio.create_task(_work(name, 2, done)) for name in "ab")
    await asyncio.sleep(0)
    first.cancel()
    await second
    await give_way()  # nor after the line was empty
    assert done == ["b", "b"]
