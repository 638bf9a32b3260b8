"""Tests the findings about conditions, templates and resolved policies, which are in the same list as all others."""

from __future__ import annotations

import json
from contextlib import suppress
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples

from tenax.errors import InvalidDefinition
from tenax.model.attempt.classify import classify
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.definition.types import STEP_TYPES
from tenax.model.parse.keys.step_types import SPEC_KEYS
from tenax.model.parse.workflow_file import STEP_KEYS
from tenax.policy.check import MOST_EXPRESSIONS, load_workflow
from tenax.policy.expressions.conditions import FAILURE_FIELDS, condition_scope

GOOD = """
    name: w
    input: {url: {type: string}, max-rows: {type: integer}}
    outputs: {rows: "{{ steps.load.result.count }}", all: "{{ input }}", id: "{{ execution_id }}"}
    workflow:
      - step: fetch-data
        type: http
        url: "{{ input.url }}/{{ attempt }}"
        headers: {Authorization: "Bearer {{ secret.TOKEN }}"}
        retry: {retry_when: "{{ status_code >= 500 or error != None }}", stop_when: attempt > 3}
        next: middle
      - {step: middle, type: process, command: ls, next: load}
      - step: load
        type: python
        task: t
        args: {rows: "{{ steps['fetch-data'].result.data }}", why: "{{ steps.middle.failure.reason | default('') }}"}
        when: "{{ steps['fetch-data'].status == 'completed' and input['max-rows'] > 1 }}"
"""


def findings_of(text: str, **options) -> list[str]:
    with pytest.raises(InvalidDefinition) as raised:
        load_workflow(dedent(text), filename="w.yaml", **options)
    return [str(finding) for finding in raised.value.findings]


def test_a_sound_file():
    assert [step.name for step in load_workflow(dedent(GOOD)).steps] == ["fetch-data", "middle", "load"]


ONE_STEP = """\
name: w
input: {{url: {{type: string}}}}
workflow:
  - {{step: first, type: python, task: t}}
  - {{step: other-one, type: python, task: t}}
  - {{step: a, type: process, needs: first, command: ls, {keys}}}
"""


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("cwd: '{{ input.ulr }}'", "6:57: workflow[2].cwd: unknown input `ulr`; did you mean `url`?"),
        ("cwd: '{{ steps.frist.result }}'", "workflow[2].cwd: unknown step `frist`; did you mean `first`?"),
        ("cwd: '{{ steps.first.reslt }}'", "there is no `steps.first.reslt`; did you mean `result`?"),
        (
            "cwd: '{{ steps.first.failures }}'",
            "`steps.first.failures` is there only for a step with `for_each`; write",
        ),
        ("cwd: '{{ steps[input.url].result }}'", "name the step whose result is meant"),
        ("cwd: \"{{ steps['other-one'].result }}\"", "the step `other-one` does not run before this one"),
        ("cwd: '{{ steps.a.result }}'", "the step `a` cannot read its own result"),
        ("cwd: '{{ steps.other-one.result }}'", "; a name with - is read as steps['other-one']"),
        (
            "cwd: '{{ item }}'",
            "workflow[2].cwd: `item` is there only in a step with `for_each`, which this one does",
        ),
        ("cwd: '{{ index }}{{ previous }}'", "`index` is there only in a step with `for_each`"),
        (
            "cwd: '{{ previous }}'",
            "`previous`, the last result, is there only in the keys of a step with `until`",
        ),
        (
            "cwd: '{{ result.x }}'",
            "`result` is there only in `compensate`; the result of a step is steps.NAME.result",
        ),
        (
            "for_each: '{{ item }}'",
            "for_each: `item` is there only in the keys of a step's type, in `concurrency` and in `compensate`, not",
        ),
        ("for_each: '{{ steps.a.result }}'", "for_each: the step `a` cannot read its own result"),
        ("for_each: ['{{ input.ulr }}']", "for_each[0]: unknown input `ulr`"),
        (
            "for_each: [{a: '{{ secret.X }}'}]",
            "for_each[0].a: a secret cannot stand in `for_each`: only workers know",
        ),
        (
            "for_each: 'x{{ input.url }}'",
            "for_each: it must give a list, but with something around its {{ }} it gives text",
        ),
        ("for_each: [1], when: item > 1", "workflow[2].when: `item` is there only in the keys"),
        ("until: status == 3", "workflow[2].until: unknown variable `status`; did you mean `status_code`?"),
        ("until: {condition: input.url}", "workflow[2].until.condition: unknown variable `input`"),
        ("until: {condition: '1 +'}", "workflow[2].until.condition: not an expression"),
        (
            "on_failure: {value: ['{{ attempt }}']}",
            "on_failure.value[0]: `attempt` is there only in the keys",
        ),
        ("on_failure: {value: '{{ secret.X }}'}", "on_failure.value: a secret cannot stand in `on_failure`"),
        (
            "on_failure: {value: \"{{ steps['other-one'].result }}\"}",
            "the step `other-one` does not run before this one",
        ),
        (
            "compensate: {type: python, task: t, args: ['{{ item }}']}",
            "compensate.args[0]: `item` is there only in a step",
        ),
        (
            "compensate: {type: python, task: t, args: ['{{ previous }}']}",
            "compensate.args[0]: `previous`, the last result",
        ),
        (
            "compensate: {type: python, task: t, args: ['{{ steps.nope.result }}']}",
            "args[0]: unknown step `nope`",
        ),
        (
            "compensate: {type: python, task: t, retry: {retry_when: nope}}",
            "compensate.retry.retry_when: unknown variable",
        ),
        (
            "compensate: {type: python, task: t, dependency: '{{ 1 }}'}",
            "compensate.dependency: a template cannot stand",
        ),
        (
            "retry: {vary: [{}, {cwd: '{{ item }}'}]}",
            "workflow[2].retry.vary[1].cwd: `item` is there only in a step with",
        ),
        (
            "retry: {vary: [{env: {A: '{{ steps.nope.result }}'}}]}",
            "retry.vary[0].env.A: unknown step `nope`",
        ),
        ("cwd: '{{ input.url '", "workflow[2].cwd: an opening {{ has no closing }}"),
        ("cwd: '{% if x %}'", "workflow[2].cwd: statements"),
        ("params: {a: [1, '{{ nope }}']}", "6:73: workflow[2].params.a[1]: unknown variable `nope`"),
        ("env: {A: '{{ secret.X + 1 }}'}", "workflow[2].env.A: a secret can only stand alone"),
        ("when: '{{ steps.first.result'", "workflow[2].when: not an expression"),
        ("when: attempt > 1", "workflow[2].when: `attempt` is there only in the keys of a step's type"),
        ("when: secret.X == 1", "workflow[2].when: a secret cannot stand in `when`"),
        ("when: steps.nope.result", "workflow[2].when: unknown step `nope`"),
        ("dependency: '{{ input.url }}'", "workflow[2].dependency: a template cannot stand here"),
        ("retry: {retry_when: status > 1}", "6:65: workflow[2].retry.retry_when: unknown variable `status`"),
        ("retry: {stop_when: '1 +'}", "workflow[2].retry.stop_when: not an expression"),
        ("retry: {rules: [{when: x(), retry: no}]}", "6:74: workflow[2].retry.rules[0].when: "),
        (
            "retry: {initial_delay: 9, max_delay: 1}",
            "6:83: workflow[2].retry.max_delay: max_delay (1s) is less than",
        ),
        (
            "retry: {max_attempts: 0, retry_when: nope}",
            "workflow[2].retry.retry_when: unknown variable `nope`",
        ),
        ("retry: {bad: 0, rules: [{when: nope, retry: no}]}", "retry.rules[0].when: unknown variable `nope`"),
        (
            "retry: {retry_when: failure.clas == 'timeout'}",
            "workflow[2].retry.retry_when: there is no `failure.clas`; did you mean `class`?",
        ),
        (
            "retry: {bad: 0, stop_when: \"failure['resaon']\"}",
            "workflow[2].retry.stop_when: there is no `failure.resaon`; did you mean `reason`?",
        ),
        (
            "retry: {rules: [{when: failure.child.child.clas, retry: no}]}",
            "retry.rules[0].when: there is no `failure.child.child.clas`; did you mean `class`?",
        ),
        (
            "cwd: '{{ env.HOME }}'",
            "cwd: unknown variable `env`; known are attempt, execution_id, input, secret, steps",
        ),
    ],
)
def test_wrong_expressions(keys, expected):
    found = findings_of(ONE_STEP.format(keys=keys))
    assert any(expected in line for line in found), "\n".join(found)
    assert all(line.startswith("w.yaml:6:") for line in found)


def test_every_mistake_in_one_text_is_said():
    keys = "cwd: '{{ nope }}/{{ input.ulr }}/{{ input.url }}/{{ 1 + }}'"
    found = findings_of(ONE_STEP.format(keys=keys))
    assert len(found) == 3, "\n".join(found)
    for line, said in zip(
        found, ("unknown variable `nope`", "unknown input `ulr`", "not an expression"), strict=True
    ):
        assert said in line


def test_every_mistake_in_a_text_for_the_shell_is_said():
    text = ONE_STEP.format(keys="when: true").replace(
        "command: ls", "command: 'ls {{ nope }} {{ input.ulr | raw }}'"
    )
    found = findings_of(text)
    assert [line.split(": ")[2].split("`")[1] for line in found] == ["nope", "ulr"]


def test_the_fields_of_a_failure_are_those_that_conditions_are_given():
    outcome = Outcome("failed", facts=Facts(timed_out=True))
    failure = classify(Facts(timed_out=True), status="failed")
    scope = condition_scope(
        outcome, failure, attempt=1, max_attempts=3, execution_id=1, step="a", elapsed=0.0, cost=0.0
    )
    assert tuple(scope["failure"]) == FAILURE_FIELDS


FLOW = """
    name: w
    input: {urls: {type: array}, to: {type: object}}
    outputs: {failed: "{{ steps.fetch.failures | length }}", item: "{{ steps.fetch.result[0] }}"}
    workflow:
      - step: fetch
        type: http
        url: "{{ item }}/{{ index }}?after={{ previous.data.next | default('') }}"
        for_each: "{{ input.urls }}"
        until: "not data.next and polls < 5 and elapsed < 9 and status_code == 200 and result and attempt and node_id"
        retry: {vary: [{}, {url: "{{ item }}/{{ secret.KEY }}", headers: {B: "{{ attempt }}"}}]}
        compensate: {type: http, url: "{{ item }}", json: ["{{ result.data }}", "{{ steps.fetch.result }}", "{{ secret.KEY }}"]}
        on_failure: {step: mirror}
      - {step: mirror, type: python, task: t, args: ["{{ steps.fetch.failure.reason }}", "{{ steps.fetch.failures }}"]}
      - {step: nap, type: sleep, for: "{{ attempt + 1 }}", needs: fetch}
      - {step: go, type: wait, signal: "{{ steps.mirror.status }}-{{ item }}", for_each: ["a{{ execution_id }}"], needs: nap}
      - step: child
        type: workflow
        workflow: x
        input: "{{ input.to }}"
        needs: fetch
        on_failure: {value: {why: "{{ steps.child.failure.reason }}", url: "{{ steps.mirror.result }}"}}
"""


def test_a_sound_file_with_all_that_can_be_read():
    assert len(load_workflow(dedent(FLOW)).steps) == 5


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            "type: sleep, for: '{{ secret.X }}'",
            "workflow[0].for: a secret cannot stand in the keys of this sleep step",
        ),
        ("type: sleep, for: '{{ previous }}'", "workflow[0].for: `previous`, the last result, is there only"),
        ("type: wait, signal: '{{ nope }}'", "workflow[0].signal: unknown variable `nope`"),
        (
            "type: workflow, workflow: w, input: {a: '{{ secret.X }}'}",
            "input.a: a secret cannot stand in the keys",
        ),
        (
            "type: workflow, workflow: w, input: '{{ 1 }}{{ 2 }}'",
            "input: it must give a mapping of inputs, but with",
        ),
        (
            "type: workflow, workflow: w, retry: {vary: [{input: {a: '{{ x }}'}}]}",
            "retry.vary[0].input.a: unknown variable",
        ),
    ],
)
def test_what_the_server_carries_out(step, expected):
    found = findings_of(f"name: w\nworkflow:\n  - {{step: a, {step}}}\n")
    assert len(found) == 1
    assert expected in found[0]


INHERITED = """\
name: w
defaults: {retry: {vary: [{}, %s]}}
workflow:
  - {step: a, type: http, url: "http://h", compensate: {type: http, url: "http://h/undo"}}
  - {step: b, type: http, url: "http://i"}
  - {step: c, type: python, task: t, retry: {vary: []}}
  - {step: d, type: python, task: t, retry: false}
"""


def test_vary_of_the_defaults_must_fit_every_step_that_has_it():
    load_workflow(INHERITED % "{headers: {A: b}, url: 'http://j'}")
    (found,) = findings_of(INHERITED % "{args: {}}")
    assert found.startswith(
        "w.yaml:2:32: defaults.retry.vary[1].args: `args` is no key of http steps that could vary"
    )
    assert found.endswith("; a step without it says `retry: {vary: []}`")
    (found,) = findings_of(INHERITED % "{url: '{{ item }}'}")
    assert found.startswith(
        "w.yaml:2:32: defaults.retry.vary[1].url: `item` is there only in a step with `for_each`"
    )
    (found,) = findings_of(INHERITED % "{method: post}")
    assert found.endswith('above the steps an entry is taken as it stands: write it as {"method": "POST"}')


def test_vary_of_the_server_takes_part():
    text = "name: w\nworkflow:\n  - {step: a, type: python, task: t}\n"
    load_workflow(text, server_retry={"vary": ['{"args":{"a":1}}']})
    (found,) = findings_of(text, server_retry={"vary": ['{"url":"x"}']})
    assert found.startswith("w.yaml:3:5: workflow[0].url: `url` is no key of python steps that could vary")


def test_a_wrong_for_each_is_one_mistake():
    text = "name: w\nworkflow:\n  - {step: a, type: python, task: t, for_each: 5, args: ['{{ item }}']}\n"
    (found,) = findings_of(text)
    assert "for_each: expected a list" in found


def test_outputs():
    found = findings_of("""\
        name: w
        outputs:
          a: "{{ steps.x.result }}"
          b: ["{{ attempt }}", "{{ secret.X }}"]
          c: "{{ input.y }}"
        workflow: [{step: s, type: python, task: t}]
    """)
    assert [line.split(": ", 2)[:2] for line in found] == [
        ["w.yaml:3:3", "outputs.a"],
        ["w.yaml:4:7", "outputs.b[0]"],
        ["w.yaml:4:24", "outputs.b[1]"],
        ["w.yaml:5:3", "outputs.c"],
    ]
    assert found[3].endswith("unknown input `y`; the workflow declares no inputs")


def test_everything_is_reported_together_and_in_order():
    found = findings_of("""\
        name: w
        defaults: {retry: {retry_when: nope}}
        workflow:
          - {step: s, type: python, task: t, tmeout: 3, args: ["{{ nope }}"]}
          - {step: t, type: python, task: t, needs: u, when: nope}
          - {step: t, type: python, task: t}
    """)
    assert [line.split(": ", 2)[:2] for line in found] == [
        ["w.yaml:2:20", "defaults.retry.retry_when"],
        ["w.yaml:4:38", "workflow[0].tmeout"],
        ["w.yaml:4:56", "workflow[0].args[0]"],
        ["w.yaml:5:38", "workflow[1].needs"],
        ["w.yaml:5:48", "workflow[1].when"],
        ["w.yaml:6:6", "workflow[2].step"],
    ]


DELAYS = """\
name: w
defaults: {retry: {max_delay: 5s}}
workflow:
  - {step: a, type: python, task: t, retry: {initial_delay: 6s}}
  - {step: b, type: python, task: t}
"""


def test_delays_that_contradict_each_other_across_levels():
    (found,) = findings_of(DELAYS)
    assert found.startswith("w.yaml:4:46: workflow[0].retry.initial_delay: max_delay (5s) is less than")


def test_the_servers_defaults_take_part():
    text = "name: w\nworkflow:\n  - {step: a, type: python, task: t, retry: {initial_delay: 6s}}\n"
    load_workflow(text)
    (found,) = findings_of(text, server_retry={"max_delay": 5.0})
    assert found.startswith("w.yaml:3:46: workflow[0].retry.initial_delay: max_delay (5s) is less than")


def test_references_are_not_followed_through_a_circle():
    found = findings_of("""\
        name: w
        workflow:
          - {step: a, type: python, task: t, needs: b, args: ["{{ steps.c.result }}"]}
          - {step: b, type: python, task: t, needs: a}
          - {step: c, type: python, task: t}
    """)
    assert len(found) == 1
    assert "in a circle: a -> b -> a" in found[0]


def test_too_many_expressions():
    command = "{{1}}" * (MOST_EXPRESSIONS + 1)
    (found,) = findings_of(f"name: w\nworkflow:\n  - {{step: a, type: process, command: '{command}'}}\n")
    assert found.startswith("w.yaml:3:30: workflow[0].command: more than 50,000 templates")


def test_an_unknown_type_hides_nothing_else():
    assert findings_of("""\
        name: w
        workflow:
          - step: a
            type: htpp
            url: "{{ input.nope }}"
            needs: c
          - step: b
            type: python
            task: x:y
            args: {q: "{{ steps.a.resultt }}"}
            needs: a
            retry: {max_delay: 1s, initial_delay: 5s}
          - {step: c, type: process, command: "{{ steps.d.result }}"}
    """) == [
        "w.yaml:4:5: workflow[0].type: unknown step type `htpp`; did you mean `http`?",
        "w.yaml:5:5: workflow[0].url: unknown input `nope`; the workflow declares no inputs",
        "w.yaml:10:12: workflow[1].args.q: there is no `steps.a.resultt`; did you mean `result`?",
        "w.yaml:12:13: workflow[1].retry.max_delay: max_delay (1s) is less than initial_delay (5s); raise the one or lower the other",
        "w.yaml:13:30: workflow[2].command: unknown step `d` (there are: a, b, c)",
    ]


TEXTS = st.sampled_from(
    [
        "{{ item }}",
        "{{ steps.a.result }}",
        "{{ previous.x }}-{{ result }}",
        "{{ secret.X }}",
        "{{",
        "x > 1",
        "5m",
        "a",
        "10%",
    ]
)
VALUES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers(-1, 5),
    lambda below: (
        st.lists(below, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "step",
                    "value",
                    "condition",
                    "type",
                    "task",
                    "retry",
                    "vary",
                    "deadline",
                    "args",
                    "limit",
                    "key",
                ]
            ),
            below,
            max_size=4,
        )
    ),
    max_leaves=5,
)
KEYS = st.sampled_from([*STEP_KEYS, *(key for keys in SPEC_KEYS.values() for key in keys)])


@given(
    st.lists(st.dictionaries(KEYS, VALUES, max_size=7), min_size=1, max_size=3), st.sampled_from(STEP_TYPES)
)
@settings(max_examples=examples(100), deadline=None)
def test_any_value_of_any_key_is_accepted_or_refused(steps, kind):
    named = [{"type": kind, **step, "step": name} for name, step in zip("abc", steps, strict=False)]
    with suppress(InvalidDefinition):
        load_workflow(json.dumps({"name": "w", "workflow": named}), server_retry={"vary": ["{}"]})
