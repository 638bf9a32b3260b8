"""The graph of a workflow in a page: classes for states, links for steps, and a summary of large graphs."""

import pytest
from support.drawings.markup import SVG, page, titles, with_class, words

from tenax.drawing.colours import COLOURS
from tenax.drawing.graph import drawing_of
from tenax.drawing.graph_summary import MAX_GROUPS, for_page
from tenax.drawing.svg import draw_graph, draw_svg
from tenax.model.definition.workflow import OnFailure, Step, Workflow


def workflow(needs, **more):
    return Workflow("w", tuple(Step(name, "http", {}, tuple(of), **more) for name, of in needs.items()))


def state(status):
    return {"status": status, "attempt": 1, "counted": 1, "max_attempts": 3}


@pytest.mark.parametrize("status", [*COLOURS, "something new"])
def test_a_class_for_each_status_and_a_link_for_each_step(status):
    drawing = drawing_of(workflow({"a": []}), goals=["a"], states={"a": state(status)})
    root = page(draw_graph(drawing, link=lambda target: f"#{target.step}"))
    [box] = with_class(root, "tx-step")
    known = status if status in COLOURS else "none"
    assert box.attrib["class"] == f"tx-step tx-step-{known} tx-step-goal tx-link"
    assert box.attrib["href"] == "#a"
    assert titles([box])[0].startswith(f"a: http, {status}")


def test_it_has_the_boxes_and_arrows_of_the_drawing_for_files():
    fallback = Workflow(
        "w",
        (
            Step("a", "http", {}, (), on_failure=OnFailure("step", step="b")),
            Step("b", "http", {}, ("a",)),
            Step("c", "http", {}, ("a", "b")),
        ),
    )
    drawing = drawing_of(fallback)
    root, svg = page(draw_graph(drawing)), draw_svg(drawing)
    paths = [path.attrib["d"] for path in with_class(root, "tx-edge")]
    assert len(paths) == 4
    assert all(f'd="{path}"' in svg for path in paths)
    assert len(with_class(root, "tx-edge-fallback")) == 1
    assert {"on failure", "a", "b", "c"} <= set(words(root))


def test_a_small_graph_is_drawn_whole():
    drawing = drawing_of(workflow({"a": [], "b": ["a"]}))
    assert for_page(drawing) is drawing


@pytest.mark.parametrize("shape", ["wide", "chain"])
def test_ten_thousand_steps_are_summarised_by_layer(shape):
    needs = {f"s{n}": [] if n == 0 else [f"s{n - 1 if shape == 'chain' else 0}"] for n in range(10_000)}
    states = {name: state("completed") for name in needs} | {"s9999": state("failed")}
    summary = for_page(drawing_of(workflow(needs), states=states))
    assert sum(node.steps for node in summary.nodes.values()) == 10_000
    assert len(summary.nodes) <= MAX_GROUPS
    *_, last = summary.nodes.values()
    assert (last.status, last.details[1]) == ("failed", "1 failed")
    root = page(draw_graph(summary, link=lambda _: "#"))
    assert len(with_class(root, "tx-edge")) == len(summary.nodes) - 1
    assert sum(box.tag == f"{SVG}a" for box in with_class(root, "tx-step")) == sum(
        n.steps == 1 for n in summary.nodes.values()
    )
