"""Wrong files and exactly what is said about them."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tenax.errors import InvalidDefinition
from tenax.model.parse.findings import MOST_FINDINGS
from tenax.model.parse.parse import parse_workflow


def findings_of(text: str | bytes) -> list[str]:
    with pytest.raises(InvalidDefinition) as raised:
        parse_workflow(text, filename="w.yaml")
    return [str(finding) for finding in raised.value.findings]


def step(keys: str) -> str:
    """A file whose only step has these keys, on line 3."""
    return f"name: w\nworkflow:\n  - {{step: a, {keys}}}\n"


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
            "w.yaml:10:5: workflow[0].command: `command` belongs to process steps; this one is http",
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


NOT_YET = "is not supported by this version of Tenax yet"
STEPS = {
    "type: python, task: t, budget: {}": f"workflow[0].budget: `budget` {NOT_YET}",
    "type: agent, prompt: x": f"workflow[0].type: the step type `agent` {NOT_YET}",
    "type: pod, command: x": f"workflow[0].type: the step type `pod` {NOT_YET}",
    "task: t": "workflow[0]: `type` is missing: write one of python, http, process, sleep, wait, workflow",
    "type: yes": 'type: expected text, found a boolean (yes): quote it: "yes"',
    "type: http": "workflow[0]: `url` is missing",
    "type: process": "workflow[0]: `command` is missing",
    "type: python": "workflow[0]: `task` is missing",
    "type: http, url: example.org/x": "url: `example.org/x` is not a web address",
    "type: http, url: 'ftp://h/{{ input.x }}'": "url: `ftp://h/{{ input.x }}` is not a web address",
    "type: http, url: 'http://[::1'": "is not a web address",
    "type: http, url: 'http://h:99999'": "is not a web address",
    "type: http, url: ''": "url: must not be empty",
    "type: http, url: 5": 'url: expected text, found a number (5): quote it: "5"',
    "type: http, url: 'http://h', method: POTS": "method: unknown method `POTS`; did you mean POST?",
    "type: http, url: 'http://h', json: 1, body: x": "body: `json` and `body` exclude each other: keep one",
    "type: http, url: 'http://h', body: {a: 1}": "body: `body` is text as it is sent; for a list or a mapping use",
    "type: http, url: 'http://h', headers: {A: no}": 'headers.A: expected text, found a boolean (no): quote it: "no"',
    "type: http, url: 'http://h', headers: {'A B': x}": 'headers["A B"]: `A B` cannot be the name of a header',
    'type: http, url: "http://h", headers: {A: "x\\ny"}': "headers.A: a header's value is one line",
    "type: http, url: 'http://h', params: {a: {b: 1}}": "params.a: expected text, a number, or a list of these",
    "type: http, url: 'http://h', follow_redirects: 1": "follow_redirects: expected true or false, found a number (1)",
    "type: process, command: []": "command: must not be empty",
    "type: process, command: [ls, yes]": 'command[1]: expected text, found a boolean (yes): quote it: "yes"',
    "type: process, command: {a: 1}": "command: expected text or a list of text, found a mapping",
    "type: process, command: ls, env: [A]": "env: expected a mapping, found a list",
    "type: process, command: ls, env: {A=B: x}": 'env["A=B"]: `A=B` cannot be the name of an environment variable',
    "type: python, task: 'a b'": "task: `a b` is neither module:function nor the name of a task",
    "type: python, task: 'a:'": "task: `a:` is neither module:function",
    "type: python, task: '{{ input.x }}'": "task: `task` cannot be a template",
    "type: python, task: t, args: 5": "args: expected a mapping (by name), a list (by position)",
    "type: python, task: t, timeout: yes": "timeout: expected a duration such as 30s, 5m or a number of seconds",
    "type: python, task: t, timeout: 0": "timeout: must be longer than zero, found 0",
    "type: python, task: t, timeout: 5 parsecs": "timeout: '5 parsecs' is not a duration",
    "type: python, task: t, timeout: ~": "timeout: expected a duration such as 30s, 5m or a number of seconds, found",
    "type: python, task: t, goal: 'yes'": "goal: expected true or false, found text (yes)",
    "type: python, task: t, priority: high": "priority: expected a whole number from 0 to 9, found text (high)",
    "type: python, task: t, priority: yes": "priority: expected a whole number from 0 to 9, found a boolean (yes)",
    "type: python, task: t, queue: a/b": "queue: `a/b` is not a name",
    "type: python, task: t, queue: off": 'queue: expected text, found a boolean (off): quote it: "off"',
    "type: python, task: t, labels: {a: ~}": "labels.a: expected text, found nothing",
    "type: python, task: t, when: 5": "when: expected text, found a number (5)",
    "type: python, task: t, needs: 5": "needs: expected text: the name of a step, found a number (5)",
    "type: python, task: t, needs: [{step: a}]": "needs[0]: expected text: the name of a step, found a mapping",
    "type: python, task: t, next: {step: A}": "next.step: unknown step `A`; did you mean `a`?",
    "type: python, task: t, next: [{stp: b}]": "next[0].stp: unknown key `stp` in `next`",
    "type: python, task: t, next: {step: b, when: x}": "next.when: `when` stands in the step itself",
    "type: python, task: t, retry: {max_atempts: 3}": "retry.max_atempts: unknown key 'max_atempts'; did you mean",
    "type: python, task: t, retry: {rules: [{on: tiemout, retry: no}]}": "retry.rules[0].on: unknown failure class",
    "type: python, task: t, args: {x: .inf}": "args.x: `.inf` is not a finite number",
    "type: python, task: t, args: {x: 1e999}": "args.x: the number 1e999 is too large",
    "type: python, task: t, args: {x: 99999999999999999999}": "args.x: the number 99999999999999999999 is too large",
    "type: python, task: t, args: {x: 0644}": "args.x: a number that begins with 0 is octal to some readers",
    "type: python, task: t, args: {x: !!python/name:os.system y}": "args.x: the tag `!!python/name:os.system` is not",
    "type: python, task: t, args: !!set {x}": "args: the tag `!!set` is not allowed",
    "type: python, task: t, args: {x: !!int y}": "args.x: the tag `!!int` does not fit this value",
    'type: python, task: t, args: {x: "a\\0b"}': "args.x: the character U+0000 (\\0) cannot be stored as text",
    "type: python, task: t, args: {? [a] : b}": "args: a key must be text",
    "type: python, task: t, args: {<<: 5}": "args: `<<` takes a mapping, or a list of mappings",
}


@pytest.mark.parametrize("keys", STEPS)
def test_wrong_steps(keys):
    found = findings_of(step(keys))
    assert any(STEPS[keys] in line and line.startswith("w.yaml:3:") for line in found), "\n".join(found)


PYTHON = "type: python, task: t, "
NO_TEMPLATE = "a template cannot stand here: the value must be known before anything runs"
MORE_STEPS = {
    PYTHON + "for_each: x": "for_each: expected a list, or a template that gives one, found text (x)",
    PYTHON + "for_each: {a: 1}": "for_each: expected a list, or a template that gives one, found a mapping",
    PYTHON + "for_each: ~": "for_each: expected a list, or a template that gives one, found nothing",
    PYTHON
    + "parallelism: 2": "parallelism: `parallelism` is for the items of `for_each`, which this step does not",
    PYTHON
    + "tolerate: 1": "tolerate: `tolerate` is for the items of `for_each`, which this step does not have",
    PYTHON + "for_each: [], parallelism: 0": "parallelism: must be from 1 to 1000000, found 0",
    PYTHON + "for_each: [], parallelism: '{{ input.n }}'": f"parallelism: {NO_TEMPLATE}",
    PYTHON + "for_each: [], tolerate: '{{ input.n }}'": f"tolerate: {NO_TEMPLATE}",
    PYTHON
    + "for_each: [], tolerate: 101%": "tolerate: expected how many items may fail: a whole number from 0",
    PYTHON
    + "for_each: [], tolerate: -1": "tolerate: expected how many items may fail: a whole number from 0",
    PYTHON + "for_each: [], tolerate: 0.5": "or a percentage from 0% to 100%, found a number (0.5)",
    PYTHON
    + "until: yes": "until: expected text: a condition, or {condition, delay, max_polls, deadline}, found a boolean",
    PYTHON
    + "until: {condition: x, dealy: 1s}": "until.dealy: unknown key `dealy` in `until`; did you mean `delay`?",
    PYTHON + "until: {delay: 1s}": "until: `condition` is missing: what must hold of a result",
    PYTHON + "until: {condition: x, delay: 0}": "until.delay: must be longer than zero, found 0",
    PYTHON
    + "until: {condition: x, max_polls: 0}": "until.max_polls: must be from 1 to 1,000,000,000, or unlimited",
    PYTHON
    + "until: {condition: x, max_polls: no}": "until.max_polls: expected a whole number from 1, or unlimited",
    PYTHON + "until: {condition: x, max_polls: '{{ 1 }}'}": f"until.max_polls: {NO_TEMPLATE}",
    PYTHON + "until: {condition: x, deadline: '{{ 1 }}'}": f"until.deadline: {NO_TEMPLATE}",
    PYTHON
    + "on_failure: a": "on_failure: write continue, {value: ANY} or {step: NAME}; a step is named by {step: a}",
    PYTHON + "on_failure: {}": "on_failure: write continue, {value: ANY} or {step: NAME}",
    PYTHON
    + "on_failure: {vaule: 1}": "on_failure.vaule: unknown key `vaule` in `on_failure`; did you mean `value`?",
    PYTHON
    + "on_failure: {value: 1, step: b}": "on_failure.step: `value` and `step` exclude each other: keep one",
    PYTHON + "on_failure: {step: a}": "on_failure.step: the step `a` names itself: a -> a",
    PYTHON + "on_failure: {step: b}": "on_failure.step: unknown step `b`",
    PYTHON + "on_failure: {step: '{{ x }}'}": f"on_failure.step: {NO_TEMPLATE}",
    PYTHON + "compensate: undo": "compensate: expected a mapping, found text (undo)",
    PYTHON + "compensate: {task: t}": "compensate: `type` is missing: write one of python, http, process",
    PYTHON + "compensate: {type: sleep, for: 1}": "compensate.type: a compensation is an action for a worker",
    PYTHON
    + "compensate: {type: pyton}": "compensate.type: unknown step type `pyton`; did you mean `python`?",
    PYTHON + "compensate: {type: python}": "compensate: `task` is missing: a python step needs its function",
    PYTHON
    + "compensate: {type: python, task: t, when: x}": "compensate.when: `when` cannot stand in `compensate`",
    PYTHON
    + "compensate: {type: python, task: t, tsk: t}": "compensate.tsk: unknown key `tsk` in `compensate`; did you",
    PYTHON
    + "compensate: {type: http, url: 'http://h', async: {deadline: 1}}": "compensate.async: a compensation cannot",
    PYTHON
    + "compensate: {type: python, task: t, retry: 0}": "compensate.retry: max_attempts counts the first attempt",
    PYTHON + "for: 5": "for: `for` belongs to sleep steps; this one is python",
    PYTHON + "deadline: 5": "deadline: `deadline` belongs to wait steps; this one is python",
    "type: sleep": "workflow[0]: `for` is missing: how long (`for: 5m`) or until when",
    "type: sleep, for: 0": "for: must be longer than zero, found 0",
    "type: sleep, for: [1]": "for: expected a duration such as 30s, 5m or a number of seconds, found a list",
    "type: sleep, for: 1, at: '2030-01-01T00:00:00Z'": "at: `for` and `at` exclude each other: keep one",
    "type: sleep, at: tomorrow": "at: 'tomorrow' is not a time: write it as 2030-01-31T09:30:00Z",
    "type: sleep, at: 2030-02-31T00:00:00Z": "at: '2030-02-31T00:00:00Z' is not a time (day is out of range",
    "type: sleep, at: '2030-01-01T00:00:00'": "at: '2030-01-01T00:00:00' is not a time",
    "type: sleep, for: 1, timeout: 5": "timeout: `timeout` cannot stand in a sleep step: the server itself carries it out",
    "type: sleep, for: 1, queue: x": "queue: `queue` cannot stand in a sleep step",
    "type: sleep, for: 1, until: x": "until: `until` cannot stand in a sleep step",
    "type: sleep, for: 1, compensate: {}": "compensate: `compensate` cannot stand in a sleep step: it does nothing",
    "type: sleep, for: 1, task: t": "task: `task` belongs to python steps; this one is sleep",
    "type: wait, timeout: 5": "timeout: `timeout` cannot stand in a wait step: the server itself carries it out, without a "
    "worker; how long it waits at most is its `deadline`",
    "type: wait, signal: a b": "signal: `a b` is not a name",
    "type: wait, deadline: '{{ input.x }}'": f"deadline: {NO_TEMPLATE}",
    "type: wait, signl: x": "signl: unknown key `signl` in a wait step; did you mean `signal`?",
    "type: workflow": "workflow[0]: `workflow` is missing: the child's name (`workflow: NAME`) or its file",
    "type: workflow, workflow: a, file: b": "file: `workflow` and `file` exclude each other: keep one",
    "type: workflow, workflow: a b": "workflow: `a b` is not the name of a workflow: write NAME or NAME@VERSION",
    "type: workflow, workflow: a@": "workflow: `a@` is not the name of a workflow: write NAME or NAME@VERSION",
    "type: workflow, workflow: '{{ input.x }}'": f"workflow: {NO_TEMPLATE}",
    "type: workflow, file: /etc/x.yaml": "file: `/etc/x.yaml` is not a path from this file's folder",
    "type: workflow, file: 'http://h/x.yaml'": "file: `http://h/x.yaml` is not a path from this file's folder",
    "type: workflow, file: '{{ input.x }}.yaml'": f"file: {NO_TEMPLATE}",
    "type: workflow, workflow: a, input: [1]": "input: expected a mapping of inputs, or a template that gives one",
    "type: workflow, workflow: a, labels: {a: b}": "labels: `labels` cannot stand in a workflow step",
    "type: workflow, workflow: a, until: x": "until: `until` cannot stand in a workflow step",
    "type: http, url: 'http://h', async: yes": "async: expected a mapping, found a boolean (yes)",
    "type: http, url: 'http://h', async: {}": "async: `deadline` is missing: how long the callee may take",
    "type: http, url: 'http://h', async: {deadline: 1, deadlin: 1}": "async.deadlin: unknown key `deadlin` in `async`; did you mean",
    "type: http, url: 'http://h', async: {deadline: '{{ 1 }}'}": f"async.deadline: {NO_TEMPLATE}",
    PYTHON + "timeout: '{{ input.x }}'": f"timeout: {NO_TEMPLATE}",
    PYTHON
    + "retry: {vary: {args: {}}}": "retry.vary: vary must be a list of mappings, one for each attempt, not a mapping",
    PYTHON + "retry: {vary: [5]}": "retry.vary[0]: an entry of vary must be a mapping of the step's own keys",
    PYTHON
    + "retry: {vary: [{}, {agrs: {}}]}": "retry.vary[1].agrs: `agrs` is no key of python steps that could vary; "
    "did you mean `args`?",
    PYTHON
    + "retry: {vary: [{url: x}]}": "retry.vary[0].url: `url` is no key of python steps that could vary",
    PYTHON + "retry: {vary: [{args: 5}]}": "retry.vary[0].args: expected a mapping (by name), a list",
    PYTHON
    + "retry: {rules: [{on: timeout, vary: []}]}": "retry.rules[0].vary: a rule cannot have vary of its own",
    "type: http, url: 'http://h', json: 1, retry: {vary: [{body: x}]}": "retry.vary[0].body: `json` and `body` exclude",
    "type: http, url: 'http://h', retry: {vary: [{headers: {A: no}}]}": "retry.vary[0].headers.A: expected text",
    "type: http, url: 'http://h', async: {deadline: 1}, retry: {vary: [{async: {deadline: 2}}]}": "`async` cannot vary",
    "type: workflow, workflow: a, retry: {vary: [{workflow: b}]}": "retry.vary[0].workflow: `workflow` cannot vary: which",
    PYTHON
    + "compensate: {type: process, command: ls, retry: {vary: [{args: []}]}}": "compensate.retry.vary[0].args: "
    "`args` is no key of process steps that could vary",
}


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
