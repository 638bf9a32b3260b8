"""Tests that every mistake in a workflow of Python is reported at the line that made it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builder import builder_tasks as tasks

from tenax import Workflow
from tenax.errors import InvalidDefinition

HERE = str(Path(__file__).relative_to(Path.cwd())) if Path(__file__).is_relative_to(Path.cwd()) else __file__


def findings_of(build: Callable[[], Any]) -> list[tuple[str, str, str]]:
    """Returns the findings, each with the text of the line that it names, its path and its message."""
    with pytest.raises(InvalidDefinition) as refused:
        build()
    lines = Path(__file__).read_text("utf-8").splitlines()
    found = []
    for one in refused.value.findings:
        assert one.file == HERE
        assert one.line is not None
        assert str(one).startswith(f"{HERE}:{one.line}: ")
        found.append((lines[one.line - 1].strip(), one.path, one.message))
    return found


def test_all_mistakes_of_the_reader_are_at_their_lines() -> None:
    def build() -> str:
        wf = Workflow("mistakes", deadlin="1h", retry={"max_attempts": 0})  # the top
        pay = wf.step(tasks.charge, order=wf.input.order)  # no such input
        wf.http(  # a call of several lines
            "tell",
            url="ftp://x",
            methd="POST",
            json=pay.result,
        )
        wf.step(tasks.ship, receipt=pay.result.receipt, until="result.", retry={"max_attempts": -1})  # two
        wf.sleep("nap", for_="soon", needs="nowhere")  # a duration, and a step
        wf.outputs = {"x": wf.steps.nothing.result}  # no such step
        return wf.to_yaml()

    found = findings_of(build)
    at = {(line.rpartition("# ")[2], path) for line, path, _ in found}
    assert {
        ("the top", "deadlin"),
        ("the top", "defaults.retry.max_attempts"),
        ("no such input", "charge.args.order"),
        ("a call of several lines", "tell.url"),
        ("a call of several lines", "tell.methd"),
        ("two", "ship.retry.max_attempts"),
        ("two", "ship.until"),
        ("a duration, and a step", "nap.for"),
        ("a duration, and a step", "nap.needs"),
        ("no such step", "outputs.x"),
    } == at


def test_a_circle_is_named_at_a_step() -> None:
    def build() -> str:
        wf = Workflow("circle")
        wf.step(tasks.refund, step="a", receipt=wf.steps.b.result)
        wf.step(tasks.refund, step="b", receipt=wf.steps.a.result)
        return wf.to_yaml()

    [(line, path, message), *_] = findings_of(build)
    assert (line, path) == ('wf.step(tasks.refund, step="a", receipt=wf.steps.b.result)', "a.step")
    assert "a -> b -> a" in message


@pytest.mark.parametrize(
    ("mistake", "path", "message"),
    [
        (lambda wf: wf.step(tasks.refund, recipt=1), "refund", "refund takes no argument `recipt`; did you mean `receipt`?"),
        (lambda wf: wf.step(tasks.refund), "refund", "missing a required argument: 'receipt'"),
        (lambda wf: wf.step(tasks.refund, "a", "b"), "refund", "too many positional arguments"),
        (lambda wf: wf.step(tasks.charge, {}, ctx=1), "charge", "charge takes no argument `ctx`"),
        (lambda wf: wf.step(tasks.refund, receipt=1, retyr=2), "refund", "`retyr`; did you mean `retry`?"),
        (lambda wf: wf.step(tasks.limited, order=1, timeout=2), "limited", "`timeout` is a key of the step and an argument"),
        (lambda wf: wf.step(tasks.limited, 1, args=[1, 2]), "limited", "give all arguments in `args`, or none"),
        (lambda wf: wf.step(lambda: 1), "<lambda>", "use a function of a module"),
        (lambda wf: wf.step(tasks.book, account="a"), "book", "give this step a `concurrency` of its own"),
        (lambda wf: wf.step("m:f", 1, b=2), "f", "by position or all by name"),
        (lambda wf: wf.step(tasks.refund, receipt=1), "refund.args", "receipt: expected str, got int"),
        (lambda wf: wf.step(tasks.deliver, address={"street": 5}), "deliver.args", "address.street: expected str, got int"),
        (lambda wf: wf.step(tasks.refund, receipt=object()), "refund.args", "has no JSON form"),
        (lambda wf: wf.step(tasks.refund, receipt=float("inf")), "refund.args", "a NaN or an infinity"),
        (lambda wf: wf.http("x", url="https://x", json=object()), "x.json", "has no JSON form"),
        (lambda wf: [wf.sleep("x", for_="1s"), wf.sleep("x", for_="1s")], "x", "the name `x` is taken by an earlier step"),
        (lambda wf: wf.workflow("x", wf), "x", "the workflows start each other in a circle: `one`"),
        (lambda wf: (wf.workflow("x", file="no/where.yaml"), wf.submission()), "x.file", "there is no such file"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_call_is_reported_at_once(mistake: Any, path: str, message: str) -> None:
    [(line, found, said)] = findings_of(lambda: mistake(Workflow("one")))
    assert "lambda wf" in line
    assert (found, message in said) == (path, True), said


def test_a_circle_of_workflows_that_is_closed_later() -> None:
    one, two, three = Workflow("one"), Workflow("two"), Workflow("three")
    one.workflow("two", two)
    two.workflow("three", three)
    [(line, _, message)] = findings_of(lambda: three.workflow("one", one))
    assert "three.workflow" in line
    assert "in a circle" in message


def test_a_workflow_without_steps() -> None:
    [(line, path, message)] = findings_of(lambda: Workflow("nothing").to_yaml())
    assert 'Workflow("nothing")' in line
    assert (path, message) == ("workflow", "a workflow has at least one step")


def test_the_line_is_that_of_the_caller_through_functions_of_its_own() -> None:
    wf = Workflow("functions")

    def declare(number: int) -> None:
        wf.sleep(f"nap-{number}", for_=0)

    declare(1)
    [(line, path, _)] = findings_of(wf.to_yaml)
    assert (line, path) == ('wf.sleep(f"nap-{number}", for_=0)', "nap-1.for")
    assert inspect.getsource(declare).splitlines()[1].strip() == line
