"""The buffer of an attempt's output: whole lines, in their place, within its limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenax.worker.live.output import BLOCK, PART_BYTES, OutputBuffer


def taken(buffer: OutputBuffer) -> list[tuple[int, str]]:
    parts = []
    while (part := buffer.take()) is not None:
        assert buffer.take() == part
        parts.append(part)
        buffer.note_sent()
    return parts


def plain(text: str) -> str:
    return text


def test_the_streams_do_not_mix_within_a_line():
    buffer = OutputBuffer(10_000, plain)
    buffer.write("out", 1)
    buffer.write("err\n", 2)
    buffer.write("put\n", 1)
    assert taken(buffer) == [(0, "err\noutput\n")]


def test_of_too_much_the_middle_is_cut_and_the_places_tell_how_much():
    buffer = OutputBuffer(80_000, plain)
    for n in range(100_000):
        buffer.write(f"line {n:06}\n")
    assert buffer.waiting <= 80_000
    parts = taken(buffer)
    assert parts[0][0] == 0
    assert parts[0][1].startswith("line 000000\n")
    assert parts[-1][1].endswith("line 099999\n")
    assert parts[-1][0] + len(parts[-1][1]) == 100_000 * 12
    assert sum(len(text) for _, text in parts) >= 20_000


def test_one_enormous_text_is_cut_too():
    buffer = OutputBuffer(40_000, plain)
    buffer.write("a" * 1_000_000 + "é" * 1_000_000 + "\n")
    assert buffer.waiting <= 40_000
    parts = taken(buffer)
    assert parts[0][1].startswith("aaa")
    assert parts[-1][1].endswith("é\n")
    assert parts[-1][0] + len(parts[-1][1].encode()) == 3_000_001


@given(
    st.lists(
        st.tuples(st.text(st.characters(codec="utf-8"), max_size=3 * BLOCK), st.sampled_from([1, 2])),
        max_size=20,
    ),
    st.integers(1, 20),
)
def test_nothing_is_lost_or_doubled_within_the_limit(texts, often):
    buffer = OutputBuffer(50_000_000, plain)
    parts: list[tuple[int, str]] = []
    for n, (text, stream) in enumerate(texts):
        buffer.write(text, stream)
        if n % often == 0:
            parts += taken(buffer)
    buffer.finish()
    parts += taken(buffer)
    place = 0
    for start, text in parts:
        assert start == place
        assert len(text.encode()) <= PART_BYTES
        place += len(text.encode())
    whole = "".join(text for _, text in parts)
    assert sorted(whole) == sorted("".join(text.replace("\0", "\ufffd") for text, _ in texts))
