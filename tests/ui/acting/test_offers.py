"""The buttons of actions agree with the engine: each one that is offered works, and each one that is not is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from support.hand import Hand, hand_on

from tenax.errors import Conflict, UsageError
from tenax.model.views import ItemInfo
from tenax.policy.operator_actions import ACTIONS, EXECUTION_ACTIONS
from tenax.ui.action_words import FORMS, in_order, rarer
from tenax.ui.offers import offers, offers_by_status, waiting_for_people

RETRY = "{max_attempts: 3, initial_delay: 1h, max_delay: 1h, jitter: 0}"
WORK = f"""
name: work
workflow:
  - {{step: a, type: python, task: "t:t", retry: {RETRY}}}
  - {{step: b, type: python, task: "t:t", needs: [a]}}
"""
MANY = f"""
name: many
workflow:
  - {{step: a, type: python, task: "t:t", for_each: [0, 1, 2], parallelism: 3, tolerate: 1, retry: {RETRY}}}
"""
FORGIVEN = """
name: forgiven
workflow:
  - {step: a, type: python, task: "t:t", on_failure: continue}
  - {step: b, type: wait}
"""
UNDO = f"""
name: undo
workflow:
  - {{step: a, type: python, task: "t:t", compensate: {{type: python, task: "t:u", retry: {RETRY}}}}}
  - {{step: b, type: python, task: "t:t", needs: [a]}}
"""
Reach = Callable[[Hand], Awaitable[int]]


@pytest.fixture
def driven(database_url: str, tmp_path: Path) -> AbstractAsyncContextManager[Hand]:
    """Drives an engine by hand, without a server."""
    return hand_on(database_url, tmp_path / "home")


async def queued(hand: Hand) -> int:
    return await hand.submit(WORK)


async def running(hand: Hand) -> int:
    return (await hand.start(WORK))[0]


async def retrying(hand: Hand) -> int:
    id_, attempt = await hand.start(WORK)
    await hand.fail(attempt)
    return id_


async def paused(hand: Hand) -> int:
    id_ = await retrying(hand)
    await hand.engine.pause(id_, actor="eve")
    return id_


async def failed(hand: Hand) -> int:
    id_, attempt = await hand.start(WORK)
    await hand.fail(attempt, status_code=404)
    return id_


async def completed(hand: Hand) -> int:
    id_, attempt = await hand.start(WORK)
    await hand.succeed(attempt)
    await hand.succeed(await hand.lease_one())
    return id_


async def cancelled(hand: Hand) -> int:
    id_ = await hand.submit(WORK)
    await hand.engine.cancel(id_, actor="eve")
    return id_


async def cut_short(hand: Hand) -> int:
    """Its deadline has ended it while a retry waited."""
    id_ = await hand.submit(f"deadline: 30m\n{WORK}")
    await hand.fail(await hand.lease_one())
    await hand.wait(1801)
    return id_


async def forgiven(hand: Hand) -> int:
    """A step has failed, and the others go on without it."""
    id_ = await hand.submit(FORGIVEN)
    await hand.fail(await hand.lease_one(), status_code=404)
    await hand.settle_down()
    return id_


async def of_three(hand: Hand) -> int:
    """One item has failed, one waits for a retry, and one runs."""
    id_ = await hand.submit(MANY)
    first, second, _ = sorted(await hand.lease(), key=lambda a: a.item or 0)
    await hand.fail(first, status_code=404)
    await hand.fail(second)
    return id_


async def many_failed(hand: Hand) -> int:
    id_ = await hand.submit(MANY)
    for attempt in await hand.lease():
        await hand.fail(attempt, status_code=404)
    return id_


async def undoing(hand: Hand) -> int:
    """A compensation waits for a retry."""
    id_ = await hand.submit(UNDO)
    await hand.succeed(await hand.lease_one())
    await hand.fail(await hand.lease_one(), status_code=404)
    await hand.fail(await hand.lease_one())
    return id_


async def undone(hand: Hand) -> int:
    id_ = await hand.submit(UNDO)
    await hand.succeed(await hand.lease_one())
    await hand.fail(await hand.lease_one(), status_code=404)
    await hand.succeed(await hand.lease_one())
    return id_


REACHED: dict[str, Reach] = {
    one.__name__: one
    for one in (queued, running, retrying, paused, failed, completed, cancelled, cut_short, forgiven, of_three,
                many_failed, undoing, undone)
}  # fmt: skip
MORE = {
    "complete": {"result": 1},
    "reschedule": {"policy": {"initial_delay": "10s", "max_delay": "10s"}},
}


def places_of(state: str) -> list[tuple[str | None, int | None]]:
    items: list[tuple[str | None, int | None]] = [("a", 0), ("a", 1), ("a", 2)]
    return [(None, None), ("a", None), *(items if state in ("of_three", "many_failed") else [("b", None)])]


async def item_of(hand: Hand, id_: int, step: str | None, item: int | None) -> ItemInfo | None:
    if step is None or item is None:
        return None
    return (await hand.engine.items(id_, step, after=item - 1, limit=1))[0]


async def is_accepted(hand: Hand, id_: int, action: str, step: str | None, item: int | None) -> bool:
    """Carries the action out. Returns whether it was legal and changed anything."""
    try:
        answer = await hand.act(id_, action, step=step, item=item, reason="why", **MORE.get(action, {}))
    except (Conflict, UsageError):
        return False
    return answer.changed


@pytest.mark.parametrize("state", REACHED)
async def test_an_action_is_offered_exactly_where_the_engine_accepts_it(driven, state):
    found, expected = {}, {}
    for step, item in places_of(state):
        for action in ACTIONS:
            if step is not None and action in EXECUTION_ACTIONS:
                continue
            id_ = await REACHED[state](driven)
            info = await item_of(driven, id_, step, item)
            offered = offers(await driven.engine.get(id_), step, item, info and info.status)
            place = f"{action} {step} {item}"
            found[place] = action in offered
            expected[place] = await is_accepted(driven, id_, action, step, item)
            with contextlib.suppress(Conflict):
                await driven.engine.cancel(id_, actor="eve")
    of_one_step = {"resolve", "complete", "fail"}  # they are offered on the step that they are for
    for place in [
        place for place in found if place.split()[0] in of_one_step and place.endswith("None None")
    ]:
        assert not found.pop(place)
        expected.pop(place)
    assert {place for place, is_offered in found.items() if is_offered} == {
        place for place, is_legal in expected.items() if is_legal
    }


async def test_what_waits_for_a_person_is_answered_at_its_step(driven):
    id_ = await driven.submit(
        "name: w\nworkflow: [{step: ask, type: wait}, {step: paid, type: wait, signal: paid}, {step: nap, type: sleep, for: 1h}]\n"
    )
    await driven.settle_down()
    execution = await driven.engine.get(id_)
    assert [(one.step, one.signal, one.actions) for one in waiting_for_people(execution)] == [
        ("ask", None, ("approve", "reject")),
        ("paid", "paid", ("signal",)),
    ]
    assert {"approve", "reject"} <= set(offers(execution, "ask"))
    assert "signal" in offers(execution, "paid")
    assert not {"approve", "signal"} & set(offers(execution, "nap"))
    await driven.engine.cancel(id_, actor="eve")
    assert waiting_for_people(await driven.engine.get(id_)) == []


def test_every_action_has_its_form_and_buttons_have_an_order():
    assert set(ACTIONS) | {"approve", "reject", "signal", "again"} == set(FORMS)
    assert in_order(("fail", "cancel", "retry")) == ["retry", "fail", "cancel"]
    assert rarer(["retry", "reset", "cancel"]) == ["reset"]
    assert offers_by_status("retrying", of_step=True)[0] == "retry"
    assert offers_by_status("running", of_item=True) == offers_by_status("leased", of_item=True)
    assert offers_by_status("paused") == ("cancel", "resume")
    assert offers_by_status("failed") == ("retry", "again")
