"""Tests that a name is valid or invalid in every place alike: a file, the settings, or a request about a queue."""

from __future__ import annotations

import pytest

from tenax.engine.operate.queues import _check
from tenax.errors import InvalidDefinition, UsageError
from tenax.model.names import is_workflow_name, name_fault
from tenax.model.parse.parse import parse_workflow
from tenax.settings import values as setting_values

SOURCE = "name: w\nworkflow: [{{step: s, type: python, task: 't:t', queue: {name}}}]\n"


@pytest.mark.parametrize("name", ["a", "_a", "9lives", "two-words", "A_b-9", "x" * 100])
def test_good_names(name):
    assert name_fault(name) is None
    assert setting_values.names([name]) == (name,)
    _check(name, None, None, None)
    assert parse_workflow(SOURCE.format(name=f'"{name}"')).steps[0].queue == name


@pytest.mark.parametrize("name", ["-a", "a.b", "a b", "a\nb", "ä", "x" * 101, "٣"])
def test_bad_names(name):
    assert name_fault(name) is not None
    with pytest.raises(ValueError, match="is not a name"):
        setting_values.names([name])
    with pytest.raises(UsageError, match="is not a name"):
        _check(name, None, None, None)
    with pytest.raises(InvalidDefinition, match="is not a name"):
        parse_workflow(SOURCE.format(name=f'"{name}"'.replace("\n", "\\n")))


@pytest.mark.parametrize(
    ("name", "good"), [("a.b-c_9", True), ("x" * 200, True), ("x" * 201, False), (".a", False)]
)
def test_workflow_names_may_have_dots(name, good):
    assert is_workflow_name(name) is good
