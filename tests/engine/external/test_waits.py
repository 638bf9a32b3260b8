"""Tests steps that wait for a time, a signal or a person. They use no worker and no attempt meanwhile."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.child_workflows import begun
from support.hand import EXHAUSTED, STARTED, STEP_DONE, Hand

from tenax.errors import Conflict, NotFound
from tenax.model.views import ApprovalAnswer, Delivery, SignalAnswer

SIGNAL = "name: w\nworkflow: [{step: s, type: wait, signal: go}]\n"
APPROVAL = "name: w\nworkflow: [{step: s, type: wait}, {step: next, type: python, task: 't:t', needs: [s]}]\n"
TWO_WAITS = """
name: w
workflow:
  - {step: a, type: wait, signal: go}
  - {step: b, type: wait, signal: go, needs: [a]}
"""
WITH_DEADLINE = """
name: w
workflow:
  - {step: s, type: wait, signal: go, deadline: 1m, retry: {max_attempts: 2, initial_delay: 10s, jitter: 0}}
"""
MANY_APPROVALS = "name: w\nworkflow: [{step: s, type: wait, for_each: [x, y, z], parallelism: 3}]\n"


def sleeping(how: str, *, rest: str = "") -> str:
    return f"name: w\ninput: {{t: {{}}}}\nworkflow: [{{step: s, type: sleep, {how}{rest}}}]\n"


async def step_of(hand: Hand, id_: int, step: str = "s") -> dict[str, Any]:
    return (await hand.get(id_))["steps"][step]


async def check_holds_no_slot(hand: Hand) -> None:
    assert await hand.lease() == []
    assert await hand.sql("select from tenax.item where lease_token is not null or worker is not null") == []


# -- sleep


@pytest.mark.parametrize("how", ["for: 90s", "for: '{{ input.t }}'", "for: '{{ input.t | int }}'"])
async def test_a_sleep_lasts_as_long_as_it_says(hand, how):
    given = 90 if "int" in how else "90s"
    id_ = await begun(hand, sleeping(how), input={"t": given})
    await check_holds_no_slot(hand)
    step = await step_of(hand, id_)
    until = (await hand.clock.now() + timedelta(seconds=90)).isoformat().replace("+00:00", "Z")
    assert (step["status"], step["waiting"]) == ("running", {"for": "sleep", "until": until})
    await hand.clock.advance(89.9)
    await hand.settle_down()
    assert await hand.status(id_) == "running"
    await hand.clock.advance(0.1)
    await hand.settle_down()
    assert await hand.types(id_) == [*STARTED, *STEP_DONE, "execution_completed"]
    [started] = await hand.data_of(id_, "action_started")
    assert (started["worker"], started["retry"]["attempt"]) == (None, 1)
    assert (await step_of(hand, id_))["counted"] == 1


async def test_a_sleep_until_a_time(hand):
    at = await hand.clock.now() + timedelta(hours=2)
    fixed = await begun(hand, sleeping(f"at: '{at.isoformat()}'"))
    given = await begun(hand, sleeping("at: '{{ input.t }}'"), input={"t": at.isoformat()})
    await hand.clock.advance(7199)
    await hand.settle_down()
    assert {await hand.status(fixed), await hand.status(given)} == {"running"}
    await hand.clock.advance(1)
    await hand.settle_down()
    assert {await hand.status(fixed), await hand.status(given)} == {"completed"}


@pytest.mark.parametrize("at", ["2001-02-03T04:05:06Z", "0001-01-01T00:00:00+14:00"])
async def test_a_time_that_is_over_is_now(hand, at):
    id_ = await begun(hand, sleeping(f"at: '{at}'"))
    assert await hand.status(id_) == "completed"


@pytest.mark.parametrize(
    ("how", "given", "said"),
    [
        ("for: '{{ input.t }}'", "soon", "`for`"),
        ("for: '{{ input.t }}'", -5, "`for`"),
        ("for: '{{ input.t }}'", None, "`for`"),
        ("for: '{{ input.t }}'", [1], "`for`"),
        ("for: '{{ input.t }}'", 10**12, "longer than 100 years"),
        ("for: '{{ input.t.x }}'", {}, "input.t.x"),
        ("at: '{{ input.t }}'", "tomorrow", "`at`: 'tomorrow' is not a time"),
        ("at: '{{ input.t }}'", "2030-01-31T09:30:00", "is not a time"),
        ("at: '{{ input.t }}'", 17, "`at`: 17 is not a time"),
        ("at: '{{ input.t }}'", None, "`at`: None is not a time"),
        ("at: '{{ input.t }}'", "9999-12-31T23:59:59Z", "a hundred years at most"),
    ],
)
async def test_a_sleep_that_cannot_be_fails_and_says_why(hand, how, given, said):
    id_ = await begun(hand, sleeping(how), input={"t": given})
    failure = (await hand.get(id_))["failure"]
    assert (failure["class"], failure["reason"]) == ("invalid", "template_error")
    assert said in failure["message"]
    assert (await hand.types(id_))[2:4] == ["action_started", "action_error"]


async def test_a_sleep_goes_on_over_a_restart_and_a_gap_in_service(hand):
    id_ = await begun(hand, sleeping("for: 1h"))
    await hand.clock.advance(3600)  # no server was alive
    later = await hand.restarted()
    await later.settle_down()
    assert await later.status(id_) == "completed"
    assert (await later.types(id_)).count("action_started") == 1


# -- signals


async def test_a_signal_ends_the_wait_with_its_data(hand):
    id_ = await begun(hand, SIGNAL)
    await check_holds_no_slot(hand)
    assert (await step_of(hand, id_))["waiting"] == {"for": "signal", "signal": "go"}
    await hand.clock.advance(30 * 86400)
    await hand.settle_down()
    assert await hand.status(id_) == "running", "without a deadline it waits as long as it takes"
    told = await hand.engine.signal(id_, "go", data={"n": 1}, actor="ann")
    to = Delivery(step="s", item=None)
    assert told == SignalAnswer(
        id=id_, signal="go", delivered_to=to, created=True, expected=True, names=["go"]
    )
    assert (await hand.get(id_))["result"] == {"s": {"n": 1}}
    assert await hand.types(id_) == [*STARTED, "signal_received", *STEP_DONE, "execution_completed"]
    [received] = await hand.data_of(id_, "signal_received")
    assert received == {"name": "go", "data": {"n": 1}, "actor": "ann", "key": None}
    assert (await step_of(hand, id_))["counted"] == 1


async def test_signals_that_come_early_are_kept_and_each_is_taken_once_in_order(hand):
    id_ = await hand.submit(TWO_WAITS)
    for n in (1, 2, 3):
        told = await hand.engine.signal(id_, "go", data=n, actor="ann")
        assert told.delivered_to is None
    await hand.settle_down()
    execution = await hand.get(id_)
    assert execution["status"] == "completed"
    assert [execution["steps"][name]["result"] for name in "ab"] == [1, 2]
    rows = await hand.sql("select data, taken_by is null as free from tenax.signal order by id")
    assert [(row["data"], row["free"]) for row in rows] == [("1", False), ("2", False), ("3", True)]


async def test_a_signal_goes_only_to_who_waits_for_its_name_and_in_its_execution(hand):
    id_, other = await begun(hand, SIGNAL), await begun(hand, SIGNAL)
    told = await hand.engine.signal(id_, "stop", actor="ann")
    assert (told.delivered_to, told.expected, told.names) == (None, False, ["go"])
    await hand.settle_down()
    assert await hand.status(id_) == "running"
    await hand.engine.signal(id_, "go", actor="ann")
    assert (await hand.status(id_), await hand.status(other)) == ("completed", "running")


async def test_a_signal_goes_to_the_wait_that_has_lasted_longest(hand):
    """Not to the one that was queued first: that one may have begun its wait anew."""
    source = """
name: w
workflow:
  - {step: old, type: wait, signal: go, deadline: 1m, retry: {max_attempts: 2, initial_delay: 1s, jitter: 0}}
  - {step: pause, type: sleep, for: 30s}
  - {step: young, type: wait, signal: go, needs: [pause]}
"""
    id_ = await begun(hand, source)
    for seconds in (30, 30, 1):
        await hand.wait(seconds)
    assert (await step_of(hand, id_, "old"))["attempt"] == 2
    told = [(await hand.engine.signal(id_, "go", actor="ann")).delivered_to.step for _ in "ab"]
    assert told == ["young", "old"]


async def test_the_same_key_is_the_same_signal(hand):
    id_ = await begun(hand, TWO_WAITS)
    first = await hand.engine.signal(id_, "go", data=1, key="k", actor="ann")
    assert (first.created, first.delivered_to.step) == (True, "a")
    await hand.settle_down()
    again = await hand.engine.signal(id_, "go", data=1, key="k", actor="ann")
    assert (again.created, again.delivered_to) == (False, None)
    assert await hand.status(id_) == "running", "the second wait did not get it"
    with pytest.raises(Conflict, match="used for the signal 'go'"):
        await hand.engine.signal(id_, "other", key="k", actor="ann")
    await hand.engine.signal(id_, "go", data=2, key="k2", actor="ann")
    assert await hand.status(id_) == "completed"
    assert (await hand.engine.signal(id_, "go", key="k", actor="ann")).created is False
    assert len(await hand.data_of(id_, "signal_received")) == 2


async def test_a_signal_that_nobody_can_ever_take_is_refused(hand):
    with pytest.raises(NotFound, match="no execution 99"):
        await hand.engine.signal(99, "go", actor="ann")
    id_ = await begun(hand, SIGNAL)
    await hand.engine.signal(id_, "go", actor="ann")
    with pytest.raises(Conflict, match="is completed"):
        await hand.engine.signal(id_, "go", actor="ann")


async def test_the_name_of_a_signal_may_be_a_template(hand):
    source = "name: w\ninput: {n: {}}\nworkflow: [{step: s, type: wait, signal: 'order-{{ input.n }}'}]\n"
    id_ = await begun(hand, source, input={"n": 7})
    assert (await hand.engine.signal(id_, "order-7", actor="ann")).delivered_to.step == "s"


async def test_each_item_of_a_fan_out_takes_a_signal_of_its_own(hand):
    source = """
name: w
workflow:
  - {step: s, type: wait, signal: "order-{{ item }}", for_each: [a, b, c], parallelism: 2}
"""
    id_ = await begun(hand, source)
    assert (await hand.engine.signal(id_, "order-c", data="C", actor="ann")).delivered_to is None
    told = await hand.engine.signal(id_, "order-b", data="B", actor="ann")
    assert told.delivered_to == Delivery(step="s", item=1)
    await hand.settle_down()  # the third has a place now, and its signal is there
    await hand.engine.signal(id_, "order-a", data="A", actor="ann")
    assert (await hand.get(id_))["result"] == {"s": ["A", "B", "C"]}


async def test_a_wait_that_comes_to_its_deadline_is_a_timeout_and_waits_again_where_the_policy_says_so(hand):
    id_ = await begun(hand, WITH_DEADLINE)
    await hand.wait(59)
    assert (await step_of(hand, id_))["status"] == "running"
    await hand.wait(1)
    [error] = await hand.data_of(id_, "action_error")
    assert (error["failure"]["class"], error["failure"]["reason"]) == ("timeout", "wait_deadline")
    assert error["failure"]["message"] == "the signal `go` did not come by the deadline"
    assert (await hand.engine.signal(id_, "go", data="kept", actor="ann")).delivered_to is None
    await hand.wait(10)
    assert (await hand.get(id_))["result"] == {"s": "kept"}
    step = await step_of(hand, id_)
    assert (step["attempt"], step["counted"]) == (2, 2)


async def test_a_wait_whose_deadlines_are_used_up_fails(hand):
    id_ = await begun(hand, WITH_DEADLINE)
    for seconds in (60, 10, 60):
        await hand.wait(seconds)
    failure = (await hand.get(id_))["failure"]
    assert (failure["class"], failure["reason"]) == ("timeout", "wait_deadline")
    assert (await hand.types(id_))[-3:] == EXHAUSTED


async def test_waits_and_early_signals_outlive_the_server(hand):
    id_ = await begun(hand, TWO_WAITS)
    await hand.engine.signal(id_, "other", data="not this", actor="ann")
    second = await hand.restarted()
    await second.settle_down()
    assert (await step_of(second, id_, "a"))["attempt"] == 1
    await second.engine.signal(id_, "go", data=1, actor="ann")
    await second.engine.signal(id_, "go", data=2, actor="ann")
    third = await hand.restarted()
    await third.settle_down()
    assert [(await step_of(third, id_, name))["result"] for name in "ab"] == [1, 2]
    assert await third.engine.recover() == []


async def test_a_gap_in_service_does_not_cost_a_wait_its_deadline(hand):
    """The signal could not be sent while there was no server."""
    id_ = await begun(hand, WITH_DEADLINE)
    await hand.clock.advance(120)
    later = await hand.restarted()
    await later.settle_down()
    assert (await step_of(later, id_))["status"] == "running"
    await later.engine.signal(id_, "go", actor="ann")
    assert await later.status(id_) == "completed"


async def test_cancel_ends_a_wait_and_pause_does_not_keep_a_signal_out(hand):
    id_ = await begun(hand, TWO_WAITS)
    await hand.engine.pause(id_, actor="ann")
    await hand.engine.signal(id_, "go", data=1, actor="ann")
    await hand.settle_down()
    execution = await hand.get(id_)
    assert [execution["steps"][name]["status"] for name in "ab"] == ["completed", "queued"]
    await hand.engine.resume(id_, actor="ann")
    await hand.settle_down()
    assert (await step_of(hand, id_, "b"))["status"] == "running"
    await hand.engine.cancel(id_, actor="ann")
    with pytest.raises(Conflict, match="is cancelled"):
        await hand.engine.signal(id_, "go", actor="ann")
    assert (await step_of(hand, id_, "b"))["status"] == "cancelled"
    assert await hand.sql("select from tenax.item") == []


# -- approvals


async def test_an_approval_lets_it_go_on(hand):
    id_ = await begun(hand, APPROVAL)
    await check_holds_no_slot(hand)
    assert (await step_of(hand, id_))["waiting"] == {"for": "approval"}
    told = await hand.engine.decide_approval(id_, "s", approved=True, actor="ann", reason="fine")
    assert told == ApprovalAnswer(id=id_, step="s", item=None, approved=True)
    assert (await hand.lease_one()).step == "next"
    step = await step_of(hand, id_)
    assert step["result"] == {"approved": True, "by": "ann", "reason": "fine"}
    [who] = await hand.data_of(id_, "operator_action")
    assert who == {"action": "approve", "actor": "ann", "reason": "fine"}


async def test_a_rejection_is_a_denial_that_is_not_retried(hand):
    id_ = await begun(hand, APPROVAL.replace("type: wait", "type: wait, retry: 3"))
    await hand.engine.decide_approval(id_, "s", approved=False, actor="ann", reason="too dear")
    execution = await hand.get(id_)
    assert execution["status"] == "failed"
    failure = execution["failure"]
    assert (failure["class"], failure["reason"]) == ("denied", "rejected")
    assert failure["message"] == "rejected by ann: too dear"
    assert execution["steps"]["next"]["status"] == "unreachable"


async def test_an_approval_has_a_deadline_too(hand):
    id_ = await begun(hand, APPROVAL.replace("type: wait", "type: wait, deadline: 1m"))
    await hand.wait(60)
    failure = (await hand.get(id_))["failure"]
    assert failure["message"] == "the approval did not come by the deadline"


async def test_who_approves_what_does_not_wait_for_it_hears_why(hand):
    async def approve(id_: int, step: str, item: int | None = None) -> Any:
        return await hand.engine.decide_approval(id_, step, approved=True, item=item, actor="ann")

    with pytest.raises(NotFound, match="no execution 99"):
        await approve(99, "s")
    id_ = await hand.submit(APPROVAL)
    with pytest.raises(Conflict, match="step s does not wait for approval now"):
        await approve(id_, "s")
    with pytest.raises(NotFound, match=r"no step 'nxt'.*next"):
        await approve(id_, "nxt")
    with pytest.raises(Conflict, match="step next is python"):
        await approve(id_, "next")
    waits = await begun(hand, SIGNAL)
    with pytest.raises(Conflict, match="waits for a signal, not for approval") as refused:
        await approve(waits, "s")
    assert refused.value.remedy == f"tenax signal {waits} go"
    await hand.settle_down()
    await approve(id_, "s")
    with pytest.raises(Conflict, match="does not wait for approval now"):
        await approve(id_, "s")


async def test_of_several_items_the_one_must_be_named(hand):
    id_ = await begun(hand, MANY_APPROVALS)
    with pytest.raises(Conflict, match="3 items of step s wait for approval: 0, 1, 2") as refused:
        await hand.engine.decide_approval(id_, "s", approved=True, actor="ann")
    assert refused.value.remedy == "name one with `--item`"
    with pytest.raises(Conflict, match="item 7 of step s does not wait"):
        await hand.engine.decide_approval(id_, "s", approved=True, item=7, actor="ann")
    for item in (1, 0):
        told = await hand.engine.decide_approval(id_, "s", approved=True, item=item, actor="ann")
        assert told.item == item
    told = await hand.engine.decide_approval(id_, "s", approved=True, actor="bob")
    assert told.item == 2, "the only one left needs no name"
    assert [one["by"] for one in (await hand.get(id_))["result"]["s"]] == ["ann", "ann", "bob"]


@pytest.mark.parametrize("name", [None, "", [1], {"a": 1}, True, 1.5])
async def test_a_signal_whose_name_is_none_fails_the_step_and_asks_for_no_approval(hand, name):
    source = "name: p\ninput: {n: {}}\nworkflow: [{step: w, type: wait, signal: '{{ input.n }}'}]\n"
    id_ = await begun(hand, source, input={"n": name})
    failure = (await hand.get(id_))["failure"]
    assert (failure["class"], failure["reason"]) == ("invalid", "template_error")
    assert "`signal` of step w: it must give the name of a signal" in failure["message"]
    with pytest.raises(Conflict):
        await hand.engine.decide_approval(id_, "w", approved=True, actor="ann")
