"""Holds the attempts and delays of each sample to the schedule in `schedules.txt`, as the decision function makes them."""

from __future__ import annotations

from collections import Counter

import pytest
from support.recorded.dialect_samples import HERE, NAMES, default_reason, policy_of, steps_of, words

LINES = [
    line
    for line in (HERE / "schedules.txt").read_text().splitlines()
    if line.strip() and not line.startswith("#")
]


@pytest.mark.parametrize("line", LINES)
def test_the_attempts_and_delays_are_those_of_the_system(line):
    name, workflow, step, *expected = line.split()
    step, _, reason = step.partition("@")
    found = steps_of(name)[f"{workflow} {step}"]
    assert words(policy_of(found), reason or default_reason(found)) == " ".join(expected)


def test_every_step_of_every_sample_has_a_schedule():
    listed = {(name, workflow, step.partition("@")[0]) for name, workflow, step, *_ in map(str.split, LINES)}
    there = {
        (name, *key.split()) for name in NAMES for key, step in steps_of(name).items() if "retry" in step
    }
    assert there == listed


def test_there_are_enough_samples_of_each_system():
    counts = Counter(name.partition("/")[0] for name in NAMES)
    assert {system for system, count in counts.items() if count >= 10} == {
        "tasker",
        "argyll",
        "agenttask",
        "noetl",
        "attune",
    }
    assert {system for system, count in counts.items() if count >= 5} == set(counts)
    assert len(counts) == 8
