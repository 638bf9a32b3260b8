"""The step key `concurrency`: how each form is read, and what is refused."""

from __future__ import annotations

import json

import pytest
from support.strategies.workflow_texts import CONCURRENCY_FORMS, WRONG_CONCURRENCY

from tenax.errors import InvalidDefinition
from tenax.model.definition.workflow import Workflow
from tenax.model.parse.parse import parse_workflow, workflow_hash


def workflow_of(keys: str, *, kind: str = "type: process, command: ls") -> Workflow:
    text = f"name: w\nworkflow:\n  - {{step: a, {kind}, {keys}}}\n"
    return parse_workflow(text, filename="w.yaml")


def findings_of(keys: str, **options: str) -> list[str]:
    with pytest.raises(InvalidDefinition) as raised:
        workflow_of(keys, **options)
    return [str(finding) for finding in raised.value.findings]


@pytest.mark.parametrize("form", CONCURRENCY_FORMS)
def test_every_form_is_read_and_stored(form):
    workflow = workflow_of(f"concurrency: {form}")
    assert workflow.steps[0].concurrency == CONCURRENCY_FORMS[form]
    assert Workflow.from_dict(json.loads(json.dumps(workflow.as_dict()))) == workflow


def test_a_number_is_the_short_form():
    assert workflow_hash(workflow_of("concurrency: 5")) == workflow_hash(
        workflow_of("concurrency: {limit: 5}")
    )


def test_a_definition_without_it_keeps_its_identity():
    [step] = workflow_of("priority: 5").as_dict()["steps"]
    assert "concurrency" not in step


@pytest.mark.parametrize("keys", WRONG_CONCURRENCY)
def test_what_is_wrong_is_one_finding_in_its_place(keys):
    [found] = findings_of(keys)
    assert WRONG_CONCURRENCY[keys] in found
    assert found.startswith("w.yaml:3:")


@pytest.mark.parametrize("kind", ["type: sleep, for: 1s", "type: wait", "type: workflow, workflow: other"])
@pytest.mark.parametrize("form", ["5", "{limit: 0}"])
def test_not_for_what_the_server_carries_out(kind, form):
    [found] = findings_of(f"concurrency: {form}", kind=kind)
    name = kind.split()[1].rstrip(",")
    assert f"`concurrency` cannot stand in a {name} step: the server itself carries it out" in found


def test_not_in_a_compensation():
    [found] = findings_of("compensate: {type: python, task: t, concurrency: 5}")
    assert "workflow[0].compensate.concurrency: `concurrency` cannot stand in `compensate`" in found


def test_not_in_the_defaults():
    text = "name: w\ndefaults: {concurrency: 5}\nworkflow: [{step: a, type: wait}]\n"
    with pytest.raises(InvalidDefinition, match="unknown key `concurrency` in `defaults`"):
        parse_workflow(text)
