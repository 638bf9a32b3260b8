"""The migration that brings dead letters fills them from the log: the letters are those that would have been written."""

from __future__ import annotations

from support.compensation_workflows import failed_at_b
from support.hand import Hand
from support.laws import verify
from support.letters import exhausted, failed, letters, quarantined, tolerated

from tenax.store import fill_letters
from tenax.store.migrate import migrate
from tenax.store.transaction import transaction

NAME = r"\d{4}_dead_letters"


async def forget_letters(hand: Hand) -> None:
    """Makes the database as it was before the migration."""
    await hand.sql("drop table tenax.dead_letter cascade")  # a later migration has made views of it
    await hand.sql("delete from tenax.schema_migration where name ~ $1", NAME)


async def migrated_again(hand: Hand) -> list[str]:
    async with transaction(hand.engine.context.database) as tx:
        return await migrate(tx)


async def failures_of_many_kinds(hand: Hand) -> None:
    await exhausted(hand)
    await failed(hand)
    await failed(hand, message='user text that looks like an event: {"type":"item_failed"}')
    await tolerated(hand)
    await failed_at_b(hand, "w1")
    await hand.fail(await hand.lease_one("w1"), fatal=True, message="cannot undo")
    leased = (await hand.start())[1]
    await hand.succeed(leased, {"type": "step_failed_terminal"})
    released = await quarantined(hand)
    await hand.retry(released)
    await hand.succeed(await hand.lease_one("good"))
    cancelled = await quarantined(hand)
    await hand.engine.cancel(cancelled, actor="me")
    await quarantined(hand)


async def test_the_letters_are_those_that_were_written(hand, monkeypatch):
    monkeypatch.setattr(fill_letters, "EXECUTIONS_AT_ONCE", 3)
    await failures_of_many_kinds(hand)
    before = await letters(hand)
    assert {one["status"] for one in before} == {"open", "recovered", "resolved"}
    assert len(before) == 9
    await forget_letters(hand)
    assert [name[5:] for name in await migrated_again(hand)] == ["dead_letters"]
    assert await letters(hand) == before
    assert (await verify(hand))["violations"] == []


async def test_letters_of_ended_items_get_ids_that_no_item_has(hand):
    await failures_of_many_kinds(hand)
    [live] = await hand.sql("select id from tenax.item where state = 'held'")
    await forget_letters(hand)
    await migrated_again(hand)
    next_id = (await hand.submit(), await hand.lease_one("good"))[1].item_id
    ids = [row["item_id"] for row in await letters(hand, "item_id")]
    assert live["id"] in ids
    assert len(set(ids)) == 9
    assert max(ids) < next_id


async def test_a_log_without_failures_fills_nothing(hand):
    await hand.succeed((await hand.start())[1])
    await forget_letters(hand)
    await migrated_again(hand)
    assert await letters(hand) == []
