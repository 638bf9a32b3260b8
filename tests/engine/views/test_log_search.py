"""Searches of the log and pages of decisions: both read a bounded part, in both directions."""

from __future__ import annotations

from support.hand import Hand

from tenax.engine.views import log_pages
from tenax.model.execution_views import Event

MANY = """
name: many
workflow:
  - step: each
    type: python
    task: some:task
    for_each: [1, 2, 3, 4, 5, 6]
    tolerate: 100%
    parallelism: 6
    retry: {max_attempts: 2, initial_delay: 1, jitter: 0}
  - {step: after, type: python, task: "t:t", needs: [each]}
"""


async def failed(hand: Hand) -> int:
    """Fails all items twice, and leaves the step after them queued."""
    id_ = await hand.submit(MANY)
    for _ in range(2):
        for attempt in await hand.lease():
            await hand.fail(attempt, message=f"item {attempt.item}")
        await hand.wait(2)
    return id_


def is_error(event: Event) -> bool:
    return event.type == "action_error"


async def test_a_search_leads_both_ways_and_ends(hand):
    id_ = await failed(hand)
    all_ = [e.id for e in await hand.engine.events(id_) if is_error(e)]
    assert len(all_) == 12
    last = await hand.engine.find_events(id_, is_error, limit=5)
    assert ([e.id for e in last.events], last.newer, last.looked_until) == (
        all_[-5:],
        None,
        None,
    )
    middle = await hand.engine.find_events(id_, is_error, before=last.older, limit=5)
    assert [e.id for e in middle.events] == all_[2:7]
    first = await hand.engine.find_events(id_, is_error, before=middle.older, limit=5)
    assert ([e.id for e in first.events], first.older) == (all_[:2], None)
    assert [e.id for e in (await hand.engine.find_events(id_, is_error, after=0, limit=5)).events] == all_[:5]
    assert middle.newer == middle.events[-1].id
    onward = await hand.engine.find_events(id_, is_error, after=all_[4], limit=50)
    assert ([e.id for e in onward.events], onward.newer) == (all_[5:], None)


async def test_a_search_that_looks_long_enough_says_how_far(hand, monkeypatch):
    monkeypatch.setattr(log_pages, "MOST_EVENTS", 4)
    monkeypatch.setattr(log_pages, "MOST_LOOKED", 8)
    id_ = await failed(hand)
    all_ = await hand.engine.events(id_)
    page = await hand.engine.find_events(id_, lambda e: e.type == "execution_started")
    assert (page.events, page.older, page.looked_until) == ([], all_[-8].id, all_[-8].at)
    rounds = 1
    while page.older is not None and not page.events:
        page = await hand.engine.find_events(id_, lambda e: e.type == "execution_started", before=page.older)
        rounds += 1
    assert [e.type for e in page.events] == ["execution_started"]
    assert rounds > 2
    forwards = await hand.engine.find_events(id_, lambda e: False, after=0)
    assert (forwards.newer, forwards.looked_until) == (all_[7].id, all_[7].at)


async def test_pages_of_decisions_explain_as_explain_does(hand):
    id_ = await failed(hand)
    all_ = list(await hand.engine.explain(id_))[::-1]
    first = await hand.engine.decisions(id_, limit=5)
    second = await hand.engine.decisions(id_, before=first.older, limit=100)
    assert [one.explanation for one in [*first.decisions, *second.decisions]] == all_
    assert second.older is None
    assert first.policies["each"]["max_attempts"] == 2
    of_item = await hand.engine.decisions(id_, step="each", item=3, attempt=2)
    assert [one.explanation for one in of_item.decisions] == list(
        await hand.engine.explain(id_, step="each", item=3, attempt=2)
    )
    event = await hand.engine.event(id_, of_item.decisions[0].event)
    assert (event.item, event.attempt) == (3, 2)
    assert event.data["decision"] == of_item.decisions[0].explanation.decision


async def test_a_decision_whose_failure_is_on_the_page_before_has_it(hand, monkeypatch):
    monkeypatch.setattr(log_pages, "MOST_EVENTS", 1)
    id_, attempt = await hand.start()
    await hand.fail(attempt, message="the reason")
    [only] = (await hand.engine.decisions(id_, limit=1)).decisions
    assert only.explanation.failure is not None
    assert only.explanation.failure["message"] == "the reason"


async def test_the_inputs_of_a_workflow(hand):
    id_ = await hand.submit(
        "name: x\ninput: {a: {type: string, required: true}, b: {default: 3}}\nworkflow: [{step: s, type: python, task: t}]\n",
        input={"a": "x"},
    )
    inputs = await hand.engine.inputs(id_)
    assert (inputs["a"].required, inputs["b"].default) == (True, 3)
