"""The timeline of an execution as SVG."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawings.executions import attempt, counts, execution, operator, step
from support.drawings.markup import SVG, checked, frame, page, titles, with_class, words

from tenax.drawing.figures.heat_strip import heat_cells
from tenax.drawing.timeline.execution_rows import DrawnFanOut, timeline_of
from tenax.drawing.timeline.timeline_svg import draw_timeline

HOSTILE = "<script>alert(1)</script>&\"'\x00\u202e]]>"
FLAKY = {
    "fetch": step(
        attempt(1, 0.5, 1, failure="transient:http_429", again=3),
        attempt(2, 3.5, 5, failure="worker_lost", outcome="lost", again=9),
        attempt(3, 9, 12),
    ),
    "load": step(attempt(1, 12, 15, failure="timeout", again=40), enqueued=12, status="retrying", due=40),
}


def address(target):
    return f"#{target.step}-{target.item}-{target.attempt}-{target.seq}"


def drawn(steps, *, now=20.0, link=address, **more):
    timeline = timeline_of(execution(steps, now=now), **more)
    svg = draw_timeline(timeline, link=link)
    assert svg == draw_timeline(timeline, link=link)
    return page(svg)


def test_one_bar_for_each_attempt_each_a_link():
    root = drawn(FLAKY)
    bars = with_class(root, "tx-attempt")
    links = [bar for bar in bars if bar.tag == f"{SVG}a"]  # the legend has bars too
    assert [bar.attrib["href"] for bar in links] == [f"#fetch-None-{n}-None" for n in (1, 2, 3)] + [
        "#load-None-1-None"
    ]
    assert [bar.attrib["class"].split()[2] for bar in links] == [
        "tx-transient",
        "tx-worker_lost",
        "tx-success",
        "tx-timeout",
    ]
    assert titles(links)[0] == "attempt 1: transient (http_429), 500ms on worker-1: it was transient:http_429"
    assert [title.split(",")[0] for title in titles(with_class(root, "tx-backoff")) if title] == [
        "backoff after attempt 1", "backoff after attempt 2", "backoff after attempt 1",
    ]  # fmt: skip
    assert {"next retry", "now", "worker lost", "backoff", "in the queue"} <= set(words(root))


def test_without_addresses_there_are_no_links():
    assert "href" not in draw_timeline(timeline_of(execution(FLAKY, now=20.0)))


def test_a_file_has_the_styles_inside():
    root = checked(draw_timeline(timeline_of(execution(FLAKY, now=20.0)), standalone=True))
    assert root.find(f"{SVG}style") is not None
    assert with_class(root, "tx-paper")


def test_operators_actions_lead_to_their_events():
    root = drawn(FLAKY, events=[operator(5.5, "retry_now", "fetch", seq=31)])
    [mark] = [part for part in with_class(root, "tx-mark") if part.tag == f"{SVG}a"]
    assert (mark.attrib["href"], titles([mark])) == (
        "#fetch-None-None-31",
        ["ada: retry_now of fetch (the service is back)"],
    )


def test_a_long_gap_is_a_break_with_its_length():
    hour = 3600.0
    steps = {
        "a": step(attempt(1, 0, 4), attempt(2, 12 * hour, 12 * hour + 9)),
        "b": step(attempt(1, 4, 6), enqueued=4),
    }
    root = drawn(steps, now=12 * hour + 9)
    assert len(with_class(root, "tx-break")) == 1
    assert "11h 59m" in words(root)


@pytest.mark.parametrize("count", [10_000, 1_000_000])
def test_large_fan_outs_are_strips(count):
    states = [(n, "succeeded") for n in range(0, count, max(1, count // 10_000))] + [(count - 1, "failed")]
    cells = heat_cells(count, states)
    root = drawn({"fan": step(items=counts(succeeded=count))}, fan_outs={"fan": DrawnFanOut(cells)})
    found = [cell for cell in with_class(root, "tx-cell") if cell.tag == f"{SVG}a"]
    assert len(found) == 200
    assert "tx-is-failed" in found[-1].attrib["class"]
    assert (
        len(draw_timeline(timeline_of(execution({"fan": step(items=counts(succeeded=count))}, now=1))))
        < 10_000
    )


def test_without_ranges_a_fan_out_is_drawn_by_its_counts():
    root = drawn({"fan": step(items=counts(succeeded=9_990, failed=8, running=2))})
    assert titles(with_class(root, "tx-part")) == ["9,990 succeeded", "2 running", "8 failed"]


def test_a_huge_execution_is_bounded():
    steps = {
        f"s{n}": step(
            *(attempt(k, k * 10, k * 10 + 1, failure="timeout", again=k * 10 + 5) for k in range(1, 101))
        )
        for n in range(300)
    }
    root = drawn(steps, now=2000.0)
    assert len(with_class(root, "tx-row")) == 200
    assert "100 more steps: 100 completed" in words(root)
    assert len(with_class(root, "tx-bar")) <= 200 * 3 * 6


def test_five_thousand_attempts_are_bounded():
    steps = {"poll": step(*(attempt(n, n * 10, n * 10 + 1, outcome="polled") for n in range(1, 5001)))}
    svg = draw_timeline(timeline_of(execution(steps, now=60_000)))
    page(svg)
    assert len(svg) < 40_000
    assert "+ 4,961 attempts" in words(page(svg))


def test_hostile_names_are_only_text():
    failed = attempt(1, 1, 2, failure=f"{HOSTILE}:{HOSTILE}", waiting={"for": HOSTILE})
    root = drawn(
        {HOSTILE: step(failed, status=HOSTILE), "n" * 5000: step(attempt(1, 1, None, outcome=HOSTILE))}
    )
    assert any("<script>" in title for title in titles(with_class(root, "tx-row")))
    assert all(len(text or "") < 200 for text in words(root))


@st.composite
def executions(draw):
    steps = {}
    for name in range(draw(st.integers(1, 4))):
        moment, found = draw(st.floats(0, 50)), []
        for number in range(1, draw(st.integers(0, 60)) + 1):
            start = moment + draw(st.sampled_from([0.0, 0.001, 1.0, 30.0]))
            end = start + draw(st.sampled_from([0.0, 0.01, 3.0, 400.0]))
            again = end + draw(st.sampled_from([0.0, 0.5, 60.0, 50_000.0]))
            class_ = draw(st.sampled_from(["transient", "timeout", "worker_lost", "logical"]))
            found.append(attempt(number, start, end, failure=class_, again=again))
            moment = again
        status = draw(st.sampled_from(["completed", "retrying", "held", "queued", "failed"]))
        steps[f"s{name}"] = step(*found, status=status, due=moment)
    return steps


@given(executions(), st.sampled_from([360.0, 960.0, 1600.0]))
def test_bars_do_not_overlap_and_lie_on_the_axis(steps, width):
    timeline = timeline_of(execution(steps, now=10_000.0))
    root = page(draw_timeline(timeline, width=width))
    by_row = {}
    for bar in with_class(root, "tx-bar"):
        left, top, right, bottom = frame(bar.find(f"{SVG}rect"))
        assert 208 - 0.02 <= left < right <= width - 22 + 0.02
        by_row.setdefault((top + bottom) / 2, []).append((left, right))
    for row in by_row.values():
        assert all(one[1] <= other[0] + 0.02 for one, other in pairwise(row))
    shown = [bar for bar in with_class(root, "tx-bar") if "tx-attempt" in bar.attrib["class"].split()]
    assert len(shown) == sum(bool(bar.attempts) for row in timeline.rows for bar in row.bars)
