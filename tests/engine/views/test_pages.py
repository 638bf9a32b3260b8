"""Pages of executions, counts by state, pages of events and strips of items: all read a bounded part."""

from __future__ import annotations

import pytest
from support.hand import Hand, one_postgres

from tenax.errors import NotFound, UsageError
from tenax.model.filters.parse import parse_filter
from tenax.store.tables import execution_pages

FAN_OUT = """
name: many
workflow:
  - step: each
    type: python
    task: some:task
    for_each: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    tolerate: 100%
    parallelism: 10
    retry: {max_attempts: 1}
"""


async def ids(hand: Hand, text: str = "", **more: int) -> list[int]:
    return [one.id for one in (await hand.engine.page(parse_filter(text), **more)).executions]


async def mixed(hand: Hand) -> list[int]:
    """Makes seven executions, the newest first: every second one has failed for good."""
    made = []
    for n in range(7):
        execution_id, attempt = await hand.start()
        await (hand.fail(attempt, fatal=True, message="no") if n % 2 else hand.succeed(attempt))
        made.append(execution_id)
    return made[::-1]


async def test_pages_lead_both_ways(hand):
    all_ = await mixed(hand)
    first = await hand.engine.page(limit=3)
    assert ([one.id for one in first.executions], first.newer) == (all_[:3], None)
    second = await hand.engine.page(before=first.older, limit=3)
    assert [one.id for one in second.executions] == all_[3:6]
    third = await hand.engine.page(before=second.older, limit=3)
    assert ([one.id for one in third.executions], third.older) == (all_[6:], None)
    assert await ids(hand, after=third.newer, limit=3) == all_[3:6]
    assert await ids(hand, after=second.newer, limit=3) == all_[:3]
    assert (await hand.engine.page(after=second.newer, limit=5)).newer is None
    with pytest.raises(UsageError, match="exclude each other"):
        await hand.engine.page(before=3, after=1)


async def test_pages_of_filters(hand):
    all_ = await mixed(hand)
    assert await ids(hand, "status=failed", limit=2) == [all_[1], all_[3]]
    assert await ids(hand, "status=failed", after=all_[5], limit=2) == [all_[1], all_[3]]
    assert await ids(hand, "text=no") == [all_[1], all_[3], all_[5]]
    page = await hand.engine.page(parse_filter("workflow=nothing"))
    assert (page.executions, page.older, page.newer, page.looked_until) == ([], None, None, None)


@one_postgres
async def test_a_search_that_stops_says_how_far_it_looked(hand, monkeypatch):
    """A filter that finds nothing leads on, window by window, in both directions."""
    all_ = await mixed(hand)
    monkeypatch.setattr(execution_pages, "FIRST_WINDOW", 2)
    monkeypatch.setattr(execution_pages, "PAGE_SECONDS", 0.0)
    rare = parse_filter(f"input.a!=1 status!=failed workflow!=none since=1d key!={all_[0]}")
    page = await hand.engine.page(rare, limit=50)
    seen, places = [one.id for one in page.executions], []
    while page.older is not None:
        assert page.looked_until is not None
        places.append(page.older)
        page = await hand.engine.page(rare, before=page.older, limit=50)
        seen += [one.id for one in page.executions]
    assert places == [all_[1], all_[3], all_[5]]
    assert seen == all_[::2]
    nothing = parse_filter("workflow=nothing")
    page = await hand.engine.page(nothing, after=all_[-1])
    assert (page.newer, page.executions) == (all_[4], [])
    assert page.looked_until is not None


@one_postgres
async def test_a_time_is_found_by_bisection(hand):
    early = await hand.submit()
    await hand.pass_time(3600)
    late = await hand.submit()
    assert await ids(hand, "until=30m") == [early]
    assert await ids(hand, "until=2h") == []
    assert await ids(hand, "since=30m workflow=one") == [late]
    await hand.pass_time(10)
    assert await ids(hand, "until=1s") == [late, early]


async def test_executions_are_counted_by_state(hand, monkeypatch):
    await mixed(hand)
    await hand.engine.pause(await hand.submit(), actor="ada")
    counted = await hand.engine.count()
    assert counted.counts == {"running": 0, "paused": 1, "completed": 4, "failed": 3, "cancelled": 0}
    assert counted.at_least == []
    failed = await hand.engine.count(parse_filter("status=failed workflow=one"))
    assert failed.counts == {"running": 0, "paused": 0, "completed": 0, "failed": 3, "cancelled": 0}
    assert (await hand.engine.count(parse_filter("text=no"))).counts == {}
    monkeypatch.setattr(execution_pages, "COUNTED", 3)
    bounded = await hand.engine.count()
    assert bounded.at_least == ["completed", "failed", "cancelled"]
    assert (bounded.counts["failed"], bounded.counts["paused"]) == (3, 1)


async def test_pages_of_events_lead_both_ways(hand):
    execution_id, attempt = await hand.start(FAN_OUT.replace("parallelism: 10", "parallelism: 1"))
    await hand.succeed(attempt)
    for _ in range(9):
        await hand.succeed(await hand.lease_one())
    every = await hand.engine.events(execution_id)
    last = await hand.engine.event_page(execution_id, limit=7)
    assert (last.events, last.newer) == (every[-7:], None)
    before = await hand.engine.event_page(execution_id, before=last.older, limit=7)
    assert before.events == every[-14:-7]
    assert (await hand.engine.event_page(execution_id, after=before.newer, limit=7)).events == every[-7:]
    first = await hand.engine.event_page(execution_id, after=0, limit=7)
    assert (first.events, first.older) == (every[:7], None)
    assert (await hand.engine.event_page(execution_id, after=every[-1].id)).events == []
    for one in every:
        assert await hand.engine.event(execution_id, one.id) == one
    with pytest.raises(NotFound, match="has no event 1"):
        await hand.engine.event(execution_id, 1)
    with pytest.raises(NotFound):
        await hand.engine.event_page(999)


async def test_a_fan_out_is_a_strip(hand):
    execution_id = await hand.submit(FAN_OUT)
    for one in await hand.lease(slots=6):
        if one.item != 5:
            await (hand.fail(one) if one.item == 4 else hand.succeed(one))
    strip = await hand.engine.item_strip(execution_id, "each", ranges=4)
    assert strip.total == 10
    assert [(one.first, one.last, one.worst) for one in strip.ranges] == [
        (0, 2, "succeeded"),
        (3, 4, "failed"),
        (5, 7, "running"),
        (8, 9, "queued"),
    ]
    assert strip.ranges[1].counts == {"succeeded": 1, "failed": 1}
    assert strip.ranges[2].counts == {"running": 1, "queued": 2}
    await hand.engine.cancel(execution_id, actor="ada")
    strip = await hand.engine.item_strip(execution_id, "each", ranges=4)
    assert strip.ranges[3].counts == {"cancelled": 2}
    with pytest.raises(NotFound, match="no fan-out"):
        await hand.engine.item_strip(execution_id, "nope")
