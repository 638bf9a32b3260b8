"""What does not fit is refused with its place, and what has no JSON form with its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pydantic
import pytest

from tenax.codec import bind_call, decode, encode, encode_call
from tenax.errors import InvalidValue

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass
class Item:
    price: int


@dataclass
class Order:
    items: list[Item]


@dataclass
class Refund:
    order: Order


class Customer(pydantic.BaseModel):
    name: str
    orders: list[Order] = []


def charge(order: Order, customer: Customer | None = None, amounts: Iterable[Decimal] = ()) -> int: ...


ORDER = {"items": [{"price": 1}]}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"order": {"items": [{"price": 1}, {"price": "x"}]}}, "order.items[1].price: expected int, got str"),
        ({"order": {"items": [{}]}}, "order.items[0]: object missing required field price"),
        ({"order": None}, "order: expected object, got null"),
        ({"order": ORDER, "customer": {"name": 3}}, "customer.name: input should be a valid string"),
        (
            {"order": ORDER, "customer": {"name": "x", "orders": [{"items": [{"price": "p"}]}]}},
            "customer.orders[0].items[0].price: input should be a valid integer",
        ),
        ({"order": ORDER, "amounts": ["1.5", "much"]}, "amounts[1]: invalid decimal"),
        ({"odrer": ORDER}, "the arguments do not fit charge: missing a required argument: 'order'"),
        ([ORDER, None, [], 4], "the arguments do not fit charge: too many positional arguments"),
        (3, "args must be a mapping or a list, not int"),
    ],
)
def test_an_argument_that_does_not_fit_is_named(arguments, says):
    with pytest.raises(InvalidValue) as caught:
        bind_call(charge, arguments)
    assert says in caught.value.message


def test_a_call_is_checked_before_it_is_sent():
    with pytest.raises(InvalidValue, match=r"order\.items\[0\]\.price: expected int, got str"):
        encode_call(charge, (Order([Item("1")]),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (object(), "it (of type object) has no JSON form: Type is not JSON serializable: object"),
        ([{"a": {1j}}], "Type is not JSON serializable: complex"),
        (2**70, "Integer exceeds 64-bit range"),
        ({"rows": [1, None, float("nan")]}, "it has a NaN at rows[2]"),
        ([Item(float("inf"))], "it has an infinity at [0].price"),
        ([Customer(name="x"), {"a": [float("-inf")]}], "it has an infinity at [1].a[0]"),
        ({"a": "\0"}, "it has a NUL"),
    ],
)
def test_what_has_no_json_form_is_named(value, says):
    with pytest.raises(InvalidValue) as caught:
        encode(value, what="it")
    assert says in caught.value.message


def test_a_lenient_encoding_replaces_what_json_cannot_hold():
    assert encode([float("nan"), "a\0b"], lenient=True) == [None, "a\ufffdb"]


def unclear(when: str | date) -> None: ...
def either(thing: Order | Refund) -> None: ...
def hidden(part: Fraction) -> None: ...
def calls(back: Callable[[], None]) -> None: ...


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (unclear, "unclear: when: values of str | datetime.date cannot be told apart in JSON"),
        (either, "either: thing: values of "),
        (hidden, "hidden: part: the annotation Fraction cannot be read: name 'Fraction' is not defined"),
        (calls, "back: expected Callable, which cannot be rebuilt from JSON"),
    ],
)
def test_an_annotation_that_json_cannot_hold_is_named(function, says):
    with pytest.raises(InvalidValue) as caught:
        encode_call(function, ("x",))
    assert says in caught.value.message


def test_a_wrong_key_is_named():
    with pytest.raises(InvalidValue, match="a key of the value: expected int, got str"):
        decode(dict[int, int], {"x": 1})


def plain(anything, more: Any = None, thing: object = 3): ...
def implied(amount: int = None): ...  # noqa: RUF013 -- old code says so


def test_without_annotations_json_stays_as_it_is():
    assert bind_call(plain, {"anything": {"a": [1, None]}, "thing": "x"}) == (
        [],
        {"anything": {"a": [1, None]}, "thing": "x"},
    )
    assert encode_call(implied, (None,)) == {"amount": None}
    assert bind_call(len, ["abc"]) == (["abc"], {})


def test_sets_have_one_form():
    assert encode({"b", "c", "a"}) == ["a", "b", "c"]
    assert sorted(encode({3, "a"}), key=str) == [3, "a"]


def with_context(ctx, order: Order): ...


def test_the_context_is_no_argument():
    assert encode_call(with_context, (Order([]),)) == {"order": {"items": []}}
    assert bind_call(with_context, {"order": ORDER}) == ([], {"order": Order([Item(1)])})


def mixed(*parts: int, total: int = 0): ...


def test_a_function_of_positions_takes_no_names():
    assert encode_call(mixed, (1, 2)) == [1, 2]
    with pytest.raises(
        InvalidValue, match="mixed takes arguments by position, so these cannot be given by name: total"
    ):
        encode_call(mixed, (1,), {"total": 3})
    with pytest.raises(InvalidValue, match="parts: expected int, got str"):
        bind_call(mixed, [1, "x"])
