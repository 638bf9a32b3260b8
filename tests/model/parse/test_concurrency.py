"""The step key `concurrency`: how each form is read, and what is refused."""

from __future__ import annotations

import json

import pytest

from tenax.errors import InvalidDefinition
from tenax.model.definition.workflow import Concurrency, Workflow
from tenax.model.parse.parse import parse_workflow, workflow_hash

KEY = "{{ input.customer }}"


def workflow_of(keys: str, *, kind: str = "type: process, command: ls") -> Workflow:
    text = f"name: w\nworkflow:\n  - {{step: a, {kind}, {keys}}}\n"
    return parse_workflow(text, filename="w.yaml")


def findings_of(keys: str, **options: str) -> list[str]:
    with pytest.raises(InvalidDefinition) as raised:
        workflow_of(keys, **options)
    return [str(finding) for finding in raised.value.findings]


FORMS = {
    "5": Concurrency(limit=5),
    "1000000": Concurrency(limit=1_000_000),
    "{limit: 5}": Concurrency(limit=5),
    "{limit: 5, action: charge-api}": Concurrency(limit=5, action="charge-api"),
    f"{{limit: 2, key: '{KEY}'}}": Concurrency(key=KEY, key_limit=2),
    f"{{limit: 2, action: api, key: '{KEY}'}}": Concurrency(action="api", key=KEY, key_limit=2),
    f"{{limit: 9, key: '{KEY}', key_limit: 2}}": Concurrency(9, None, KEY, 2),
    f"{{limit: 2, key: 'x-{KEY}', key_limit: 2, action: api}}": Concurrency(2, "api", f"x-{KEY}", 2),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_and_stored(form):
    workflow = workflow_of(f"concurrency: {form}")
    assert workflow.steps[0].concurrency == FORMS[form]
    assert Workflow.from_dict(json.loads(json.dumps(workflow.as_dict()))) == workflow


def test_a_number_is_the_short_form():
    assert workflow_hash(workflow_of("concurrency: 5")) == workflow_hash(
        workflow_of("concurrency: {limit: 5}")
    )


def test_a_definition_without_it_keeps_its_identity():
    [step] = workflow_of("priority: 5").as_dict()["steps"]
    assert "concurrency" not in step


WRONG = {
    "concurrency: 0": "w.yaml:3:43: workflow[0].concurrency: must be from 1 to 1000000, found 0",
    "concurrency: 1000001": "workflow[0].concurrency: must be from 1 to 1000000, found 1000001",
    "concurrency: many": "workflow[0].concurrency: expected how many may run at once: a whole number, or "
    "{limit, action, key, key_limit}, found text (many)",
    "concurrency: true": "expected how many may run at once: a whole number, or",
    "concurrency: [1]": "expected how many may run at once: a whole number, or",
    "concurrency: null": "{limit, action, key, key_limit}, found nothing",
    "concurrency: '{{ input.n }}'": "workflow[0].concurrency: a template cannot stand here",
    "concurrency: {}": "workflow[0].concurrency: `limit` is missing: how many may run at once",
    "concurrency: {action: api}": "workflow[0].concurrency: `limit` is missing",
    f"concurrency: {{key: '{KEY}', key_limit: 1}}": "workflow[0].concurrency: `limit` is missing",
    "concurrency: {limit: 1.5}": "workflow[0].concurrency.limit: expected a whole number from 1 to 1000000",
    "concurrency: {limit: '{{ input.n }}'}": "workflow[0].concurrency.limit: a template cannot stand here",
    "concurrency: {limit: 1, acton: x}": "concurrency.acton: unknown key `acton` in `concurrency`; did you mean "
    "`action`?",
    "concurrency: {limit: 1, action: a b}": "workflow[0].concurrency.action: `a b` is not a name: use letters",
    "concurrency: {limit: 1, action: 5}": "workflow[0].concurrency.action: expected text, found a number (5)",
    "concurrency: {limit: 1, action: '{{ input.n }}'}": "workflow[0].concurrency.action: `{{ input.n }}` is not a",
    "concurrency: {limit: 1, key: customer}": "workflow[0].concurrency.key: must be a template, such as "
    '"{{ input.customer }}", by which items differ; steps that share one limit name it by `action`',
    "concurrency: {limit: 1, key: 7}": "workflow[0].concurrency.key: must be a template",
    "concurrency: {limit: 1, key: null}": "workflow[0].concurrency.key: must be a template",
    "concurrency: {limit: 5, key_limit: 1}": "workflow[0].concurrency.key_limit: `key_limit` is for each value of "
    "`key`, which is not there",
    f"concurrency: {{limit: 5, key: '{KEY}', key_limit: 0}}": "concurrency.key_limit: must be from 1 to 1000000",
    f"concurrency: {{limit: 5, key: '{KEY}', key_limit: 6}}": "concurrency.key_limit: never reached: all keys "
    "together may have 5, by `limit`",
}


@pytest.mark.parametrize("keys", WRONG)
def test_what_is_wrong_is_one_finding_in_its_place(keys):
    [found] = findings_of(keys)
    assert WRONG[keys] in found
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
