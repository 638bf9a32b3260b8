"""Checks that what an import writes is valid, and gives every field of every policy."""

from __future__ import annotations

import pytest
from support.recorded.dialect_samples import NAMES, imported, steps_of

from tenax.model.parse.retry_fields import RetryFields
from tenax.policy.check import load_workflow

STRICT = ("tasker", "argyll", "agenttask", "noetl", "attune")
ONLY_IF_SET = {"retry_when", "stop_when", "give_up_after"}


@pytest.mark.parametrize("name", NAMES)
def test_the_result_is_a_valid_workflow_file(name):
    for workflow in imported(name).workflows:
        assert load_workflow(workflow.text).name == workflow.name


@pytest.mark.parametrize("name", NAMES)
def test_every_field_of_a_policy_is_written_out(name):
    for step in steps_of(name).values():
        if step["type"] in ("sleep", "wait") and "retry" not in step:
            continue
        assert set(RetryFields.key_names()) - ONLY_IF_SET - {"attempt_cost"} <= step["retry"].keys()
        if name.startswith(STRICT):
            assert step["retry"]["infra_attempts"] == 0


@pytest.mark.parametrize("name", NAMES)
def test_every_step_that_runs_has_a_timeout(name):
    assert [
        key
        for key, step in steps_of(name).items()
        # A step without a timeout that runs an action of a pack has the timeout of its action.
        if step["type"] not in ("sleep", "wait", "action") and "timeout" not in step
    ] == []
