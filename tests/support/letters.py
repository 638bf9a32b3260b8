"""Items that fail for good or are quarantined, and the dead letters that they leave."""

from __future__ import annotations

from typing import Any

from support.fan_out_workflows import by_item, fan, give_up
from support.hand import ONE_STEP, Hand
from support.worker_lives import PATIENT, arrive, live

COLUMNS = (
    "execution_id, workflow, step, item_no, compensates, status, tolerated, rule, class, reason, message, fingerprint, attempts,"
    " failed_times, first_at, last_at"
)
CREW = ("good", "a", "b", "c")
TOLERANT = fan(["x", "y", "z"], tolerate=1, parallelism=3, retry=False)


async def letters(hand: Hand, columns: str = COLUMNS) -> list[dict[str, Any]]:
    """The rows of all dead letters, in the order of their items."""
    found = await hand.sql(
        f"select {columns} from tenax.dead_letter order by execution_id, step, item_no, compensates"
    )
    return [dict(row) for row in found]


async def letter(hand: Hand) -> dict[str, Any]:
    """The only dead letter."""
    [found] = await letters(hand, "*")
    return found


async def failed(
    hand: Hand, source: str = ONE_STEP, *, message: str = "no such order 17", **more: Any
) -> int:
    """An execution whose only item has failed for good."""
    id_, leased = await hand.start(source, **more)
    await give_up(hand, leased, message)
    return id_


async def exhausted(hand: Hand) -> int:
    """An execution whose item has used up its three attempts."""
    id_, leased = await hand.start()
    for seconds in (1, 2):
        await hand.fail(leased)
        await hand.wait(seconds)
        leased = await hand.lease_one()
    await hand.fail(leased)
    return id_


async def tolerated(hand: Hand) -> int:
    """A completed execution of which one item of three has failed."""
    id_ = await hand.submit(TOLERANT)
    leased = by_item(await hand.lease(slots=3))
    await give_up(hand, leased[1], "bad element y")
    for number in (0, 2):
        await hand.succeed(leased[number], number)
    return id_


async def killed(hand: Hand, *workers: str) -> None:
    """Each of these takes what there is and falls silent over it; then it comes back."""
    for worker in workers:
        assert await hand.lease(worker, slots=1), f"there is nothing for {worker}"
        await live(hand, 30, *(name for name in CREW if name != worker))
        await live(hand, 1, *CREW)


async def quarantined(hand: Hand, source: str = PATIENT) -> int:
    """An execution whose item has cost a, b and c their lease."""
    await arrive(hand, *CREW)
    id_ = await hand.submit(source)
    await killed(hand, "a", "b", "c")
    return id_
