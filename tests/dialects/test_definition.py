"""Checks that a definition written as a file reads back as the same definition."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.strategies.workflow_texts import EVERYTHING, FLOW

from tenax.dialects.native.definition import definition_text
from tenax.model.definition.workflow import Workflow
from tenax.model.parse.parse import parse_workflow, workflow_hash

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*.yaml") if "\nworkflow:" in path.read_text())
RARE = """
    name: rare
    budget: {cost_usd: 2.5, tokens: 1000}
    defaults: {timeout: 10m, retry: false}
    workflow:
      - {step: own, action: weather.summary, params: {city: "{{ input.city }}"}, timeout: 5m}
      - {step: inherits, action: weather.summary, needs: own, concurrency: 3}
      - {step: five, type: python, task: t, timeout: 5m, concurrency: {limit: 2, key: "{{ item }}", key_limit: 1, action: x}, for_each: [1]}
      - {step: keyed, type: python, task: t, concurrency: {limit: 2, key: "{{ item }}"}, for_each: "{{ input.all }}", tolerate: 64.1%}
      - {step: think, type: agent, prompt: "Say\\n  yes\\n", tier: tribune, role: judge, model: m, budget: {cost_usd: 0.5}, env: {A: "1"}}
      - {step: undone, type: http, url: "http://a", compensate: {action: weather.summary}}
      - {step: nothing, type: http, url: "http://a", json: null, on_failure: {value: null}}
      - {step: odd, type: python, task: t, args: ["yes", "012", 1.0, 1e-7, "a: b", [], {}], retry: true, when: "yes"}
"""


@pytest.mark.parametrize(
    "text", [EVERYTHING, FLOW, RARE, *(pytest.param(path.read_text(), id=path.stem) for path in EXAMPLES)]
)
def test_it_reads_back_as_the_same_definition(text):
    workflow = parse_workflow(text)
    written = definition_text(workflow)
    again = parse_workflow(written)
    assert again.as_dict() == workflow.as_dict()
    assert workflow_hash(again) == workflow_hash(workflow)
    assert workflow_hash(Workflow.from_dict(workflow.as_dict())) == workflow_hash(again)


def test_it_is_written_for_people():
    flow = definition_text(parse_workflow(FLOW))
    for line in (
        '    tolerate: "2.5%"',
        "    on_failure: continue",
        "timeout: 1m",
        "max_polls: unlimited",
        "    queue_ttl: 1h",
    ):
        assert line in flow
    assert [
        line for line in flow.splitlines() if line.endswith((": {}", "parallelism: 1", "method: GET"))
    ] == []
