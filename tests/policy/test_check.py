"""What is said of conditions, templates and resolved policies, in the same list as everything else."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tenax.errors import InvalidDefinition
from tenax.policy.check import MOST_EXPRESSIONS, load_workflow

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
        ("cwd: '{{ steps.first.failures }}'", "`steps.first.failures` is not supported by this version"),
        ("cwd: '{{ steps[input.url].result }}'", "name the step whose result is meant"),
        ("cwd: \"{{ steps['other-one'].result }}\"", "the step `other-one` does not run before this one"),
        ("cwd: '{{ steps.a.result }}'", "the step `a` cannot read its own result"),
        ("cwd: '{{ steps.other-one.result }}'", "; a name with - is read as steps['other-one']"),
        ("cwd: '{{ item }}'", "workflow[2].cwd: unknown variable `item`"),
        ("cwd: '{{ input.url '", "workflow[2].cwd: an opening {{ has no closing }}"),
        ("cwd: '{% if x %}'", "workflow[2].cwd: statements"),
        ("params: {a: [1, '{{ nope }}']}", "6:73: workflow[2].params.a[1]: unknown variable `nope`"),
        ("env: {A: '{{ secret.X + 1 }}'}", "workflow[2].env.A: a secret can only stand alone"),
        ("when: '{{ steps.first.result'", "workflow[2].when: not an expression"),
        ("when: attempt > 1", "workflow[2].when: unknown variable `attempt`"),
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
    ],
)
def test_wrong_expressions(keys, expected):
    found = findings_of(ONE_STEP.format(keys=keys))
    assert any(expected in line for line in found), "\n".join(found)
    assert all(line.startswith("w.yaml:6:") for line in found)


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
