"""Options of tasks: what they mean is what the workflow file means by the same keys, and so are the mistakes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from datetime import timedelta

import pytest
import yaml

from tenax import RetryPolicy, Rule, TaskContext, task
from tenax.errors import InvalidDefinition
from tenax.model.parse.parse import parse_workflow
from tenax.model.parse.retry_fields import RETRY_FIELDS, RULE_FIELDS
from tenax.model.parse.shape import keys_by_field
from tenax.model.parse.workflow_file import STEPS
from tenax.sdk.task import Task
from tenax.sdk.tasks.options import TaskOptions, checks_deferred

POLICY = RetryPolicy(
    max_attempts=5,
    give_up_after=timedelta(hours=1),
    rules=[Rule(on=["http_429"], initial_delay="30s"), {"on": "timeout", "retry": False}],
)


def test_the_typed_policy_has_the_fields_of_the_file():
    assert {one.name for one in fields(RetryPolicy)} == set(RETRY_FIELDS)
    assert {one.name for one in fields(Rule)} == set(RULE_FIELDS)


def test_the_options_are_keys_of_a_python_step():
    own = {one.name for one in fields(TaskOptions)} - {"process"}
    assert own <= set(keys_by_field(STEPS["python"]).values())


@pytest.mark.parametrize(
    ("retry", "policy"),
    [
        (True, True),
        (False, False),
        (4, {"max_attempts": 4}),
        ({"max_attempts": "unlimited", "backoff": "fixed"}, {"max_attempts": None, "backoff": "fixed"}),
        (RetryPolicy(), {}),
        (
            POLICY,
            {
                "max_attempts": 5,
                "give_up_after": 3600.0,
                "rules": [{"on": ["http_429"], "initial_delay": 30.0}, {"on": ["timeout"], "retry": False}],
            },
        ),
    ],
)
def test_retry_takes_what_the_file_takes(retry, policy):
    @task(retry=retry)
    def charge(): ...

    [step] = parse_workflow(charge.definition()).steps
    assert step.retry == policy


def test_every_option_stands_in_the_definition():
    @task(
        timeout=timedelta(minutes=2),
        queue="slow",
        priority=7,
        labels={"gpu": "yes"},
        concurrency={"limit": 3, "action": "pay"},
        dependency="bank",
        process=True,
    )
    def charge(order: dict, amount: int = 3): ...

    workflow = parse_workflow(charge.definition())
    [step] = workflow.steps
    assert (step.timeout, step.queue, step.priority, step.labels) == (120.0, "slow", 7, {"gpu": "yes"})
    assert (step.concurrency.limit, step.concurrency.action, step.dependency) == (3, "pay", "bank")
    assert {name: one.required for name, one in workflow.inputs.items()} == {"order": True, "amount": False}
    assert charge.process
    assert "process" not in yaml.safe_load(charge.definition())["workflow"][0]


def test_a_mistake_is_reported_with_the_line_of_the_function():
    line = test_a_mistake_is_reported_with_the_line_of_the_function.__code__.co_firstlineno + 4
    with pytest.raises(InvalidDefinition) as caught:

        @task(
            retry={"max_atempts": 3, "rules": [{"on": ["http_42"], "retry": False}]},
            timeout="soon",
            priority=11,
        )
        def wrong(): ...

    found = {one.path: one for one in caught.value.findings}
    assert found.keys() == {"retry.max_atempts", "retry.rules[0].on[0]", "timeout", "priority"}
    assert {(one.file, one.line) for one in found.values()} == {(__file__, line)}
    assert str(found["retry.max_atempts"]).endswith("unknown key 'max_atempts'; did you mean `max_attempts`?")


def test_an_unknown_option_is_a_type_error():
    with pytest.raises(TypeError, match="retries"):
        task(retries=3)  # type: ignore[call-overload]


def test_a_worker_checks_options_when_they_are_used():
    with checks_deferred():

        @task(timeout="soon")
        def late(): ...

    with pytest.raises(InvalidDefinition, match="timeout: 'soon' is not a duration"):
        late.definition()


def test_the_definition_of_a_task_never_changes():
    def charge(order: dict, ctx: TaskContext): ...

    one, other = (Task("shop:charge", charge, options=TaskOptions(queue="q")) for _ in range(2))
    assert one.definition() is one.definition()
    assert one.definition() == other.definition()
    assert one.definition(TaskOptions(queue="r")) == one.definition(TaskOptions(queue="r"))
    assert one.definition(TaskOptions(queue="r")) != one.definition()
    assert yaml.safe_load(one.definition()) == {
        "name": "shop.charge",
        "input": {"order": {"required": True}},
        "workflow": [
            {"step": "run", "type": "python", "task": "shop:charge", "args": "{{ input }}", "queue": "q"}
        ],
    }


@pytest.mark.parametrize(
    ("name", "workflow"),
    [
        ("shop.tasks:charge", "shop.tasks.charge"),
        ("a:f.<locals>.g", "a.f.-locals-.g"),
        ("größe", "gr-e"),
        ("---", "task"),
        ("x" * 300, "x" * 200),
    ],
)
def test_the_workflow_is_named_for_the_task(name, workflow):
    made = Task(name, lambda: None)
    assert yaml.safe_load(made.definition())["name"] == workflow
    assert parse_workflow(made.definition()).steps[0].name == "run"


def test_the_calls_of_a_map_are_items():
    @task
    def charge(order: dict): ...

    workflow = parse_workflow(charge.definition(parallelism=20))
    assert (workflow.steps[0].for_each, workflow.steps[0].parallelism) == ("{{ input.items }}", 20)


def test_a_worker_that_runs_tasks_with_options_imports_no_pydantic(tmp_path):
    (tmp_path / "shop.py").write_text(
        "from tenax import RetryPolicy, task\n"
        "@task(retry=RetryPolicy(max_attempts=3), timeout='5m')\n"
        "def charge(amount: int) -> int:\n    return amount\n"
    )
    code = (
        "import sys\n"
        "import tenax.worker.worker, tenax.worker.transport\n"
        "from tenax.worker.handlers.call import bind_arguments\n"
        "from tenax.worker.handlers.registry import find_handler, load_modules\n"
        "load_modules(('shop',))\n"
        "print(bind_arguments(find_handler('shop:charge', None), {'amount': 3}, None))\n"
        "print([m for m in ('pydantic', 'yaml', 'jinja2') if m in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout.splitlines() == ["([], {'amount': 3})", "[]"], ran.stderr
