"""Tests that every type of step has all of its declarations, and that a required key needs no stand-in."""

from typing import Any

from tenax.model.definition.types import RUNTIMES, STEP_TYPES
from tenax.model.parse.keys.step_types import OWN_KEYS
from tenax.model.parse.shape import Shape, declare, read_shape
from tenax.model.parse.workflow_file import COMPENSATIONS, STEPS


def test_every_type_has_keys_and_a_step():
    assert set(STEPS) == set(OWN_KEYS) == set(STEP_TYPES)


def test_every_type_that_workers_run_has_a_compensation():
    assert set(COMPENSATIONS) == set(RUNTIMES)


class Keys(Shape):
    value: Any = declare("what the step gives", needed="an echo step needs its `value`")


def test_a_missing_key_without_a_stand_in_is_one_fault():
    read, faults = read_shape(Keys, {}, lambda path: None)
    assert read.value is None
    assert [fault.message for fault in faults] == ["`value` is missing: an echo step needs its `value`"]
