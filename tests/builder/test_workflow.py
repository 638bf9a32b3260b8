"""Tests which file a workflow of Python becomes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

import pytest
from builder import builder_tasks as tasks

from tenax import RetryPolicy, Workflow
from tenax.builder.steps import Step
from tenax.model.definition.types import STEP_TYPES
from tenax.model.source.yaml_source import read_source
from tenax.policy.check import load_workflow
from tenax.policy.expressions.templates import TEMPLATE_VARIABLES
from tenax.policy.expressions.visible_names import STEP_FACTS

TASKS = tasks.__name__


def data_of(workflow: Workflow) -> dict[str, Any]:
    text = workflow.to_yaml()
    load_workflow(text)
    data: dict[str, Any] = read_source(text).data
    return data


def steps_of(workflow: Workflow) -> dict[str, dict[str, Any]]:
    return {step["step"]: step for step in data_of(workflow)["workflow"]}


def test_an_order() -> None:
    wf = Workflow("order", input={"order": {"type": "object", "required": True}}, retry={"max_attempts": 3})
    pay = wf.step(tasks.charge, order=wf.input.order, retry=5, timeout="30s")
    pay.compensate(tasks.refund, receipt=wf.result.receipt, retry=10)
    allowed = wf.wait("allow", needs=pay, when=pay.result.total > 100, deadline="2d")
    wf.step(tasks.ship, needs=allowed, receipt=pay.result.receipt)
    wf.outputs = {"parcel": wf.steps["ship"].result.parcel}
    assert data_of(wf) == {
        "name": "order",
        "input": {"order": {"type": "object", "required": True}},
        "defaults": {"retry": {"max_attempts": 3}},
        "outputs": {"parcel": "{{ steps.ship.result.parcel }}"},
        "workflow": [
            {
                "step": "charge",
                "type": "python",
                "task": f"{TASKS}:charge",
                "args": {"order": "{{ input.order }}"},
                "retry": 5,
                "timeout": "30s",
                "compensate": {
                    "type": "python",
                    "task": f"{TASKS}:refund",
                    "args": {"receipt": "{{ result.receipt }}"},
                    "retry": 10,
                },
            },
            {
                "step": "allow",
                "type": "wait",
                "needs": "charge",
                "when": "{{ steps.charge.result.total > 100 }}",
                "deadline": "2d",
            },
            {
                "step": "ship",
                "type": "python",
                "needs": "allow",
                "task": "ship-parcel",
                "args": {"receipt": "{{ steps.charge.result.receipt }}"},
            },
        ],
    }


def test_a_step_needs_the_steps_that_it_reads() -> None:
    wf = Workflow("reads", input={"rows": list[int]})
    first = wf.step(tasks.refund, step="first", receipt="1")
    second = wf.step(tasks.refund, step="second", receipt="2")
    wf.step(tasks.refund, step="value", receipt=first.result)
    wf.step(tasks.refund, step="both", needs=first, receipt=f"{first.result} and {second.result}")
    wf.process("shell", command=f"echo {first.result} | {second.result | 'raw'}")
    wf.http("condition", url="https://x.example", when=second.status == "completed")
    wf.process("list", command=["ls"], for_each=[first.result, 2], params={"deep": [{"text": wf.item}]})
    after = wf.step(tasks.refund, step="after", needs=second, receipt="3")
    wf.step(tasks.refund, step="far", needs=after, receipt=second.result)
    needs = {name: step.get("needs") for name, step in steps_of(wf).items()}
    assert needs == {
        "first": None,
        "second": None,
        "value": "first",
        "both": ["first", "second"],
        "shell": ["first", "second"],
        "condition": "second",
        "list": "first",
        "after": "second",
        "far": "after",
    }


def test_a_fallback_may_read_the_failure_of_the_step_that_it_replaces() -> None:
    wf = Workflow("fallback")
    old = wf.step(tasks.refund, step="old", receipt=wf.steps.new.failure.reason)
    new = wf.step(tasks.refund, step="new", receipt="x", on_failure=old)
    wf.step(tasks.refund, step="last", receipt=new.result)
    assert "needs" not in steps_of(wf)["old"]
    assert steps_of(wf)["new"]["on_failure"] == {"step": "old"}


def test_a_step_stands_for_its_result_and_for_its_name() -> None:
    wf = Workflow("stands-for")
    first = wf.step(tasks.refund, step="first", receipt="1")
    second = wf.step(tasks.refund, step="second", receipt=first)
    third = wf.step(tasks.refund, step="third", needs=[first, "second"], receipt="3")
    wf.step(tasks.refund, step="zeroth", next=[{"step": first}, third], receipt="0")
    wf.step(tasks.refund, step="last", on_failure={"value": [second]}, receipt="4")
    steps = steps_of(wf)
    assert steps["second"]["args"] == {"receipt": "{{ steps.first.result }}"}
    assert steps["third"]["needs"] == ["first", "second"]
    assert steps["zeroth"]["next"] == [{"step": "first"}, "third"]
    assert steps["last"]["on_failure"] == {"value": ["{{ steps.second.result }}"]}
    assert steps["last"]["needs"] == "second"


def test_arguments_by_position_get_their_names() -> None:
    wf = Workflow("calls")
    wf.step(tasks.charge, {"id": 1}, currency="EUR")
    wf.step(tasks.add, 1, 2)
    wf.step(tasks.total, 1, 2, 3)
    wf.step(tasks.collect, a=1, b=[2])
    wf.step(tasks.limited, args={"order": 1, "timeout": 2}, timeout="5s")
    wf.step("elsewhere.tasks:Sync.load", "a", step="load")
    wf.step("elsewhere.tasks:Sync.save", name="b")
    assert {name: (step["task"], step.get("args")) for name, step in steps_of(wf).items()} == {
        "charge": (f"{TASKS}:charge", {"order": {"id": 1}, "currency": "EUR"}),
        "add": (f"{TASKS}:add", [1, 2]),
        "total": (f"{TASKS}:total", [1, 2, 3]),
        "collect": (f"{TASKS}:collect", {"a": 1, "b": [2]}),
        "limited": (f"{TASKS}:limited", {"order": 1, "timeout": 2}),
        "load": ("elsewhere.tasks:Sync.load", ["a"]),
        "save": ("elsewhere.tasks:Sync.save", {"name": "b"}),
    }


class Colour(StrEnum):
    RED = "red"


@dataclass
class Address:
    street: str
    number: int = 1


@dataclass
class Order:
    id: int
    to: Address


def test_values_of_python_become_those_of_a_file() -> None:
    wf = Workflow(
        "values",
        timeout=timedelta(minutes=2),
        retry=RetryPolicy(max_attempts=2, max_delay=timedelta(hours=1)),
    )
    wf.sleep("nap", for_=timedelta(seconds=90))
    wf.http("post", url="https://x.example", json={"colour": Colour.RED, "pair": (1, 2.5), "none": None})
    data = data_of(wf)
    assert data["defaults"] == {"timeout": 120.0, "retry": {"max_attempts": 2, "max_delay": 3600.0}}
    assert data["workflow"][0] == {"step": "nap", "type": "sleep", "for": 90.0}
    assert data["workflow"][1]["json"] == {"colour": "red", "pair": [1, 2.5], "none": None}


def test_the_options_of_a_task_are_keys_of_its_step_unless_it_has_its_own() -> None:
    wf = Workflow("options")
    first = wf.step(tasks.deliver, tasks.Address("Main St", 7), on=date(2030, 1, 31))
    first.compensate(tasks.deliver, address={"street": wf.result}, timeout="5s")
    wf.step(tasks.deliver, step="own", address={"street": "x"}, queue="other", retry=False)
    wf.step(tasks.ship.options(queue="sea", priority=1), receipt="R")
    wf.step(tasks.book, account="a", concurrency=5)
    steps = steps_of(wf)
    assert steps["deliver"] == {
        "step": "deliver",
        "type": "python",
        "task": f"{TASKS}:deliver",
        "args": {"address": {"street": "Main St", "number": 7}, "on": "2030-01-31"},
        "retry": {"max_attempts": 4, "rules": [{"on": ["http_429"], "initial_delay": "30s"}]},
        "timeout": 120.0,
        "queue": "parcels",
        "labels": {"zone": "eu"},
        "concurrency": 3,
        "compensate": {
            "type": "python",
            "task": f"{TASKS}:deliver",
            "args": {"address": {"street": "{{ result }}"}},
            "retry": {"max_attempts": 4, "rules": [{"on": ["http_429"], "initial_delay": "30s"}]},
            "timeout": "5s",
            "queue": "parcels",
            "labels": {"zone": "eu"},
        },
    }
    assert steps["book"]["concurrency"] == 5
    assert (steps["ship"]["task"], steps["ship"]["queue"], steps["ship"]["priority"]) == (
        "ship-parcel",
        "sea",
        1,
    )
    assert (steps["own"]["queue"], steps["own"]["retry"], steps["own"]["timeout"]) == ("other", False, 120.0)


def test_inputs_may_be_types() -> None:
    wf = Workflow("typed", input={"order": Order, "limit": int, "note": {"type": "string", "default": ""}})
    wf.step(tasks.charge, order=wf.input.order)
    loaded = load_workflow(wf.to_yaml()).inputs
    assert {name: each.required for name, each in loaded.items()} == {
        "order": True,
        "limit": True,
        "note": False,
    }
    assert loaded["limit"].schema == {"type": "integer"}
    from tenax.errors import InvalidInput
    from tenax.model.inputs.inputs import check_input

    workflow = load_workflow(wf.to_yaml())
    check_input(workflow, {"order": {"id": 1, "to": {"street": "x"}}, "limit": 1})
    with pytest.raises(InvalidInput, match="street"):
        check_input(workflow, {"order": {"id": 1, "to": {}}, "limit": 1})


def test_a_compensation_of_another_type() -> None:
    wf = Workflow("trip")
    hotel = wf.http("hotel", url="https://hotel.example", method="POST")
    hotel.compensate(type="http", method="DELETE", url=f"https://hotel.example/{wf.result.data.id}")
    assert steps_of(wf)["hotel"]["compensate"] == {
        "type": "http",
        "method": "DELETE",
        "url": "https://hotel.example/{{ result.data.id }}",
    }


def test_the_text_follows_every_change() -> None:
    wf = Workflow("grows")
    first = wf.step(tasks.refund, receipt="1")
    texts = [wf.to_yaml()]
    assert wf.to_yaml() is texts[0], "what did not change is not read again"
    first.compensate(tasks.refund, receipt="2")
    texts.append(wf.to_yaml())
    wf.sleep("nap", for_="1s")
    texts.append(wf.to_yaml())
    wf.outputs = {"a": 1}
    texts.append(wf.to_yaml())
    assert len(set(texts)) == 4


def test_every_type_of_step_has_a_method() -> None:
    own = {"python": "step"}
    for kind in STEP_TYPES:
        assert callable(getattr(Workflow, own.get(kind, kind)))


def test_every_variable_of_templates_is_at_hand() -> None:
    wf = Workflow("variables")
    assert {name: str(getattr(wf, name)) for name in TEMPLATE_VARIABLES} == {
        name: f"{{{{ {name} }}}}" for name in TEMPLATE_VARIABLES
    }


def test_every_fact_of_a_step_is_at_hand() -> None:
    step = Step({"step": "odd-name"}, lambda: None)
    assert {fact: str(getattr(step, fact)) for fact in STEP_FACTS} == {
        fact: f"{{{{ steps['odd-name'].{fact} }}}}" for fact in STEP_FACTS
    }
