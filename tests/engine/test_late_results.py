"""Tests that late reports cost little: one digest and a bounded beginning are recorded, after a bounded search of the log."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from msgspec import to_builtins
from support.hand import Hand, one_postgres

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.events import check_event
from tenax.store.tables import log
from tenax.store.transaction import transaction

pytestmark = [one_postgres, pytest.mark.settings(callback_url="http://tenax.test")]
LARGE = Outcome("succeeded", {"pages": "x" * 1_000_000})


async def late_results(hand: Hand, execution_id: int) -> list[dict[str, Any]]:
    found = await hand.events_of(execution_id, "late_result")
    for e in found:
        body = {name: e[name] for name in ("type", "step", "attempt", "data")}
        assert check_event(body) is None
    return found


async def size_of_log(hand: Hand) -> int:
    [row] = await hand.sql("select sum(length(events)) as size from tenax.log")
    return int(row["size"])


async def test_a_late_callback_is_recorded_by_its_digest_and_its_beginning(hand):
    a = await hand.accepted()
    await hand.engine.cancel(a.execution_id, actor="ann")
    before = await size_of_log(hand)
    for _ in range(5):
        assert (await hand.call_back(a, LARGE)).status == "late"
    [late] = await late_results(hand, a.execution_id)
    data = late["data"]
    assert "result" not in data
    assert data["head"].startswith('{"result":{"pages":"xxx')
    assert len(data["head"]) == 4000
    assert data["size"] == 1_000_000 + len('{"result":{"pages":""}}')
    whole = b'{"result":{"pages":"' + b"x" * 1_000_000 + b'"},"status":"succeeded"}'
    assert data["digest"] == hashlib.sha256(whole).hexdigest()
    assert await size_of_log(hand) - before < 10_000


async def test_the_same_callback_as_the_applied_one_leaves_nothing(hand):
    a = await hand.accepted()
    assert (await hand.call_back(a, LARGE)).status == "applied"
    before = await hand.types(a.execution_id)
    assert (await hand.call_back(a, LARGE)).status == "late"
    assert await hand.types(a.execution_id) == before


async def test_different_late_callbacks_are_recorded_up_to_ten(hand):
    a = await hand.accepted()
    await hand.engine.cancel(a.execution_id, actor="ann")
    for n in range(15):
        assert (await hand.call_back(a, Outcome("succeeded", n))).status == "late"
    found = await late_results(hand, a.execution_id)
    assert [e["data"]["result"] for e in found] == list(range(10))


async def test_a_late_report_is_recorded_by_its_digest_and_its_beginning(hand):
    execution_id, a = await hand.start()
    await hand.engine.cancel(execution_id, actor="ann")
    for outcome in (LARGE, Outcome("failed", facts=Facts(message="m" * 10_000, traceback="t" * 200_000))):
        for _ in range(3):
            assert (await hand.report(a, outcome)).status == "late"
    succeeded, failed = await late_results(hand, execution_id)
    assert (len(succeeded["data"]["head"]), "result" in succeeded["data"]) == (4000, False)
    assert failed["data"]["failure"].keys() == {"class", "reason", "message"}
    assert len(str(failed)) < 20_000


@pytest.mark.settings(max_message=100, max_evidence=1000)
async def test_what_a_worker_says_of_a_failure_is_bounded(hand):
    execution_id, a = await hand.start()
    facts = Facts(
        message="m" * 5_000,
        reason="r" * 5_000,
        exception="e" * 5_000,
        exception_bases=("b" * 5_000,) * 100,
        dependency="d" * 5_000,
        stderr_tail="s" * 5_000 + "the end",
        traceback="t" * 5_000 + "the end",
        data={"body": "y" * 5_000},
    )
    for _ in range(2):
        answer = await hand.report(a, Outcome("failed", facts=facts))
        assert (answer.status, answer.verdict) == ("applied", "retry"), (
            "the same report again, the same answer"
        )
    [error] = await hand.events_of(execution_id, "action_error")
    failure = error["data"]["failure"]
    assert failure["message"] == "m" * 100 + " [4900 characters more were not kept]"
    assert (len(failure["reason"]), len(failure["exception"]), len(failure["dependency"])) == (200, 200, 200)
    assert (len(failure["exception_bases"]), len(failure["exception_bases"][0])) == (50, 200)
    for name in ("stderr_tail", "traceback"):
        assert failure[name].startswith("[4007 characters before were not kept]")
        assert failure[name].endswith("the end")
    assert failure["data"].startswith('{"body":"yyy')
    assert failure["data"].endswith("characters more were not kept]")


async def test_a_long_log_is_looked_at_in_part(hand, monkeypatch):
    execution_id, a = await hand.start()
    assert (await hand.succeed(a, 1)).status == "applied"
    assert (await hand.succeed(a, 1)).status == "applied", "the log is short: it is known"
    monkeypatch.setattr(log, "LOOK_ROWS", 1)
    await hand.sql(
        "insert into tenax.log (execution_id, at, events) select $1, now(), '[]' from generate_series(1, 200)",
        execution_id,
    )
    assert (await hand.succeed(a, 1)).status == "late"
    assert (await hand.succeed(a, 1)).status == "late"
    [late] = await late_results(hand, execution_id)
    assert late["data"]["unchecked"] is True, "nobody has looked so far back, and it says so"


@pytest.mark.odd_log
async def test_the_look_reads_no_more_than_its_bound(hand):
    execution_id, a = await hand.start()
    await hand.sql(
        "insert into tenax.log (execution_id, at, events)"
        ' select $1, now(), \'[{"type":"action_started","step":"only","attempt":1}]\' from generate_series(1, 60000)',
        execution_id,
    )
    async with transaction(hand.engine.context.database) as tx:
        assert await log.find_outcomes(tx, [execution_id], [a.token]) == {}, (
            "it is beyond the newest 50,000 rows"
        )
        assert await log.is_log_longer(tx, execution_id)
        assert not await log.is_log_longer(tx, execution_id + 1)


@pytest.mark.parametrize("tokens", [1, 20])
async def test_outcomes_are_found_by_one_token_and_by_many(hand, tokens):
    execution_id, a = await hand.start()
    await hand.succeed(a, 1)
    others = [f"00000000-0000-0000-0000-{n:012}" for n in range(1, tokens)]
    async with transaction(hand.engine.context.database) as tx:
        found = await log.find_outcomes(tx, [execution_id], [a.token, *others])
    assert list(found) == [a.token]
    assert found[a.token][0].event["type"] == "action_completed"


# -- reading


async def test_a_history_is_read_page_by_page(hand, monkeypatch):
    execution_id, a = await hand.start()
    await hand.fail(a)
    whole = list(await hand.events(execution_id))
    shown = await hand.get(execution_id)
    explained = await hand.engine.explain(execution_id)
    monkeypatch.setattr(log, "PAGE_BYTES", 1)
    pages = [page async for page in hand.engine.event_pages(execution_id)]
    assert len(pages) > 2
    assert to_builtins([e for page in pages for e in page]) == whole
    assert [e["seq"] for e in whole] == list(range(1, len(whole) + 1))
    for after in range(len(whole) + 1):
        assert list(await hand.events(execution_id, after=after)) == whole[after:]
    again = await hand.get(execution_id)
    assert again | {"now": None} == shown | {"now": None}
    assert list(await hand.engine.explain(execution_id)) == list(explained)


async def test_pages_show_the_log_as_it_was_at_the_first(hand, monkeypatch):
    execution_id, a = await hand.start()
    monkeypatch.setattr(log, "PAGE_BYTES", 1)
    pages = hand.engine.event_pages(execution_id)
    first = await anext(pages)
    await hand.succeed(a)
    rest = [e async for page in pages for e in page]
    assert "action_completed" not in [e.type for e in [*first, *rest]]


async def test_news_come_in_pages_of_which_none_is_lost(hand, monkeypatch):
    execution_id, a = await hand.start()
    await hand.fail(a)
    whole = list(await hand.events(execution_id))
    monkeypatch.setattr(log, "PAGE_BYTES", 1)
    pages, cursor = [], None
    for _ in range(20):
        news = await hand.news(execution_id, cursor=cursor)
        pages.append(news["events"])
        cursor = news["cursor"]
        if len(pages) == 1:  # in the middle of the first answer something new happens
            await hand.clock.advance(10)
            [again] = await hand.lease()
            await hand.succeed(again)
    told = [e for page in pages for e in page]
    assert told[: len(whole)] == whole
    assert told == list(await hand.events(execution_id))
    assert len([page for page in pages if page]) > 4


async def test_a_large_page_is_one_row(hand):
    execution_id, a = await hand.start()
    await hand.succeed(a, "x" * (log.PAGE_BYTES + 1))
    pages = [page async for page in hand.engine.event_pages(execution_id)]
    assert [len(page) > 0 for page in pages] == [True] * len(pages)
    assert [e.seq for page in pages for e in page] == list(range(1, sum(map(len, pages)) + 1))
