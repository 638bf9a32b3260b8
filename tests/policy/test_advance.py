"""The graph's progress, step by step in any order, against a slow and obvious model of section 6 of the contract."""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from tenax.model.definition.workflow import Step, Workflow
from tenax.policy.advance import Ending, advance, touched_by
from tenax.policy.plan import Plan, make_plan

T = TypeVar("T")


@st.composite
def graphs(draw) -> tuple[Workflow, dict[str, str]]:
    """Up to eight steps, each needing some of the earlier ones, and how each would end if it ran."""
    count = draw(st.integers(1, 8))
    names = [f"s{n}" for n in range(count)]
    steps, fates = [], {}
    for n, name in enumerate(names):
        needs = tuple(sorted(draw(st.sets(st.sampled_from(names[:n]))))) if n else ()
        steps.append(Step(name, "python", {"task": "t:t"}, needs=needs, goal=draw(st.booleans())))
        fates[name] = draw(st.sampled_from(["completed", "completed", "failed", "skipped"]))
    return Workflow("graph", tuple(steps)), fates


def _made(work: Generator[None, None, T]) -> T:
    """Runs a generator to its end. Returns what it returns."""
    while True:
        try:
            next(work)
        except StopIteration as ended:
            return ended.value


def model(workflow: Workflow, fates: dict[str, str]) -> dict[str, str]:
    """Returns how each step ends if everything that can run does. Reads this off the definition, again and again."""
    states: dict[str, str] = {}
    while len(states) < len(workflow.steps):
        for step in workflow.steps:
            needs = [states.get(need) for need in step.needs]
            if step.name not in states and None not in needs:
                lost = any(state in ("failed", "unreachable") for state in needs)
                states[step.name] = "unreachable" if lost else fates[step.name]
    return states


def run(plan: Plan, fates: dict[str, str], dice: random.Random) -> dict[str, str]:
    """The same by `advance`, one ending or several at a time, with counters stored only where it says so."""
    states: dict[str, str] = {}
    waiting: dict[str, int] = {}
    queued = list(plan.roots)
    while queued:
        batch = [queued.pop(dice.randrange(len(queued))) for _ in range(dice.randint(1, len(queued)))]
        endings = [Ending(name, fates[name]) for name in batch]
        states |= {name: fates[name] for name in batch}
        touched = _made(touched_by(plan, endings))
        stored = {name: waiting[name] for name in touched if name in waiting}
        closed = frozenset(name for name in touched if states.get(name) == "unreachable")
        progress = _made(advance(plan, endings, stored, closed))
        assert not set(progress.unreachable) & set(states), "what has ended is not cut off"
        states |= dict.fromkeys(progress.unreachable, "unreachable")
        waiting |= progress.waiting
        assert not set(progress.ready) & set(states), "what has ended does not start again"
        queued += progress.ready
        assert len(queued) == len(set(queued)), "nothing is queued twice"
    return states


@given(graphs(), st.randoms(use_true_random=False))
def test_any_order_of_endings_leads_where_the_model_says(graph, dice):
    workflow, fates = graph
    plan = make_plan(workflow, None)
    assert run(plan, fates, dice) == model(workflow, fates)


def test_the_cause_of_what_is_cut_off_is_the_step_that_failed():
    steps = [
        Step("a", "python", {}),
        Step("b", "python", {}, needs=("a",)),
        Step("c", "python", {}, needs=("b",)),
    ]
    plan = make_plan(Workflow("w", tuple(steps)), None)
    progress = _made(advance(plan, [Ending("a", "failed")], {}, ()))
    assert progress.unreachable == {"b": "a", "c": "a"}
