"""Holds valid workflow files, and wrong steps with the messages about them, for tests of the reader and of the JSON Schema."""

from __future__ import annotations

from tenax.model.definition.types import RUNTIMES, STEP_TYPES
from tenax.model.definition.workflow import Concurrency

EVERYTHING = """
    name: nightly-sync
    version: 1.10
    description: All that a file may say.
    input:
      url: {type: string, required: true}
      limit: {type: integer, minimum: 1, default: 5}
      shape: {type: object, required: [a], properties: {a: {type: string}}}
    defaults: {retry: {max_attempts: 3}, timeout: 90s, queue: slow, queue_ttl: 1h, priority: 2}
    deadline: 2h
    outputs: {rows: "{{ steps.load.result.count }}"}
    workflow:
      - step: fetch
        type: http
        url: "{{ input.url }}"
        method: post
        headers: {X-Trace: "1", X-Count: 007x}
        params: {page: 2, all: true, tag: [a, b]}
        json: {since: 2024-01-01, deep: [1, null, yes]}
        follow_redirects: false
        dependency: warehouse
        retry:
          max_attempts: unlimited
          give_up_after: 1d
          jitter: full
          retry_when: "{{ status_code >= 500 or error != None }}"
          rules:
            - on: [http_429]
              max_attempts: 3
            - {when: "status_code == 418", retry: no}
        next: [{step: load}, check]
      - step: load
        type: python
        task: mytasks.etl:process
        args: {row: "{{ steps.fetch.result.data }}"}
        goal: true
        timeout: 250ms
        queue: fast
        queue_ttl: 10
        priority: 9
        labels: {zone: eu, cores: 16}
      - step: check
        type: process
        command: [sleep, 5, "{{ input.limit }}"]
        env: {PORT: 8080}
        cwd: /tmp
        params: [1, 2]
        when: "{{ input.limit > 1 }}"
        needs: load
        retry: false
      - {step: last, type: process, command: echo done, needs: [check, load]}
"""

FLOW = """
    name: orders
    input: {orders: {type: array}}
    defaults: {timeout: 90s, queue: slow, queue_ttl: 1h, priority: 2}
    workflow:
      - step: charge
        type: http
        url: "http://pay/{{ item.id }}"
        async: {deadline: 1h}
        for_each: "{{ input.orders }}"
        parallelism: 20
        tolerate: 2.5%
        on_failure: {step: invoice}
        retry:
          vary:
            - {}
            - {url: "http://other/{{ index }}", method: put, headers: {X-Try: 2}}
        compensate: {type: python, task: refund, args: ["{{ result }}"], retry: 5, timeout: 1m, labels: {zone: eu}}
      - {step: invoice, type: python, task: t}
      - {step: nap, type: sleep, for: 5m, needs: charge}
      - {step: dawn, type: sleep, at: 2030-01-31T06:00:00+01:00}
      - {step: later, type: sleep, for: "{{ input.orders | length }}"}
      - {step: approve, type: wait, deadline: 2d, goal: true}
      - {step: paid, type: wait, signal: "paid-{{ execution_id }}", on_failure: continue}
      - {step: ship, type: workflow, workflow: shipping@1.10, input: {order: "{{ input.orders }}"}, timeout: 1d}
      - {step: pack, type: workflow, file: parts/pack.yaml, on_failure: {value: {boxes: 0}}}
      - step: poll
        type: process
        command: ["job", "{{ previous }}"]
        until: {condition: "{{ result.done }}", delay: 250ms, max_polls: unlimited, deadline: 2h}
      - {step: page, type: python, task: t, until: not data.next, for_each: [1, [2], {three: 3}], tolerate: 1}
"""


def step(keys: str) -> str:
    """Returns a file whose only step has these keys, on line 3."""
    return f"name: w\nworkflow:\n  - {{step: a, {keys}}}\n"


NOT_YET = "is not supported by this version of Tenax yet"

STEPS = {
    "type: python, task: t, budget: {}": "workflow[0].budget: a budget needs `cost_usd`, `tokens`, or both",
    "type: python, task: t, budget: {cost_usd: 0}": "budget.cost_usd: must be more than 0",
    "type: python, task: t, budget: {cost_usd: many}": "budget.cost_usd: expected an amount in USD",
    "type: python, task: t, budget: {tokens: 1.5}": "budget.tokens: expected a whole number",
    "type: python, task: t, budget: {dollars: 1}": "unknown key `dollars` in `budget`",
    "type: sleep, for: 1m, budget: {tokens: 1}": "`budget` cannot stand in a sleep step",
    "type: agent": "workflow[0]: `prompt` is missing: an agent step needs what the agent is to do",
    "type: agent, prompt: x, tier: tribun": "tier: unknown tier `tribun`; did you mean `tribune`?",
    'type: agent, prompt: x, tier: "{{ input.t }}"': "tier: a template cannot stand here",
    "type: agent, prompt: x, task: t": "`task` belongs to python steps; this one is agent",
    "type: agent, prompt: x, command: []": "command: must not be empty",
    "type: agent, prompt: x, retry: {vary: [{tier: tribune}]}": "`tier` cannot vary",
    "type: pod, command: x": f"workflow[0].type: the step type `pod` {NOT_YET}",
    "task: t": f"workflow[0]: `type` is missing: write one of {', '.join(STEP_TYPES)}",
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
    PYTHON + "compensate: {task: t}": f"compensate: `type` is missing: write one of {', '.join(RUNTIMES)}",
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

BY_CUSTOMER = "{{ input.customer }}"

CONCURRENCY_FORMS = {
    "5": Concurrency(limit=5),
    "1000000": Concurrency(limit=1_000_000),
    "{limit: 5}": Concurrency(limit=5),
    "{limit: 5, action: charge-api}": Concurrency(limit=5, action="charge-api"),
    f"{{limit: 2, key: '{BY_CUSTOMER}'}}": Concurrency(key=BY_CUSTOMER, key_limit=2),
    f"{{limit: 2, action: api, key: '{BY_CUSTOMER}'}}": Concurrency(
        action="api", key=BY_CUSTOMER, key_limit=2
    ),
    f"{{limit: 9, key: '{BY_CUSTOMER}', key_limit: 2}}": Concurrency(9, None, BY_CUSTOMER, 2),
    f"{{limit: 2, key: 'x-{BY_CUSTOMER}', key_limit: 2, action: api}}": Concurrency(
        2, "api", f"x-{BY_CUSTOMER}", 2
    ),
}

WRONG_CONCURRENCY = {
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
    f"concurrency: {{key: '{BY_CUSTOMER}', key_limit: 1}}": "workflow[0].concurrency: `limit` is missing",
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
    f"concurrency: {{limit: 5, key: '{BY_CUSTOMER}', key_limit: 0}}": "concurrency.key_limit: must be from 1 to 1000000",
    f"concurrency: {{limit: 5, key: '{BY_CUSTOMER}', key_limit: 6}}": "concurrency.key_limit: never reached: all keys "
    "together may have 5, by `limit`",
}
