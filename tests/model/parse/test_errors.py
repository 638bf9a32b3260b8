"""Tests wrong files, and the exact messages about them."""

from __future__ import annotations

from textwrap import dedent

import pytest
from support.strategies.workflow_texts import MORE_STEPS, STEPS, step

from tenax.errors import InvalidDefinition
from tenax.model.parse.parse import parse_workflow
from tenax.model.source.findings import MOST_FINDINGS


def findings_of(text: str | bytes) -> list[str]:
    with pytest.raises(InvalidDefinition) as raised:
        parse_workflow(text, filename="w.yaml")
    return [str(finding) for finding in raised.value.findings]


WHOLE_FILES = {
    "everything at once": (
        """\
        name: x y
        verson: 1
        defaults: {retry: {max_attempts: 0}, timeot: 3}
        deadline: soon
        workflow:
          - step: a
            type: http
            url: {{ input.url }}
            metod: GET
            command: ls
            needs: [b, zz, a]
          - step: b
            type: proces
            priority: 10
            priority: 11
          - step: b
            type: python
          - ls
        """,
        [
            "w.yaml:1:1: name: `x y` is not a name: use up to 200 letters, digits, _, - and .",
            "w.yaml:2:1: verson: unknown key `verson` at the top of the file; did you mean `version`?",
            "w.yaml:3:20: defaults.retry.max_attempts: max_attempts counts the first attempt too",
            "w.yaml:3:38: defaults.timeot: unknown key `timeot` in `defaults`; did you mean `timeout`?",
            "w.yaml:4:1: deadline: 'soon' is not a duration",
            'w.yaml:8:11: workflow[0].url: a key must be text; if this is a template, quote it: "{{ ... }}"',
            "w.yaml:9:5: workflow[0].metod: unknown key `metod` in an http step; did you mean `method`?",
            "w.yaml:10:5: workflow[0].command: `command` belongs to process and agent steps; this one is http",
            "w.yaml:11:16: workflow[0].needs[1]: unknown step `zz` (there are: a, b)",
            "w.yaml:11:20: workflow[0].needs[2]: the step `a` names itself: a -> a",
            "w.yaml:13:5: workflow[1].type: unknown step type `proces`; did you mean `process`?",
            "w.yaml:14:5: workflow[1].priority: must be from 0 to 9, found 10",
            "w.yaml:15:5: workflow[1].priority: the key `priority` is given twice, first on line 14; keep one",
            "w.yaml:16:5: workflow[2]: `task` is missing: a python step needs its function",
            "w.yaml:16:5: workflow[2].step: the name `b` is taken by an earlier step (line 12)",
            "w.yaml:18:5: workflow[3]: a step is a mapping that begins with `step: NAME`",
        ],
    ),
    "a circle by needs and next": (
        """\
        name: w
        workflow:
          - {step: z, type: python, task: t}
          - {step: a, type: python, task: t, next: b}
          - {step: b, type: python, task: t, next: [{step: c}]}
          - {step: c, type: python, task: t}
          - {step: d, type: python, task: t, needs: [c]}
          - {step: a2, type: python, task: t, needs: b2}
          - {step: b2, type: python, task: t, needs: a2}
          - {step: tail, type: python, task: t, needs: c, next: a}
        """,
        [
            "w.yaml:4:6: workflow[1].step: the steps wait for each other in a circle: a -> b -> c -> tail -> a",
            "w.yaml:8:6: workflow[5].step: the steps wait for each other in a circle: a2 -> b2 -> a2",
        ],
    ),
    "fallbacks that go wrong": (
        """\
        name: w
        workflow:
          - {step: a, type: python, task: t, on_failure: {step: f}}
          - {step: b, type: python, task: t, on_failure: {step: f}}
          - {step: c, type: python, task: t, on_failure: {step: d}}
          - {step: d, type: python, task: t, on_failure: {step: c}}
          - {step: e, type: python, task: t, on_failure: {step: g}, needs: g}
          - {step: f, type: python, task: t}
          - {step: g, type: python, task: t}
        """,
        [
            "w.yaml:4:51: workflow[1].on_failure.step: the step `f` is the fallback of `a` already (line 3)",
            "w.yaml:5:6: workflow[2].step: the steps wait for each other in a circle: c -> d -> c",
            "w.yaml:7:6: workflow[4].step: the steps wait for each other in a circle: e -> g -> e",
        ],
    ),
    "nothing that is needed": (
        "description: x\n",
        [
            "w.yaml:1:1: `workflow` is missing: the list of steps",
            "w.yaml:1:1: `name` is missing: every workflow has a name",
        ],
    ),
    "no steps": ("name: w\nworkflow: []\n", ["w.yaml:2:1: workflow: a workflow has at least one step"]),
    "steps as a mapping": (
        "name: w\nworkflow: {a: 1}\n",
        ["w.yaml:2:1: workflow: expected a list of steps, found a mapping"],
    ),
    "a list": ("- a\n", ["w.yaml:1:1: a definition is a mapping with at least `name` and `workflow`"]),
    "inputs": (
        """\
        name: w
        workflow: [{step: a, type: process, command: ls}]
        input:
          a: string
          b: {type: strin}
          c: {type: integer, default: x}
          d: {pattern: "["}
          e: {requierd: true}
          f: {$ref: "#"}
          g: {$ref: "#/nowhere"}
          h: {items: {$ref: "http://example.org/s"}}
          i: {required: true, default: 1}
          j: {required: 1}
        """,
        [
            "w.yaml:4:3: input.a: an input is a JSON Schema such as {type: string}",
            "w.yaml:5:7: input.b.type: not valid JSON Schema: 'strin' is not valid",
            "w.yaml:6:22: input.c.default: does not fit the input's own schema: expected integer, found text",
            "w.yaml:7:7: input.d.pattern: not valid JSON Schema: '[' is not a 'regex'",
            "w.yaml:8:7: input.e.requierd: unknown key `requierd` in an input's schema; did you mean `required`?",
            "w.yaml:9:3: input.f: its schema refers to itself without end",
            "w.yaml:10:3: input.g: its schema has a `$ref` that leads nowhere",
            'w.yaml:11:15: input.h.items["$ref"]: `$ref` must stay within the schema',
            "w.yaml:12:7: input.i.required: an input with a `default` is never missing",
            "w.yaml:13:7: input.j.required: expected true or false, found a number (1)",
        ],
    ),
    "a tab": (
        "name: w\nworkflow:\n\t- step: a\n",
        ["w.yaml:3:1: not valid YAML: a tab where only spaces may indent; replace it with spaces"],
    ),
    "broken YAML": (
        "name: w: x\n",
        ["w.yaml:1:8: not valid YAML: mapping values are not allowed in this context"],
    ),
    "broken YAML beside a template": (
        "name: w\nversion: {{ x }} y\n",
        [
            "w.yaml:2:11: version: a key must be text",
            "w.yaml:2:18: not valid YAML: did not find expected key (while parsing a block mapping); a value with {{ }}",
        ],
    ),
}


@pytest.mark.parametrize("case", WHOLE_FILES)
def test_whole_files(case):
    text, expected = WHOLE_FILES[case]
    found = findings_of(dedent(text))
    assert len(found) == len(expected), "\n".join(found)
    for line, start in zip(found, expected, strict=True):
        assert line.startswith(start)


@pytest.mark.parametrize("keys", STEPS)
def test_wrong_steps(keys):
    found = findings_of(step(keys))
    assert any(STEPS[keys] in line and line.startswith("w.yaml:3:") for line in found), "\n".join(found)


@pytest.mark.parametrize("keys", MORE_STEPS)
def test_wrong_steps_of_all_kinds(keys):
    (found,) = findings_of(step(keys))
    assert MORE_STEPS[keys] in found
    assert found.startswith("w.yaml:3:")


@pytest.mark.parametrize("name", ["a b", "a.b", "-a", "ä", "a" * 101, ""])
def test_names_of_steps(name):
    (found,) = findings_of(f"{{name: w, workflow: [{{step: '{name}', type: python, task: t}}]}}")
    assert found.startswith("w.yaml:1:23: workflow[0].step: ")


def test_a_step_without_a_name_is_looked_at_all_the_same():
    found = findings_of(
        "name: w\nworkflow: [{type: python, task: t, until: 5, parallelism: 1, compensate: x, when: 5}]\n"
    )
    assert len(found) == 5


def test_a_key_that_cannot_be_there_is_one_mistake():
    (found,) = findings_of(step("type: python, task: t, parallelism: many"))
    assert "`parallelism` is for the items of `for_each`, which this step does not have" in found


def test_rules_about_several_keys_do_not_hide_other_mistakes():
    found = findings_of(step("type: http, url: 5, json: 1, body: x, method: POTS, tolerate: 1"))
    assert len(found) == 4, "\n".join(found)


def test_no_file_name():
    with pytest.raises(InvalidDefinition, match=r"^1:1: `workflow` is missing"):
        parse_workflow("name: w")


def test_many_errors_end_somewhere():
    steps = "".join(f" - {{step: s{i}, type: python, task: t, needs: t{i}}}\n" for i in range(5_000))
    found = findings_of("name: w\nworkflow:\n" + steps)
    assert len(found) == MOST_FINDINGS + 1
    assert found[-1] == f"w.yaml: these are the first {MOST_FINDINGS} errors; there may be more"


def test_texts_of_the_file_are_cut_short_in_messages():
    (found,) = findings_of(f"name: w\nworkflow:\n - {{step: a, type: python, task: t, {'k' * 900}: 1}}\n")
    assert len(found) < 300
