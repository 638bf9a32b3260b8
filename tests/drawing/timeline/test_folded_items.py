"""The items of fan-outs are described from events."""

from support.drawings.executions import at

from tenax.drawing.timeline.folded_items import MAX_ITEMS_SHOWN, fan_outs_of
from tenax.model.execution_views import Event


def event(kind, item=None, attempt=None, **data):
    return Event(id=1, seq=1, type=kind, at=at(1), step="fan", item=item, attempt=attempt, data=data)


def fan_out(total, *failed, succeeded=()):
    found = [event("step_enqueued", items=total, parallelism=5)]
    for item in (*failed, *succeeded):
        found.append(event("action_started", item, 1))
        end = event("item_failed", item, 1) if item in failed else event("item_completed", item)
        found.append(end)
    return fan_outs_of(found)["fan"]


def test_a_small_fan_out_has_a_row_for_each_item_that_began():
    found = fan_out(5, 3, succeeded=[0])
    assert [(number, item.status) for number, item in found.items.items()] == [
        (0, "succeeded"),
        (3, "failed"),
    ]
    assert [cell.worst for cell in found.cells] == ["succeeded", "waiting", "waiting", "failed", "waiting"]


def test_a_large_one_has_rows_for_items_in_trouble():
    found = fan_out(10_000, *range(100, 150), succeeded=range(50))
    assert list(found.items) == list(range(100, 100 + MAX_ITEMS_SHOWN))
    assert [cell.worst for cell in found.cells[:4]] == ["succeeded", "waiting", "failed", "waiting"]


def test_steps_without_items_are_left_out():
    assert fan_outs_of([event("step_enqueued")]) == {}
