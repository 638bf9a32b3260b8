"""Checks values that are valid in another system and not here, and values that are valid in none."""

from __future__ import annotations

import pytest

from tenax.dialects.translate import Import, joined, translate_text
from tenax.errors import InvalidDefinition
from tenax.model.source.yaml_source import read_source

TASKER = "name: a\nnamespace_name: n\nsteps:\n  - name: s\n    handler: {callable: C}\n    retry: %s\n"
AGENT = "apiVersion: core.hortator.ai/v1alpha1\nkind: AgentTask\nmetadata: {name: a}\nspec:\n%s"
NOETL = "apiVersion: noetl.io/v1\nkind: Playbook\nmetadata: {name: a}\nworkflow:\n  - step: s\n%s"


def imported(text: str) -> Import:
    return translate_text(text, filename="f.yaml")


def step_of(made: Import) -> dict[str, object]:
    step: dict[str, object] = read_source(made.workflows[0].text).data["workflow"][0]
    return step


def report_of(made: Import) -> str:
    return "\n".join(map(str, made.entries))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (TASKER % "{backoff_base_ms: -5}", 6, "must not be negative"),
        (TASKER % "{max_backoff_ms: -0.1}", 6, "must not be negative"),
        (TASKER % "{max_attempts: 99999999999999999999}", 6, "expected a"),
        (TASKER % "{max_attempts: 2000000000000000}", 6, "a number up to 1,000,000,000,000,000"),
        (AGENT % "  prompt: p\n  budget: {maxCostUsd: '-1'}\n", 6, "must not be negative"),
        (
            "id: a\nname: a\ntype: sync\nattributes: {}\nhttp: {endpoint: http://x, timeout: -1}\nwork_config: {}\n",
            5,
            "must not be negative",
        ),
        (NOETL % "    type: http\n    method: GET\n", 5, "`url` is missing"),
    ],
)
def test_a_value_that_no_system_can_read_is_refused_with_its_line(text, line, words):
    with pytest.raises(InvalidDefinition) as refused:
        imported(text)
    [finding] = refused.value.findings
    assert (finding.file, finding.line) == ("f.yaml", line)
    assert words in finding.message


@pytest.mark.parametrize(
    "text",
    [
        NOETL % "    next: end\n",
        "StartAt: P\nStates: {P: {Type: Pass, Next: S}, S: {Type: Succeed}}\n",
    ],
)
def test_a_workflow_that_does_nothing_has_a_step_that_does_nothing(text):
    made = imported(text)
    assert step_of(made)["command"] == ["true"]
    assert "does any work: its step `nothing` does nothing" in report_of(made)


def test_a_duration_of_more_than_100_years_is_cut():
    made = imported(TASKER % "{max_backoff_ms: 1.0e+30}" + "    timeout_seconds: 1.0e+20\n")
    assert step_of(made)["timeout"] == "3155760000s"
    assert report_of(made).count("longer than 100 years") == 2


def test_a_timeout_of_0_is_none():
    assert step_of(imported(TASKER % "{}" + "    timeout_seconds: 0\n"))["timeout"] == "30s"


def test_a_step_of_noetl_has_no_limit_of_its_time():
    made = imported(NOETL % "    type: python\n    code: 'def main(): pass'\n    retry: 2\n")
    assert step_of(made)["timeout"] == "31536000s"


def test_a_flag_in_headers_becomes_a_text_and_nothing_is_left_out():
    made = imported(
        NOETL % "    type: http\n    url: http://x\n    headers: {X-Try: 1, X-Dry: true, X-None: null}\n"
    )
    assert step_of(made)["headers"] == {"X-Try": 1, "X-Dry": "true"}


def test_headers_that_are_one_template_are_dropped_and_reported():
    made = imported(NOETL % "    type: http\n    url: http://x\n    headers: '{{ workload.h }}'\n")
    assert "headers" not in step_of(made)
    assert "f.yaml:5: dropped: workflow[0]: `headers` is left out" in report_of(made)


def test_an_address_without_a_scheme_becomes_an_input():
    made = imported(NOETL % "    type: http\n    url: example.com/x\n")
    assert step_of(made)["url"] == "{{ input.expression_1 }}"
    assert "`example.com/x` has no counterpart" in report_of(made)


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("{type: secret, required: true}", {"required": True}),
        ("{type: integer, default: '3'}", {"default": "3"}),
        ("{type: datetime}", {}),
    ],
)
def test_a_parameter_with_a_type_that_is_no_json_schema_takes_any_value(parameter, expected):
    made = imported(f"name: a\nruntime: shell\nentrypoint: a.sh\nparameters:\n  p: {parameter}\n")
    assert read_source(made.workflows[0].text).data["input"]["p"] == expected
    assert "f.yaml:5: dropped: parameters.p: the input `p` takes any value" in report_of(made)


@pytest.mark.parametrize("prompt", ["", "  prompt: ''\n", "  prompt: ' '\n"])
def test_an_agent_without_a_prompt_gets_it_as_an_input(prompt):
    assert step_of(imported(AGENT % (prompt + "  tier: tribune\n")))["prompt"] == "{{ input.prompt }}"


def test_a_budget_of_0_is_reported():
    made = imported(AGENT % "  prompt: p\n  budget: {maxTokens: 0, maxCostUsd: '0.5'}\n")
    assert step_of(made)["budget"] == {"cost_usd": 0.5}
    assert "dropped: spec.budget.maxTokens" in report_of(made)


def test_the_budget_of_a_hierarchy_is_that_of_the_tree():
    made = imported(AGENT % "  prompt: p\n  hierarchyBudget: {maxTokens: 9, maxCostUsd: '2.50'}\n")
    assert read_source(made.workflows[0].text).data["budget"] == {"tokens": 9, "cost_usd": 2.5}
    assert "budget" not in step_of(made)
    assert "f.yaml:6: understood: spec.hierarchyBudget" in report_of(made)


def test_only_the_first_rule_for_an_exit_code_decides():
    made = imported(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  podFailurePolicy:\n    rules:\n"
        "      - {action: FailJob, onExitCodes: {operator: In, values: [7]}}\n"
        "      - {action: Ignore, onExitCodes: {operator: In, values: [7]}}\n"
        "  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: [x]}]}}\n"
    )
    retry = step_of(made)["retry"]
    assert retry["never_on"] == ["exit_code_7"]
    assert retry["rules"] == []


def test_the_report_tells_the_schedule_of_each_rule():
    made = imported(
        NOETL % "    type: http\n    url: http://x\n    retry:\n"
        "      - {when: '{{ status_code == 429 }}', then: {max_attempts: 2, initial_delay: 10}}\n"
        "      - {when: '{{ status_code >= 500 }}', then: {max_attempts: 4, initial_delay: 1}}\n"
    )
    assert (
        "when {{ status_code == 429 }}: 2 attempts with delays of 10s, jitter 0.5; "
        "when {{ status_code >= 500 }}: 4 attempts with delays of 1s, 2s, 4s, jitter 0.5"
    ) in report_of(made)


@pytest.mark.parametrize(
    ("text", "attempts", "delays"),
    [
        ("retry: {maxAttempts: 3, backoffSeconds: 7}", 3, "7s, 14s"),
        ("{maxAttempts: 3, backoffSeconds: 7}", 3, "7s, 14s"),
        ("spec: {retry: {maxAttempts: 3, backoffSeconds: 7}}", 3, "7s, 14s"),
        ("work_config: {max_retries: 2, backoff: 200, backoff_type: fixed}", 3, "200ms, 200ms"),
        ("{max_retries: 2, backoff: 200, backoff_type: fixed}", 3, "200ms, 200ms"),
        ("work_config: {backoff: 200}", 1, None),
        ("retry: {max_attempts: 3, backoff_base_ms: 50}", 3, "50ms, 100ms"),
        ("{max_attempts: 3, backoff_base_ms: 50, backoff: linear, retryable: true}", 3, "50ms, 100ms"),
    ],
)
def test_retry_settings_alone_keep_their_numbers(text, attempts, delays):
    made = imported(f"{text}\n")
    assert step_of(made)["retry"]["max_attempts"] == attempts
    words = f"{attempts} attempts with delays of {delays}" if delays else "1 attempt"
    assert words in report_of(made)
    assert "has no counterpart" not in report_of(made)


ATTUNE = (
    "name: f.low\ntasks:\n  - name: a\n    action: core.say\n    input: {text: '{{ parameters.who }}'}\n%s"
)


def test_a_task_of_attune_runs_the_action_of_a_pack():
    step = step_of(imported(ATTUNE % "    retry: {count: 2, delay: 5}\n    timeout: 9\n"))
    assert (step["type"], step["action"], step["params"]) == (
        "action",
        "core.say",
        {"text": "{{ input.who }}"},
    )
    assert (step["timeout"], step["retry"]["max_attempts"]) == ("9s", 3)


def test_a_task_of_attune_without_settings_has_the_timeout_of_its_action_and_one_attempt():
    made = imported(ATTUNE % "")
    assert "timeout" not in step_of(made)
    assert step_of(made)["retry"]["max_attempts"] == 1
    assert "its `max_retries` do not count here" in report_of(made)


def test_an_entry_whose_condition_has_no_counterpart_is_skipped():
    made = imported(
        NOETL % "    type: http\n    url: http://x\n    retry:\n"
        "      - {when: '{{ outage() }}', then: {max_attempts: 9}}\n"
        "      - {when: '{{ status_code == 429 }}', then: {max_attempts: 2}}\n"
    )
    retry = step_of(made)["retry"]
    assert [rule.get("when") for rule in retry["rules"]] == ["{{ status_code == 429 }}", None]
    assert retry["max_attempts"] == 2
    assert "f.yaml:9: dropped: workflow[0].retry[0].when" in report_of(made)


def test_a_property_of_a_schema_may_be_called_name():
    made = imported("input_schema: {properties: {p: {type: string, name: x}}}\n" + TASKER % "{}")
    assert read_source(made.workflows[0].text).data["input"]["p"] == {}


def test_a_child_whose_inputs_cannot_be_written_gets_one_input_for_all():
    made = imported(
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n  entrypoint: main\n  templates:\n"
        "  - {name: main, steps: [[{name: call, template: inner, arguments: {parameters: [{name: '', value: x}]}}]]}\n"
        "  - {name: inner, inputs: {parameters: [{name: p}]}, steps: [[{name: a, template: leaf}]]}\n"
        "  - {name: leaf, container: {image: i, command: [echo]}}\n"
    )
    assert step_of(made)["input"] == "{{ input.expression_1 }}"


def named(*names: str) -> Import:
    documents = [
        f"name: {name!r}\nnamespace_name: ''\nsteps: [{{name: s, handler: {{callable: C}}}}]\n"
        for name in names
    ]
    return joined([imported("---\n".join(documents))])


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("x", "x"), ["x", "x-2"]),
        (("x", "x-2", "x"), ["x", "x-2", "x-3"]),
        (("x", "x", "x-2"), ["x", "x-3", "x-2"]),
        (("12", "12"), ["12", "12-2"]),
    ],
)
def test_no_two_workflows_get_the_same_name(names, expected):
    made = named(*names)
    assert [one.name for one in made.workflows] == expected
    assert [read_source(one.text).data["name"] for one in made.workflows] == expected


def test_two_jobs_of_a_list_may_have_the_same_name():
    job = "  - apiVersion: batch/v1\n    kind: Job\n    metadata: {name: j}\n    spec: {template: {spec: {containers: [{command: [x]}]}}}\n"
    made = joined([imported(f"apiVersion: v1\nkind: List\nitems:\n{job}{job}")] * 2)
    assert [one.name for one in made.workflows] == ["j", "j-2", "j-3", "j-4"]


def test_a_renamed_child_is_still_called_by_its_parent():
    argo = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n  entrypoint: main\n  templates:\n"
        "  - {name: main, steps: [[{name: call, template: inner}]]}\n"
        "  - {name: inner, steps: [[{name: a, template: leaf}]]}\n"
        "  - {name: leaf, container: {image: i, command: [echo, %s]}}\n"
    )
    made = joined([imported(f"{argo % 'one'}---\n{argo % 'two'}")])
    assert [one.name for one in made.workflows] == ["w", "w-inner", "w-2", "w-inner-2"]
    calls = [read_source(one.text).data["workflow"][0].get("workflow") for one in made.workflows]
    assert calls == ["w-inner", None, "w-inner-2", None]
