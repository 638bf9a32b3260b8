"""The colours of drawings can be read in both themes."""

import re

import pytest

from tenax.drawing.colours import COLOURS
from tenax.drawing.stylesheet import stylesheet
from tenax.drawing.timeline.timeline_svg import TONES
from tenax.model.attempt.outcome import FAILURE_CLASSES

PAIRS = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--tx-([a-z-]+): light-dark\((#\w{6}), (#\w{6})\);", stylesheet())
}
TONED = ("success", "running", "transient", "timeout", "worker", "final", "budget", "soft", "neutral")


def luminance(colour):
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("back", ["paper", "stripe", "wait"])
@pytest.mark.parametrize("ink", ["ink", "muted"])
def test_texts_stand_out(ink, back, theme):
    assert contrast(PAIRS[ink][theme], PAIRS[back][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("tone", TONED)
def test_signs_stand_out_on_each_tone_and_each_tone_on_the_page(tone, theme):
    assert contrast(PAIRS["on-tone"][theme], PAIRS[tone][theme]) >= 4.5
    assert contrast(PAIRS[tone][theme], PAIRS["paper"][theme]) >= 3


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_texts_stand_out_in_the_boxes_of_graphs(theme):
    boxes = dict(re.findall(r"\.tx-step-(\w+)[^{]*\.tx-box \{ fill: light-dark\(([^)]+)\)", stylesheet()))
    assert set(boxes) >= set(COLOURS) - {
        "pending",
        "paused",
    }  # pending is the plain box, and paused is as held
    for pair in boxes.values():
        assert contrast(PAIRS["ink"][theme], pair.split(", ")[theme]) >= 4.5


def test_each_class_of_failure_has_a_sign_and_a_tone():
    assert set(FAILURE_CLASSES) <= set(TONES)
    assert len(set(TONES.values())) == len(TONES)
    assert all(re.search(rf"\.tx-{tone}\b", stylesheet()) for tone in TONES)


def test_it_can_stand_in_xml():
    assert stylesheet().isascii()
    assert not set("<&") & set(stylesheet())
