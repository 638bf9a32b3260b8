"""What attempts print is kept with them, within its limit, and read page by page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tenax.errors import NotFound
from tenax.model.wire import Assignment, AttemptNotes, OutputPart


def part(a: Assignment, start: int, text: str, **more: object) -> OutputPart:
    values = {"receipt": a.receipt, "step": a.step, "attempt": a.attempt, **more}
    return OutputPart(a.execution_id, a.item_id, start=start, text=text, item=a.item, **values)  # type: ignore[arg-type]


async def tell(hand, *parts: OutputPart) -> None:
    await hand.engine.take_notes(AttemptNotes("w1", output=parts))


async def texts(hand, id_: int, **more: object) -> list[str]:
    return [chunk.text for chunk in (await hand.engine.output(id_, **more)).chunks]


async def test_it_comes_in_order_and_a_repeated_part_changes_nothing(hand):
    id_, first = await hand.start()
    for _ in range(2):
        await tell(hand, part(first, 0, "one\n"), part(first, 4, "two\n"))
    await tell(hand, part(first, 8, "three\n"))
    page = await hand.engine.output(id_)
    assert [(chunk.start, chunk.text) for chunk in page.chunks] == [
        (0, "one\n"),
        (4, "two\n"),
        (8, "three\n"),
    ]
    assert not page.more
    await tell(hand, part(first, 14, "four\n"))
    assert await texts(hand, id_, after=page.cursor) == ["four\n"]


async def test_it_may_come_after_the_end_of_the_attempt_and_is_kept_with_it(hand):
    id_, first = await hand.start()
    await hand.fail(first)
    await tell(hand, part(first, 0, "of the first\n"))
    await hand.clock.advance(5)
    second = await hand.lease_one()
    await tell(hand, part(second, 0, "of the second\n"))
    assert await texts(hand, id_) == ["of the first\n", "of the second\n"]
    assert await texts(hand, id_, attempt=2, step="only") == ["of the second\n"]
    assert await texts(hand, id_, item=0) == []


async def test_it_needs_the_receipt_of_its_item(hand):
    id_, first = await hand.start()
    other_id, other = await hand.start()
    await tell(hand, part(first, 0, "forged\n", receipt="0" * 32))
    await tell(hand, replace(part(first, 0, "forged\n"), execution_id=other_id))
    await tell(hand, part(first, 0, "forged\n", receipt=other.receipt))
    assert await texts(hand, id_) == await texts(hand, other_id) == []


async def test_of_more_than_the_limit_the_middle_goes(hand):
    hand = await hand.restarted(max_output=1000)
    id_, first = await hand.start()
    for n in range(50):
        await tell(hand, part(first, 100 * n, f"{n:02}{'x' * 97}\n"))
    chunks = (await hand.engine.output(id_)).chunks
    kept = [int(chunk.text[:2]) for chunk in chunks]
    assert kept == [0, 1, 2, 3, 4, 45, 46, 47, 48, 49]
    assert sum(chunk.size for chunk in chunks) <= 1000


async def test_nothing_is_kept_if_that_is_switched_off(hand):
    hand = await hand.restarted(max_output=0)
    id_, first = await hand.start()
    await tell(hand, part(first, 0, "one\n"))
    assert await texts(hand, id_) == []


async def test_a_long_output_has_pages(hand):
    id_, first = await hand.start()
    texts = [str(n) * 100_000 for n in range(10)]
    parts = [part(first, 100_000 * n, text) for n, text in enumerate(texts)]
    await tell(hand, *parts)
    found, after, pages = [], 0, 0
    while True:
        page = await hand.engine.output(id_, after=after)
        found += page.chunks
        after, pages = page.cursor, pages + 1
        if not page.more:
            break
    assert [chunk.text for chunk in found] == texts
    assert pages == 2


async def test_an_execution_that_there_is_not_has_none(hand):
    with pytest.raises(NotFound):
        await hand.engine.output(7)
    with pytest.raises(NotFound):
        await hand.engine.progress(7)
