"""Tests that Python's operators compose values that are known later into expressions with the same meaning."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.builder.later_values import LaterValue, ValuePath, expression_of, literal
from tenax.errors import UsageError
from tenax.policy.expressions.compiler import compile_expression
from tenax.policy.expressions.conditions import strip_braces

INPUT = ValuePath("input")
SCOPE = {
    "input": {
        "a": 7,
        "b": 2,
        "name": "Ada",
        "none": None,
        "rows": [{"id": 1}, {"id": 2}],
        "odd name": {"in": 3, "Not": 4, "_x": 5},
        "yes": True,
    }
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def value_of(expression: str) -> Any:
    compiled = compile_expression(strip_braces(expression), variables=frozenset(SCOPE))
    return compiled.evaluate(SCOPE)


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        (INPUT.a, 7),
        (INPUT["a"], 7),
        (INPUT.rows[1].id, 2),
        (INPUT.rows[-1]["id"], 2),
        (INPUT["odd name"]["in"], 3),
        (INPUT["odd name"].Not, 4),
        (INPUT["odd name"]["_x"], 5),
        (INPUT.a == 7, True),
        (INPUT.a != 7, False),
        (7 == INPUT.a, True),  # noqa: SIM300 -- the value on the other side
        (INPUT.a > 6.5, True),
        (INPUT.a < INPUT.b, False),
        (INPUT.a >= 7, True),
        (INPUT.a <= -7, False),
        (3 < INPUT.a, True),  # noqa: SIM300 -- the value on the other side
        ((INPUT.a > 1) & (INPUT.b > 1) & (INPUT.name == "Ada"), True),
        ((INPUT.a > 9) | (INPUT.b > 1) & INPUT.yes, True),
        (~(INPUT.a > 9), True),
        (~INPUT.yes | (INPUT.none == None), True),  # noqa: E711 -- the expression's own comparison
        (INPUT.a + INPUT.b - 1, 8),
        (INPUT.a - (INPUT.b - 1), 6),
        (1 - INPUT.a, -6),
        (INPUT.a / INPUT.b, 3.5),
        (INPUT.a // INPUT.b, 3),
        (7 / INPUT.b, 3.5),
        (7 // INPUT.b, 3),
        (1 + INPUT.a, 8),
        ("x" + INPUT.name + "y", "xAday"),
        (INPUT.rows | "length", 2),
        ((INPUT.rows | "length") > 1, True),
        ((INPUT.rows | "last").id, 2),
        ((INPUT.a - 10) | "abs", 3),
        (INPUT.rows == [{"id": INPUT.b - 1}, {"id": 2}], True),
    ],
    ids=str,
)
def test_an_expression_means_what_the_python_means(later: LaterValue, expected: Any) -> None:
    assert value_of(str(later)) == expected


@given(VALUES)
def test_a_literal_is_read_back_as_the_same_value(value: Any) -> None:
    assert value_of(literal(value)) == value


@given(TEXTS.filter(lambda name: not name.startswith("__")), TEXTS)
def test_every_key_leads_to_its_value(key: str, value: str) -> None:
    compiled = compile_expression(expression_of(INPUT[key]), variables=frozenset({"input"}))
    assert compiled.evaluate({"input": {key: value}}) == value


def test_a_text_with_values_is_a_text_with_templates() -> None:
    assert f"order {INPUT.rows[0].id} of {INPUT.a + 1}" == "order {{ input.rows[0].id }} of {{ input.a + 1 }}"


def test_many_conditions_need_no_more_brackets_than_are_allowed() -> None:
    condition: LaterValue = INPUT.a == 0
    for number in range(1, 60):
        condition = condition | (INPUT.a == number)
    assert value_of(str(condition)) is True


@pytest.mark.parametrize(
    ("misuse", "remedy"),
    [
        (lambda: bool(INPUT.a), "when="),
        (lambda: 1 < INPUT.a < 3, "(a < b) & (b < c)"),
        (lambda: INPUT.a and INPUT.b, "&, | and ~"),
        (lambda: list(INPUT.rows), "for_each="),
        (lambda: len(INPUT.rows), '"length"'),
        (lambda: 1 in INPUT.rows, "as a text"),
        (lambda: f"{INPUT.a:.2f}", "format it in a task"),
        (lambda: INPUT.rows[1:], "into a task"),
        (lambda: INPUT.a == object(), "numbers, texts"),
        (lambda: INPUT.a + math.nan, "numbers, texts"),
    ],
)
def test_what_python_would_have_to_know_now_is_refused_with_a_remedy(misuse: Any, remedy: str) -> None:
    with pytest.raises(UsageError) as refused:
        misuse()
    assert remedy in str(refused.value.remedy)


def test_it_is_no_key_and_has_none_of_pythons_own_attributes() -> None:
    with pytest.raises(TypeError):
        hash(INPUT.a)
    with pytest.raises(AttributeError):
        _ = INPUT.__array__
