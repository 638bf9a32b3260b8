from __future__ import annotations

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.drawing.colours import COLOURS, UNKNOWN
from tenax.drawing.graph import draw_mermaid, draw_text, drawing_of
from tenax.drawing.svg import draw_svg
from tenax.model.definition.workflow import OnFailure, Step, Workflow

SVG = "{http://www.w3.org/2000/svg}"
DIAMOND = {"join": ["left", "right"], "left": ["top"], "right": ["top"], "top": [], "alone": []}


def workflow(needs: dict[str, list[str]], name: str = "w") -> Workflow:
    return Workflow(name, tuple(Step(step, "python", {}, tuple(of)) for step, of in needs.items()))


def state(status: str, attempt: int = 0, counted: int = 0, limit: int | None = 3) -> dict[str, Any]:
    return {"status": status, "attempt": attempt, "counted": counted, "max_attempts": limit}


def boxes(svg: str) -> dict[str, ET.Element]:
    """The group of each step, by the name in its title."""
    groups = ET.fromstring(svg).findall(f"{SVG}g")
    return {g.findtext(f"{SVG}title") or "": g for g in groups if g.find(f"{SVG}rect") is not None}


def frame(group: ET.Element) -> tuple[float, float, float, float]:
    """Left, top, right and bottom."""
    rect = group.find(f"{SVG}rect")
    assert rect is not None
    x, y, width, height = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def test_text_is_layer_by_layer_in_the_order_of_the_file():
    assert draw_text(drawing_of(workflow(DIAMOND), goals=["join"])) == (
        "w\n"
        "1  top    python\n"
        "   alone  python\n"
        "2  left   python        after top\n"
        "   right  python        after top\n"
        "3  join   python, goal  after left, right\n"
    )


def test_a_step_stands_behind_the_longest_way_to_it():
    drawing = drawing_of(workflow({"a": [], "b": ["a"], "c": ["b"], "d": ["a", "c"], "e": ["a"]}))
    assert {name: node.layer for name, node in drawing.nodes.items()} == {
        "a": 0,
        "b": 1,
        "c": 2,
        "d": 3,
        "e": 1,
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (state("pending"), "python, pending"),
        (state("running", 1, 0), "python, running, attempt 1 of 3"),
        (state("retrying", 2, 2), "python, retrying, attempt 2 of 3"),
        (state("retrying", 4, 2), "python, retrying, attempt 4 (counted: 2 of 3)"),
        (state("failed", 3, 3), "python, failed, attempt 3 of 3"),
        (state("completed", 7, 7, None), "python, completed, attempt 7"),
    ],
)
def test_states_and_attempts(given, words):
    drawing = drawing_of(workflow({"a": []}), states={"a": given}, title="w, execution 5")
    assert draw_text(drawing) == f"w, execution 5\n1  a  {words}\n"
    assert f'"a<br/>{words}"' in draw_mermaid(drawing)
    assert [text.text for text in boxes(draw_svg(drawing))["a"].findall(f"{SVG}text")] == ["a", words]


def test_mermaid():
    states = {"a": state("completed", 1, 1), "end": state("completed", 2, 2), "c": state("pending")}
    drawing = drawing_of(workflow({"a": [], "end": ["a"], "c": ["a", "end"]}), goals=["c"], states=states)
    assert draw_mermaid(drawing) == (
        '---\ntitle: "w"\n---\n'
        "flowchart LR\n"
        '  s0["a<br/>python, completed, attempt 1 of 3"]\n'
        '  s1["end<br/>python, completed, attempt 2 of 3"]\n'
        '  s2(["c<br/>python, pending, goal"])\n'
        "  s0 --> s1\n"
        "  s0 --> s2\n"
        "  s1 --> s2\n"
        "  classDef completed fill:#dafbe1,stroke:#1a7f37,color:#1f2328\n"
        "  class s0,s1 completed\n"
        "  classDef pending fill:#f6f8fa,stroke:#8c959f,color:#1f2328\n"
        "  class s2 pending\n"
    )


FALLBACK = Workflow(
    "w",
    (
        Step(
            "pay",
            "http",
            {"async": {"deadline": 5.0}},
            for_each=[1],
            on_failure=OnFailure("step", step="bill"),
        ),
        Step("bill", "python", {"task": "t"}, ("pay", "other")),
        Step("other", "python", {"task": "t"}, on_failure=OnFailure("continue")),
        Step(
            "ship", "workflow", {"workflow": "shipping"}, ("pay", "bill"), compensate=Step("ship", "http", {})
        ),
    ),
)


def test_a_fallback_is_told_from_what_only_waits():
    drawing = drawing_of(FALLBACK)
    assert draw_text(drawing) == (
        "w\n"
        "1  pay    http, async, \N{MULTIPLICATION SIGN} for_each\n"
        "   other  python, on failure: continue\n"
        "2  bill   python                                  after pay (on failure), other\n"
        "3  ship   workflow shipping, compensated by http  after pay, bill\n"
    )
    assert [line.strip() for line in draw_mermaid(drawing).splitlines() if "->" in line] == [
        "s0 -.->|on failure| s1",
        "s2 --> s1",
        "s0 --> s3",
        "s1 --> s3",
    ]
    svg = draw_svg(drawing)
    assert svg.count("stroke-dasharray") == svg.count(">on failure</text>") == 1
    assert svg.count("marker-end") == 4
    assert "&#215; for_each" in svg


@pytest.mark.parametrize(
    ("kind", "spec", "words"),
    [
        ("sleep", {"for": 90.0}, "sleep 1m 30s"),
        ("sleep", {"for": "{{ input.x }}"}, "sleep"),
        ("sleep", {"at": "2030-01-31T06:00:00Z"}, "sleep until 2030-01-31T06:00:00Z"),
        ("wait", {"signal": "paid", "deadline": None}, "wait for signal paid"),
        ("wait", {"signal": None, "deadline": 5.0}, "wait for approval"),
        ("wait", {}, "wait"),
        ("workflow", {"workflow": "child@2", "input": {}}, "workflow child@2"),
        ("workflow", {"file": "parts/" + "x" * 100, "input": {}}, "workflow parts/" + "x" * 24 + "..."),
    ],
)
def test_the_type_in_words(kind, spec, words):
    assert draw_text(drawing_of(Workflow("w", (Step("a", kind, spec),)))) == f"w\n1  a  {words}\n"


COUNTS = {"total": 10, "waiting": 0, "running": 2, "succeeded": 7, "failed": 1}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"goal": True}, "python, running, goal"),
        (
            {"for_each": True, "items": COUNTS},
            "python, TIMES 10 items (2 running, 7 succeeded, 1 failed), running",
        ),
        ({"for_each": True, "items": {"total": 0}}, "python, TIMES 0 items, running"),
        ({"for_each": True, "items": None}, "python, TIMES for_each, running"),
        ({"children": [{"id": 7, "status": "failed"}]}, "python, running, child 7 failed"),
        (
            {"children": [{"id": 7, "status": "failed"}, {"id": 8, "status": "running"}]},
            "python, running, 2 children",
        ),
        ({"compensation": {"status": "failed"}}, "python, running, compensation failed"),
        (
            {"goal": False, "for_each": False, "items": None, "children": [], "compensation": None},
            "python, running",
        ),
    ],
)
def test_what_an_execution_tells_of_its_steps(more, words):
    drawing = drawing_of(workflow({"a": []}), states={"a": {**state("running"), **more}})
    assert draw_text(drawing) == f"w\n1  a  {words}\n".replace("TIMES", "\N{MULTIPLICATION SIGN}")


@pytest.mark.parametrize(
    "name", ['"]; x["', "<b>&amp;</b>", "`md`", "#quot;", "a\nb", "a\x00b\x1b[2J", "größe", "\ud800"]
)
def test_names_are_only_names(name):
    drawing = drawing_of(workflow({name: [], "next": [name]}, name=name))
    shown = re.sub(r"[\n\x00\x1b\ud800]", "\ufffd", name)
    text = draw_text(drawing).splitlines()
    assert (text[0], len(text)) == (shown, 3)
    label = draw_mermaid(drawing).splitlines()[4]
    inner = label.removeprefix('  s0["').removesuffix('<br/>python"]')
    assert not set('"<>&`[]') & set(inner)
    assert re.sub(r"#(\d+);", lambda found: chr(int(found[1])), inner) == shown
    svg = draw_svg(drawing)
    assert svg.isascii()
    assert set(boxes(svg)) == {shown, "next"}


@pytest.mark.parametrize("status", [*COLOURS, "something new"])
def test_a_colour_for_each_status(status):
    svg = draw_svg(drawing_of(workflow({"a": []}), states={"a": state(status)}))
    rect = boxes(svg)["a"].find(f"{SVG}rect")
    expected = COLOURS.get(status, UNKNOWN)
    assert rect is not None
    assert (rect.attrib["fill"], rect.attrib["stroke"]) == (expected.fill, expected.stroke)


def test_an_arrow_over_a_layer_does_not_run_behind_the_box_between():
    svg = draw_svg(drawing_of(workflow({"a": [], "b": ["a"], "c": ["a", "b"]})))
    _, top, _, bottom = frame(boxes(svg)["b"])
    [trunk] = re.findall(r'<path d="M\d+ \d+ C\d+ \d+ \d+ \d+ \d+ (\d+) H\d+"/>', svg)
    assert not top <= int(trunk) <= bottom


def test_a_long_name_is_cut_but_told():
    name = "n" * 100
    group = boxes(draw_svg(drawing_of(workflow({name: []}))))[name]
    text = group.findtext(f"{SVG}text") or ""
    assert (len(text), text[-3:]) == (40, "...")


graphs = st.integers(1, 12).flatmap(
    lambda size: st.tuples(
        *(st.sets(st.integers(0, index - 1)) if index else st.just(set()) for index in range(size))
    )
)


@given(graphs)
def test_boxes_do_not_overlap_and_arrows_point_to_the_right(edges):
    needs = {f"s{index}": [f"s{need}" for need in sorted(of)] for index, of in enumerate(edges)}
    drawing = drawing_of(workflow(needs))
    svg = draw_svg(drawing)
    assert svg == draw_svg(drawing_of(workflow(needs)))
    root, found = ET.fromstring(svg), boxes(svg)
    assert list(found) == list(needs)
    assert svg.count("marker-end") == sum(len(of) for of in needs.values())
    frames = {name: frame(group) for name, group in found.items()}
    for name, (left, top, right, bottom) in frames.items():
        assert all(frames[need][2] < left for need in needs[name])
        assert left >= 0 <= top
        assert right <= float(root.attrib["width"])
        assert bottom <= float(root.attrib["height"])
    columns: dict[float, list[tuple[float, float]]] = {}
    for left, top, _, bottom in frames.values():
        columns.setdefault(left, []).append((top, bottom))
    for column in columns.values():
        assert all(above[1] < below[0] for above, below in pairwise(sorted(column)))


SHAPES = {
    "chain": lambda i: [i - 1] if i else [],
    "star": lambda i: [0] if i else [],
    "all lean on the first": lambda i: sorted({0, i - 1}) if i else [],
    "far leaps": lambda i: sorted({i // 2, i - 1}) if i else [],
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_ten_thousand_steps_are_drawn_in_proportion(shape):
    sizes = []
    for count in (2_500, 10_000):
        needs = {f"s{index:05}": [f"s{need:05}" for need in shape(index)] for index in range(count)}
        drawing = drawing_of(workflow(needs))
        sizes.append([len(draw(drawing)) for draw in (draw_text, draw_mermaid, draw_svg)])
    assert all(large < 5 * small for small, large in zip(*sizes, strict=True))


def test_the_first_needs_the_last_of_ten_thousand():
    count = 10_000
    needs = {"sum": [f"s{i}" for i in range(count)], **{f"s{i}": [] for i in range(count)}}
    assert draw_svg(drawing_of(workflow(needs))).count("marker-end") == count
