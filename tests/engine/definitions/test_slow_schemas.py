"""Tests input schemas that take for ever: they fail their own execution, and delay no other."""

from __future__ import annotations

import asyncio
import json

import pytest
from support.attack.loop_holds import free_loop
from support.child_workflows import children_of
from support.hand import one_postgres

from tenax.engine.external import server_steps
from tenax.errors import InvalidDefinition, InvalidInput
from tenax.model.attempt.outcome import Facts, Outcome

pytestmark = [one_postgres, pytest.mark.settings(input_time=0.5)]

PATTERN = {"type": "string", "pattern": "^([a-z0-9]+[._-]?)+@x$"}
TEXT = "a" * 44
HIDDEN = {"type": "object", "patternProperties": {PATTERN["pattern"]: {}}, "additionalProperties": False}
NESTED = {
    "$defs": {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    | {"d40": {"type": "integer"}},
    "if": {"type": "string"},
    "then": {"$ref": "#/$defs/d0"},
}
CHILD = {"name": "child", "workflow": [{"step": "do", "type": "python", "task": "t:t"}]}
PARENT = """
name: parent
workflow:
  - {step: first, type: python, task: "t:t"}
  - {step: call, type: workflow, workflow: child, needs: first, input: {x: "{{ steps.first.result }}"}}
"""
ONE_CHILD = "name: quick\nworkflow: [{step: call, type: workflow, workflow: plain}]\n"
HOSTILE = [(PATTERN, TEXT), (HIDDEN, {TEXT: 1}), (NESTED, "no number")]


def taking(schema: dict) -> str:
    return json.dumps(CHILD | {"input": {"x": schema}})


@pytest.mark.parametrize(("schema", "value"), HOSTILE)
async def test_a_submission_is_refused_with_the_limit(hand, schema, value):
    with free_loop():
        with pytest.raises(
            InvalidInput, match=r"its check was ended after 0\.5 s of processor time \(`input_time`\)"
        ):
            await hand.submit(taking(schema), input={"x": value})
        assert await hand.submit() > 0


@pytest.mark.parametrize(("schema", "value"), HOSTILE)
async def test_a_child_fails_and_is_not_begun_again(hand, schema, value):
    await hand.engine.store_workflow(taking(schema))
    await hand.engine.store_workflow(taking({}).replace("child", "plain"))
    with free_loop():
        id_, first = await hand.start(PARENT)
        await hand.succeed(first, value)
        other = await hand.submit(ONE_CHILD)
        await hand.engine.server_steps.start()
        assert await children_of(hand, other), "nobody waits for the slow one"
        await hand.engine.server_steps.finish_slow()
    found = await hand.get(id_)
    assert found["status"] == "failed"
    assert (found["failure"]["class"], found["failure"]["reason"]) == ("invalid", "invalid_parameters")
    assert "ended after 0.5 s of processor time (`input_time`)" in found["failure"]["message"]
    assert await (await hand.restarted()).engine.server_steps.start() == 0


async def test_a_slow_check_that_passes_starts_the_child(hand):
    """Two alternatives, so the pattern is not provably short; it ends all the same."""
    await hand.engine.store_workflow(taking({"type": "string", "pattern": "^(ab|cd)$"}))
    id_, first = await hand.start(PARENT)
    await hand.succeed(first, "ab")
    await hand.engine.server_steps.start()
    await hand.engine.server_steps.finish_slow()
    [child] = await children_of(hand, id_)
    assert child["status"] == "running"


MANY = """
name: many
workflow:
  - step: call
    type: workflow
    workflow: child
    for_each: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    parallelism: 12
    input: {x: ab}
"""


async def test_more_slow_children_than_may_wait_start_as_soon_as_there_is_room(hand, monkeypatch):
    monkeypatch.setattr(server_steps, "MOST_SLOW_OF_ONE", 4)
    await hand.engine.store_workflow(taking({"type": "string", "pattern": "^(ab|cd)$"}))
    id_ = await hand.submit(MANY)
    steps = hand.engine.server_steps
    for _ in range(12):
        await steps.start()
        await steps.finish_slow()
    assert len(await children_of(hand, id_)) == 12


async def test_an_execution_with_too_many_slow_children_delays_no_other(hand, monkeypatch):
    monkeypatch.setattr(server_steps, "MOST_SLOW_OF_ONE", 1)
    await hand.engine.store_workflow(taking(PATTERN))
    await hand.engine.store_workflow(taking({}).replace("child", "plain"))
    await hand.submit(MANY.replace("x: ab", f"x: {TEXT}"))
    await hand.engine.server_steps.start()
    other = await hand.submit(ONE_CHILD)
    await hand.engine.server_steps.start()
    assert await children_of(hand, other)
    hand.engine.server_steps.close()


async def test_errors_that_are_found_aside_say_path_and_cause(hand):
    source = taking({"type": "object", "properties": {"a": {"pattern": "^(x|y)$"}}})
    with pytest.raises(InvalidInput) as raised:
        await hand.submit(source, input={"x": {"a": "z"}, "y": 1})
    assert raised.value.message.splitlines() == [
        "the input does not fit workflow `child`:",
        "  y: there is no such input (there are: x)",
        "  x.a: 'z' does not match '^(x|y)$'",
    ]


@pytest.mark.settings(input_time=20.0)
async def test_many_objects_are_compared_in_linear_time(hand):
    source = taking({"type": "array", "uniqueItems": True})
    rows = [{"n": n, "of": [True, 1.5]} for n in range(20_000)]
    with free_loop():
        assert await hand.submit(source, input={"x": rows}) > 0
        with pytest.raises(InvalidInput, match="x: "):
            await hand.submit(source, input={"x": [*rows, {"of": [True, 1.5], "n": 7.0}]})


@pytest.mark.settings(definition_time=1.0)
async def test_a_hostile_default_is_refused_with_the_definition(hand):
    source = taking(PATTERN | {"default": TEXT})
    with (
        free_loop(),
        pytest.raises(InvalidDefinition, match=r"within 1 s of processor time \(`definition_time`\)"),
    ):
        await hand.submit(source)


async def test_schemas_and_inputs_have_limits_of_size(hand):
    with pytest.raises(InvalidDefinition, match=r"values in the schemas of the inputs; 5,000 are allowed"):
        await hand.submit(taking({"enum": list(range(6_000))}))
    with pytest.raises(InvalidInput, match=r"more than 8,000,000 bytes \(`max_input`\)"):
        await hand.submit(taking({}), input={"x": ["x" * 100] * 90_000})


async def test_checks_wait_for_a_process_and_not_for_each_other(hand):
    """More hostile submissions than processes: everybody gets an answer."""
    source = taking(PATTERN)
    async with asyncio.timeout(60):
        answers = await asyncio.gather(
            *(hand.submit(source, input={"x": TEXT}) for _ in range(4)),
            hand.submit(source, input={"x": "a.b@x"}),
            return_exceptions=True,
        )
    assert [type(answer) for answer in answers] == [InvalidInput] * 4 + [int]


RULES = "\n".join(
    f'        - {{when: "{{{{ {" or ".join(["(data|string) in (data|string|upper)"] * 20)} }}}}", retry: true}}'
    for _ in range(10)
)
CONDITIONS = f"""
name: conditions
workflow:
  - step: only
    type: python
    task: "t:t"
    retry:
      max_attempts: 5
      rules:
{RULES}
"""


@pytest.mark.settings(max_evidence=16_000_000)
async def test_conditions_over_large_data_end_in_a_decision(hand):
    rows = [{"name": f"row {n}", "value": n} for n in range(20_000)]  # 0.7 MB
    id_, first = await hand.start(CONDITIONS)
    with free_loop():
        await hand.report(first, Outcome("failed", facts=Facts(status_code=503, data=rows)))
    events = await hand.events(id_)
    [failed] = [e for e in events if e["type"] == "step_failed_terminal"]
    decision = failed["data"]["decision"]
    assert (decision["verdict"], decision["rule"]) == ("fail", "condition_error")
    assert "more than 1,000,000 units of work (`expression_work`" in decision["reason"]
    assert (await hand.engine.verify()).violations == []


LARGE = """
name: large
workflow:
  - {step: first, type: python, task: "t:t"}
  - step: second
    type: python
    task: "t:t"
    needs: first
    args: {rows: ["{{ steps.first.result }}", "{{ steps.first.result }}", "{{ steps.first.result }}"]}
"""


@pytest.mark.settings(max_rendered=1_000_000)
async def test_templates_give_a_bounded_number_of_bytes(hand):
    id_, first = await hand.start(LARGE)
    await hand.succeed(first, ["x" * 40] * 10_000)
    with free_loop():
        assert await hand.lease() == []
        await hand.settle_down()
    failure = (await hand.get(id_))["failure"]
    assert (failure["class"], failure["reason"]) == ("invalid", "template_error")
    assert "args.rows[2]" in failure["message"]
    assert "more than 1,000,000 bytes (`max_rendered`)" in failure["message"]


@pytest.mark.settings(input_time=20.0)
@pytest.mark.parametrize("pattern", ["ab" * 300_000, "[Ā-\uffff]" * 300, r"[\u0100-\uffff]" * 130])
async def test_patterns_that_take_long_to_compile_are_compiled_aside(hand, pattern):
    source = taking({"type": "string", "pattern": f"^{pattern}$"})
    await hand.engine.store_workflow(source)
    with free_loop():
        with pytest.raises(InvalidInput, match="does not match"):
            await hand.submit(None, workflow="child", input={"x": "c"})
        assert await hand.submit() > 0


@pytest.mark.settings(input_time=20.0, aside_memory=256_000_000)
async def test_a_process_aside_has_bounded_memory(hand):
    """The text is short, and what is read from it is not."""
    with pytest.raises(
        InvalidInput, match=r"more memory than its process has: 256,000,000 bytes \(`aside_memory`\)"
    ):
        await hand.submit(taking({"uniqueItems": True}), input={"x": [{"a": n} for n in range(500_000)]})
    assert await hand.submit(taking(PATTERN), input={"x": "a.b@x"}) > 0
