"""Recognises the systems of documents, and refuses others with the nearest system."""

from __future__ import annotations

import pytest
from support.recorded.dialect_samples import HERE, NAMES

from tenax.dialects.translate import SYSTEMS, joined, translate_text
from tenax.errors import InvalidDefinition, UsageError

TOO_SHORT = {"noetl/11-fragment.yaml"}
"""Samples whose keys several systems have in common with each other."""


def refusal(text: str, system: str | None = None) -> str:
    with pytest.raises(InvalidDefinition) as refused:
        translate_text(text, filename="x.yaml", system=system)
    return str(refused.value)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in TOO_SHORT])
def test_the_system_of_each_sample_is_recognised(name):
    found = translate_text((HERE / "samples" / name).read_bytes(), filename=name)
    assert {one.system for one in found.workflows} == {name.partition("/")[0]}


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("StartsAt: A\nState: {}\n", "Step Functions"),
        ("kind: AgentTasks\nspec: {}\n", "Hortator"),
        ("apiVersion: argo.io/v1\nkind: Workflows\n", "Argo"),
        ("namespace_names: x\ntask_handlers: {}\n", "Tasker"),
        ("runner_types: shell\nentry_points: x\n", "Attune"),
    ],
)
def test_a_stranger_is_refused_with_the_nearest_system(text, nearest):
    message = refusal(text)
    assert message.startswith("x.yaml:1:1: no system that can be imported writes such a file; the nearest is")
    assert nearest in message


def test_a_file_of_nothing_known_is_refused_with_all_systems():
    message = refusal("hello: world\n")
    assert all(name in message for name in SYSTEMS)


def test_a_named_system_that_does_not_fit_is_refused_with_the_one_that_does():
    message = refusal((HERE / "samples/kubernetes/01-pi.yaml").read_text(), "argo")
    assert "this is not a workflow of Argo; it looks like a Job of Kubernetes" in message
    assert "--from kubernetes" in message


def test_a_workflow_file_of_tenax_is_refused():
    text = "name: mine\nworkflow: [{step: a, type: sleep, for: 1s, retry: {initial_delay: 2}}]\n"
    assert "this is a workflow file of Tenax already" in refusal(text)
    assert (
        translate_text(text, system="noetl").workflows[0].name == "mine"
    )  # a playbook without its header looks the same


def test_an_unknown_system_is_refused_with_the_nearest_name():
    with pytest.raises(UsageError, match="did you mean `stepfunctions`"):
        translate_text("StartAt: a", system="stepfunction")


@pytest.mark.parametrize("text", ["", "---\n---\n", "# nothing\n"])
def test_an_empty_file_is_refused(text):
    assert "the file is empty" in refusal(text)


def test_templates_that_are_no_yaml_are_refused_with_their_place():
    message = refusal("steps:\n  - name: {{ .Values.name }}\n    retry: {max_attempts: 3}\n")
    assert "x.yaml:2:" in message
    assert "if this is a template, quote it" in message


@pytest.mark.parametrize(
    ("text", "system", "expected"),
    [
        (
            "steps: [{name: a, handler: {callable: x}, retry: {max_attempts: three}}]",
            "tasker",
            "expected a number, not the text 'three'",
        ),
        (
            "steps: [{name: a, handler: {callable: x}, retry: {backoff: cubic}}]",
            "tasker",
            "unknown value `cubic` (there are: none, linear, exponential, fibonacci)",
        ),
        (
            "steps: [{name: a, handler: {callable: x}, dependencies: [b]}]",
            "tasker",
            "depends on `b`, and there is no such step",
        ),
        (
            "id: a\nhttp: {endpoint: 'http://a'}\nwork_config: {max_retries: 1.5}",
            "argyll",
            "expected a whole number",
        ),
        ("id: a\nwork_config: {max_retries: 1}", "argyll", "needs `http.endpoint`"),
        ("StartAt: B\nStates: {A: {Type: Pass, End: true}}", "stepfunctions", "there is no state `B`"),
        (
            "StartAt: A\nStates: {A: {Type: Pass, Result: 1, Next: C}}",
            "stepfunctions",
            "leads to `C`, and there is no such state",
        ),
        ("kind: Job\nspec: {backoffLimit: 1}", "kubernetes", "a Job needs `spec.template`"),
        (
            "kind: Workflow\nspec: {entrypoint: b, templates: [{name: a}]}",
            "argo",
            "there is no template `b`",
        ),
        (
            "tasks: [{name: a, action: b, on_success: c}]",
            "attune",
            "leads to `c`, and there is no such task",
        ),
    ],
)
def test_what_the_system_itself_could_not_read_is_refused(text, system, expected):
    message = refusal(text, system)
    assert expected in message
    assert message.startswith("x.yaml:")


def test_workflows_of_one_name_get_different_names():
    found = joined([translate_text((HERE / "samples/noetl/10-two.yaml").read_bytes(), filename="twin.yaml")])
    assert [one.name for one in found.workflows] == ["twin", "twin-2"]
    assert [one.text.splitlines()[0] for one in found.workflows] == ["name: twin", "name: twin-2"]
    assert any("this one is called `twin-2`" in entry.sentence for entry in found.entries)


def test_a_playbook_that_goes_on_in_another_file_is_read():
    found = translate_text(
        "workflow: [{step: a, type: http, url: 'http://a', retry: true, next: b}]", system="noetl"
    )
    assert any("there is no such step in the file" in entry.sentence for entry in found.entries)
