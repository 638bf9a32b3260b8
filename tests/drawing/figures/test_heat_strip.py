"""The items of a fan-out as a strip of cells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawings.markup import SVG, page, titles, with_class

from tenax.drawing.figures.heat_strip import MAX_CELLS, HeatCell, draw_heat_strip, heat_cells
from tenax.drawing.links import Target


def test_ten_thousand_items_are_two_hundred_cells_with_the_worst_state():
    states = [(n, "succeeded") for n in range(9_000)] + [(n, "running") for n in range(9_000, 9_050)]
    states[4711] = (4711, "failed")
    cells = heat_cells(10_000, states)
    assert (len(cells), cells[0]) == (200, HeatCell(0, 49, {"succeeded": 50}))
    assert cells[94] == HeatCell(4700, 4749, {"succeeded": 49, "failed": 1})
    assert [cells[place].worst for place in (0, 94, 180, 181)] == [
        "succeeded",
        "failed",
        "running",
        "waiting",
    ]


@given(st.integers(0, 3000), st.data())
def test_every_item_is_counted_once(total, data):
    numbers = data.draw(st.sets(st.integers(0, max(total - 1, 0)), max_size=20)) if total else set()
    cells = heat_cells(total, [(n, "failed") for n in numbers])
    assert len(cells) <= MAX_CELLS
    assert [n for cell in cells for n in range(cell.first, cell.last + 1)] == list(range(total))
    assert sum(sum(cell.counts.values()) for cell in cells) == total
    assert sum(cell.counts.get("failed", 0) for cell in cells) == len(numbers)
    assert all(sum(cell.counts.values()) == cell.last - cell.first + 1 for cell in cells)


def test_each_cell_leads_to_its_items_and_failures_have_a_tick():
    seen: list[Target] = []

    def link(target):
        seen.append(target)
        return f"?from={target.item}&to={target.last_item}"

    cells = heat_cells(400, [(n, "failed" if n == 7 else "succeeded") for n in range(400)])
    root = page(draw_heat_strip(cells, step="convert", link=link))
    found = with_class(root, "tx-cell")
    assert seen[3] == Target(step="convert", item=6, last_item=7)
    assert (found[3].attrib["href"], titles(found)[3]) == (
        "?from=6&to=7",
        "items 6 to 7: 1 failed, 1 succeeded",
    )
    assert [place for place, cell in enumerate(found) if len(cell.findall(f"{SVG}rect")) == 2] == [3]
    assert root.attrib["aria-label"] == "400 items: 1 failed, 399 succeeded"


@pytest.mark.parametrize("state", ["something new", "pending"])
def test_an_unknown_state_is_drawn(state):
    [cell] = with_class(page(draw_heat_strip([HeatCell(0, 0, {state: 1})])), "tx-cell")
    assert cell.attrib["class"] == "tx-cell tx-is-waiting"
