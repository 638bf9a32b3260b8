"""Lists of executions by filters: each field selects what it says, alone, negated and together with others."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.hand import Hand

from tenax.errors import NotFound, UsageError
from tenax.model.filters.fields import FIELDS
from tenax.model.filters.parse import parse_filter
from tenax.store.selection import conditions

SYNC = """
name: sync-a
input: {customer: {type: integer, default: 0}, of: {type: object, default: {}}}
workflow:
  - step: charge
    type: python
    task: "t:t"
    queue: slow
    labels: {gpu: a100}
    retry: {max_attempts: 2, initial_delay: 60, jitter: 0}
"""
OTHER = """
name: other_workflow
workflow:
  - {step: only, type: python, task: "t:t", retry: 1}
"""
PARENT = """
name: parent
workflow:
  - {step: child, type: workflow, workflow: other_workflow}
"""


async def found(hand: Hand, text: str, **more: object) -> list[int]:
    return [one.id for one in await hand.engine.list(parse_filter(text), **more)]


async def stage(hand: Hand) -> dict[str, int]:
    """Executions in many states: retrying, failed, completed, running on a worker, cancelled, a parent and its child."""
    ids: dict[str, int] = {}
    ids["retrying"] = await hand.submit(
        SYNC, key="night-1", input={"customer": 42, "of": {"a.b": ["x", "y"]}}
    )
    [first] = await hand.lease(queues=("slow",), labels={"gpu": "a100"})
    await hand.fail(first, message="Connection REFUSED by 10%_host", status_code=503)
    ids["failed"] = await hand.submit(OTHER, key="night-2")
    await hand.fail(await hand.lease_one(), message="no such customer", status_code=404)
    ids["completed"] = await hand.submit(OTHER, key="day-1")
    await hand.succeed(await hand.lease_one())
    await hand.clock.advance(3600)
    ids["running"] = await hand.submit(SYNC, input={"customer": 7})
    await hand.lease("blue-1", 1, queues=("slow",), labels={"gpu": "a100"})
    await hand.lease("blue-2", 1, queues=("slow",), labels={"gpu": "a100"})
    ids["cancelled"] = await hand.submit(OTHER)
    await hand.engine.cancel(ids["cancelled"], actor="ann")
    await hand.engine.store_workflow(OTHER)
    ids["parent"] = await hand.submit(PARENT)
    await hand.settle_down()
    [ids["child"]] = [
        row["id"] for row in await hand.sql("select id from tenax.execution where parent_id is not null")
    ]
    return ids


SELECTED = [
    ("", "retrying failed completed running cancelled parent child"),
    ("status=failed", "failed"),
    ("status=failed,cancelled", "failed cancelled"),
    ("status!=running", "failed completed cancelled"),
    ("workflow=sync-*", "retrying running"),
    ("workflow=other_*", "failed completed cancelled child"),
    ("workflow=other", ""),
    ("-workflow=sync-a,other_workflow", "parent"),
    ("step=charge", "retrying running"),
    ("step=only status=failed", "failed"),
    ("step=on* -status=running", "failed"),
    ("class=transient", "retrying"),
    ("class!=transient status=running", "running parent child"),
    ("class=perm*,logical,invalid,not_found,client", "failed"),
    ("reason=http_503", "retrying"),
    ("reason=http_4*", "failed"),
    ("reason=http_*", "retrying failed"),
    ("reason=http_50", ""),
    ("queue=slow", "retrying running"),
    ("queue!=slow status=running", "parent child"),
    ("worker=blue-1", "running"),
    ("worker=blue-*", "retrying running"),
    ("label=gpu", "retrying running"),
    ("label=gpu:a100", "retrying running"),
    ("label=gpu:b", ""),
    ("label=gpu:a*", "retrying running"),
    ("key=night-*", "retrying failed"),
    ("key=night-1,day-1", "retrying completed"),
    ('key="night-*"', ""),
    ("key=*", "retrying failed completed child"),
    ("key!=*", "running cancelled parent"),
    ("since=30m", "running cancelled parent child"),
    ("until=30m", "retrying failed completed"),
    ('text="connection refused"', "retrying"),
    ('text="10%_host"', "retrying"),
    ('text="10__host"', ""),
    ("text=CUSTOMER", "failed"),
    ("input.customer=42", "retrying"),
    ("input.customer!=42 workflow=sync-a", "running"),
    ("input.customer=4*", "retrying"),
    ('input.of."a.b".1=y', "retrying"),
    ("input.customer=*", "retrying running"),
    ("parent=none workflow=other*", "failed completed cancelled"),
    ("parent!=none", "child"),
    ("compensation=running", ""),
    ("status=running workflow=sync-a input.customer=7 queue=slow worker=blue-1 since=1h", "running"),
]  # fmt: skip


async def test_each_field_selects_what_it_says(hand):
    ids = await stage(hand)
    for text, names in SELECTED:
        assert await found(hand, text) == sorted((ids[name] for name in names.split()), reverse=True), text
    assert await found(hand, f"parent={ids['parent']}") == [ids["child"]]
    assert {getattr(term, "field", None) for text, _ in SELECTED for term in parse_filter(text).terms} == set(
        FIELDS
    )


async def test_pages_and_short_forms_go_together_with_a_filter(hand):
    ids = await stage(hand)
    assert await found(hand, "workflow=other*", states=["failed", "completed"]) == [
        ids["completed"],
        ids["failed"],
    ]
    assert await found(hand, "workflow=other*", before=ids["completed"]) == [ids["failed"]]
    assert await found(hand, "workflow=other*", limit=1, top=True) == [ids["cancelled"]]


async def test_text_of_a_user_is_never_a_part_of_the_statement(hand):
    await stage(hand)
    for hostile in ("'; drop table tenax.item; --", "$1", ":exact", "{a,b}", "\\", "%", "_"):
        for field in (
            "workflow",
            "step",
            "class",
            "reason",
            "queue",
            "worker",
            "label",
            "key",
            "text",
            "input.a",
        ):
            quoted = hostile.replace("\\", "\\\\")
            assert await found(hand, f'{field}="{quoted}"') in ([], await found(hand, "text=%")), (
                field,
                hostile,
            )
    assert len(await found(hand, "")) == 7


async def test_saved_filters(hand):
    ids = await stage(hand)
    saved = await hand.engine.filters.save("night", "key=night-*", actor="ann")
    assert (saved.name, saved.created) == ("night", True)
    assert await found(hand, "@night status=failed") == [ids["failed"]]
    again = await hand.engine.filters.save("night", " key=day-* ", actor="bob")
    assert (again.filter, again.created) == ("key=day-*", False)
    assert await found(hand, "@night") == [ids["completed"]]
    [listed] = await hand.engine.filters.list()
    assert (listed.name, listed.filter, listed.actor) == ("night", "key=day-*", "bob")
    with pytest.raises(NotFound, match="did you mean `night`"):
        await hand.engine.filters.remove("nigth", actor="ann")
    assert (await hand.engine.filters.remove("night", actor="ann")).removed
    with pytest.raises(NotFound, match="no filter is saved under the name 'night'"):
        await found(hand, "@night")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("", "status=failed", "'' cannot be the name of a filter"),
        ("a b", "status=failed", "'a b' cannot be"),
        ("a", " ", "the filter is empty"),
        ("a", "@b", "cannot refer to another one"),
        ("a", "statu=failed", "there is no field `statu`"),
    ],
)
async def test_what_cannot_be_saved(hand, name, text, said):
    with pytest.raises(UsageError, match=said):
        await hand.engine.filters.save(name, text, actor="ann")
    assert await hand.engine.filters.list() == []


async def test_a_filter_that_takes_too_long_says_what_to_narrow(hand):
    async with hand.engine.context.transaction() as tx:
        with pytest.raises(UsageError, match=r"the filter took longer than 0\.05 s") as caught:
            async with conditions.limited_in_time(tx, 0.05):
                await tx.execute("select pg_sleep(5)")
    assert "narrow it by `since`" in (caught.value.remedy or "")


async def test_a_list_says_when_a_retry_is_due_and_how_far_a_fan_out_is(hand):
    ids = await stage(hand)
    fan = await hand.submit(
        "name: fan\nworkflow:\n  - {step: each, type: python, task: 't:t', for_each: [1, 2, 3], retry: 2}"
    )
    leased = await hand.lease()
    await hand.succeed(next(a for a in leased if a.execution_id == fan))
    rows = {one.id: one for one in await hand.engine.list()}
    waiting = rows[fan].waiting
    assert waiting is not None
    assert (waiting.step, waiting.due_in) == ("each", None)
    assert waiting.fan_out is not None
    assert (waiting.fan_out.total, waiting.fan_out.ended, waiting.fan_out.failed) == (3, 1, 0)
    await hand.sql("update tenax.item set state = 'retrying', lease_token = null, worker = null, available_at = tenax.now() + $1 "
                   "where execution_id = $2", timedelta(seconds=90), ids["running"])  # fmt: skip
    rows = {one.id: one for one in await hand.engine.list()}
    retrying = rows[ids["running"]].waiting
    assert retrying is not None
    assert (retrying.due_in, retrying.fan_out) == (90.0, None)
