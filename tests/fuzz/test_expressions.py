"""Evaluates expressions, conditions and templates of any text over any data.

They raise only Tenax's own errors, stay within the budget, and give the same result twice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from hypothesis import given
from hypothesis import strategies as st
from support.strategies.hostile_strategies import (
    ODD_TEXTS,
    STORABLE,
    assert_brief,
    broken_texts,
    fuzzed,
    no_hang,
)

from tenax.model.json_text import json_fault
from tenax.policy.expressions import conditions
from tenax.policy.expressions.compiler import EvaluationError, ExpressionError, compile_expression
from tenax.policy.expressions.conditions import CONDITION_VARIABLES, compile_condition
from tenax.policy.expressions.meter import CURRENT, Meter
from tenax.policy.expressions.templates import TEMPLATE_VARIABLES, compile_template
from tenax.policy.expressions.values import FILTERS, TESTS

VARIABLES = frozenset({"a", "b", "n", "text", "items", "many"})
LONGEST_MESSAGE = 1_000
LINES = 400
"""Lines of code that every evaluation runs."""
LINES_OF_CHARACTER = 40
"""Lines for a character of the expression's own text."""
LINES_OF_UNIT = 3
"""Lines for a unit of work that is charged."""

_QUOTED = st.sampled_from(
    ["'a'", "''", '"b"', "'1e300'", "'99999999999999999999'", "'yes'", "'\\n'", "'é'", "'ß'"]
)
_NUMBERS = st.sampled_from(["0", "1", "7", "2.5", "1e308", "18446744073709551615", "0.1", "1_000", "0x1f"])
_NAMES = st.sampled_from(
    [*sorted(VARIABLES), "true", "false", "none", "a.b", "a['b']", "items[0]", "items[-1]", "a.b.c"]
)
_OPERATORS = st.sampled_from(
    ["+", "-", "/", "//", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or", "*", "%", "**"]
)
_FILTERS = st.sampled_from(
    [
        *sorted(FILTERS),
        "join('-')",
        "default(1)",
        "d(none, true)",
        "round(2)",
        "int('x')",
        "float(n)",
        "join(text)",
    ]
)
_TESTS = st.sampled_from([*sorted(TESTS), "not none", "gt 3", "in items", "eq(a)", "ge(n)"])


def _larger(below: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, below, _OPERATORS, below),
        st.builds("({} | {})".format, below, _FILTERS),
        st.builds("({} is {})".format, below, _TESTS),
        st.builds("{}[{}]".format, below, below),
        st.builds("({} if {} else {})".format, below, below, below),
        st.builds("(not {})".format, below),
        st.builds("(-{})".format, below),
        st.builds("[{}, {}]".format, below, below),
        st.builds("{{'k': {}}}".format, below),
        st.builds("({} < {} <= {})".format, below, below, below),
    )


EXPRESSIONS = st.recursive(_NAMES | _NUMBERS | _QUOTED, _larger, max_leaves=10)
_PIECES = (
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "|",
    ".",
    "~",
    "\\",
    "__class__",
    "**",
    "{{",
    "}}",
    "{%",
    "\n",
    "\0",
    "é",
)
TEXTS = st.one_of(
    EXPRESSIONS,
    EXPRESSIONS,
    EXPRESSIONS.flatmap(lambda text: broken_texts(text, _PIECES)),
    st.text("abn.[]()'\"{}|~+-/<>=! 01,:_isotdefltr\\", max_size=40),
    st.text(max_size=20),
)
MANY = st.sampled_from(
    [
        "x" * 3_000,
        [1] * 3_000,
        [[n, "y" * 20] for n in range(500)],
        {f"key {n}": {"n": n} for n in range(500)},
        ["é" * 1_000] * 10,
    ]
)
SCOPES = st.fixed_dictionaries(
    {"a": STORABLE, "b": STORABLE, "n": st.integers(-5, 5) | st.floats(-5, 5), "many": MANY},
    optional={"text": st.text(max_size=5) | st.just("x" * 2_000), "items": st.lists(STORABLE, max_size=3)},
)
BUDGETS = st.sampled_from([0, 100, 1_000, 10_000, 50_000])


class Lines:
    """Counts the lines of the policy's code that run."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Self:
        self._before = sys.gettrace()
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        return self._line if "/tenax/policy/" in frame.f_code.co_filename else None

    def _line(self, _frame: FrameType, event: str, _argument: Any) -> Any:
        self.count += event == "line"
        return self._line


def tried(work: Callable[[Meter], Any], budget: int) -> tuple[Any, ...]:
    """Returns the value or the error of some work, and the rest of the budget."""
    meter = Meter(work=budget)
    with no_hang():
        try:
            found: tuple[Any, ...] = ("value", repr(work(meter)), meter.work)
        except EvaluationError as error:
            assert_brief(error, LONGEST_MESSAGE)
            found = ("error", str(error), meter.work)
    assert CURRENT.meter is None
    assert found[0] == "error" or meter.work >= 0
    return found


@given(TEXTS, SCOPES, BUDGETS, st.booleans())
@fuzzed(250)
def test_an_expression_gives_a_value_within_its_budget(text, scope, budget, strict):
    try:
        expression = compile_expression(text, variables=VARIABLES, strict=strict)
    except ExpressionError as error:
        assert_brief(error, LONGEST_MESSAGE)
        return

    def evaluated(meter: Meter) -> Any:
        value = expression.evaluate(scope, meter)
        assert json_fault(value) is None, "JSON comes from JSON"
        return value

    with Lines() as lines:
        first = tried(evaluated, budget)
    assert lines.count <= LINES + LINES_OF_CHARACTER * len(text) + LINES_OF_UNIT * budget
    assert tried(evaluated, budget) == first
    if first[0] == "value":
        spent = budget - first[2]
        assert tried(evaluated, spent)[:2] == first[:2]
        assert spent == 0 or tried(evaluated, spent - 1)[0] == "error"
        assert len(first[1]) <= 16 * (spent + len(text)) + largest(scope)


def largest(scope: dict[str, Any]) -> int:
    return max(len(repr(value)) for value in scope.values())


@given(TEXTS, SCOPES, st.sampled_from(["{}", "{{{{ {} }}}}", "{{{{{}}}}}", " {{{{-{}-}}}} "]))
@fuzzed(100)
def test_a_condition_is_true_or_false(text, scope, form):
    names = dict(
        zip(sorted(VARIABLES), ("data", "error", "attempt", "node_id", "elapsed", "result"), strict=True)
    )
    for name, known in names.items():
        text = text.replace(name, known) if len(name) > 1 else text
    given_data = dict.fromkeys(CONDITION_VARIABLES) | {names[name]: value for name, value in scope.items()}
    try:
        condition = compile_condition(form.format(text))
    except ExpressionError as error:
        assert_brief(error, LONGEST_MESSAGE)
        return

    def holds(meter: Meter) -> bool:
        answer = condition.holds(given_data, meter)
        assert isinstance(answer, bool)
        return answer

    assert tried(holds, 50_000) == tried(holds, 50_000)
    kept = conditions._compile.cache_info()
    assert kept.maxsize is not None
    assert kept.currsize <= kept.maxsize


_WITH_TEMPLATES = st.recursive(
    st.builds(
        "{}{{{{ {} }}}}{}".format,
        st.sampled_from(["", "x ", "'"]),
        EXPRESSIONS,
        st.sampled_from(["", " y", "'"]),
    )
    | st.sampled_from(
        ["{{ secret.NAME }}", "a{{ secret.NAME }}b", "{{", "{% x %}", "{{ a | raw }}", *ODD_TEXTS]
    )
    | TEXTS
    | STORABLE,
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["command", "k", "__x"]), below, max_size=3)
    ),
    max_leaves=5,
)


@given(
    _WITH_TEMPLATES,
    SCOPES,
    BUDGETS,
    st.sampled_from([None, (), ("command",)]),
    st.sampled_from([0, 10, 16_000]),
)
@fuzzed(150)
def test_a_template_gives_json_within_its_budget(value, scope, budget, shell_at, output):
    try:
        template = compile_template(value, variables=VARIABLES | TEMPLATE_VARIABLES, shell_at=shell_at)
    except ExpressionError as error:
        assert_brief(error, LONGEST_MESSAGE)
        return

    def rendered(meter: Meter) -> Any:
        meter.output = meter.output_limit = output
        made = template.render(scope, meter)
        if json_fault(value) is None:
            assert json_fault([made.value, made.secrets]) is None, "JSON comes from JSON"
        return made

    assert tried(rendered, budget) == tried(rendered, budget)
