"""The words for how far something is."""

from __future__ import annotations

import pytest

from tenax.drawing.progress_words import OutputText, attempt_name, progress_words


@pytest.mark.parametrize(
    ("fraction", "left", "message", "words"),
    [
        (0.4, 30.2, "page 12 of 30", "########------------ 40 %, about 30s left: page 12 of 30"),
        (0.0, None, None, "-------------------- 0 %"),
        (1.0, 0.0, None, "#################### 100 %"),
        (None, None, "a\nline", "a line"),
        (0.5, 0.44, "", "##########---------- 50 %, about 400ms left"),
    ],
)
def test_words(fraction, left, message, words):
    assert progress_words({"fraction": fraction, "seconds_left": left, "message": message}) == words


def test_none_if_nothing_is_known():
    assert progress_words(None) == ""


def chunk(start: int, text: str, attempt: int = 1) -> dict[str, object]:
    place = {"step": "crawl", "item": 3, "compensation": False, "attempt": attempt}
    return {**place, "start": start, "size": len(text.encode()), "text": text}


def test_what_is_missing_between_two_chunks_was_cut():
    text = OutputText()
    assert text.of(chunk(0, "é\n")) == "é\n"
    assert text.of(chunk(3, "b\n")) == "b\n"
    assert text.of(chunk(0, "other\n", attempt=2)) == "other\n"
    assert text.of(chunk(1005, "c\n")) == "[... 1,000 bytes were cut ...]\nc\n"


def test_the_name_of_an_attempt():
    assert attempt_name(chunk(0, "")) == "crawl[3], attempt 1"
    undone = {**chunk(0, ""), "item": None, "compensation": True}
    assert attempt_name(undone) == "the compensation of crawl, attempt 1"
