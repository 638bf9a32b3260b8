"""Every value of a supported type comes back equal, and of the same type."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple, NewType, TypedDict

import msgspec
import orjson
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.codec import bind_call, decode, encode, encode_call
from tenax.model.json_text import json_fault


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Item:
    price: Decimal
    count: int = 1
    _note: str = field(default="", compare=False)


@dataclass(kw_only=True)
class Order:
    items: list[Item]
    placed: datetime
    colour: Colour | None = None
    parent: Order | None = None
    extra: dict[str, int] = field(default_factory=dict)


class Customer(pydantic.BaseModel):
    name: str
    born: date
    tags: set[str] = set()
    nested: list[Customer] = []
    mail: str = pydantic.Field(default="", alias="e-mail")


class Point(NamedTuple):
    x: int
    y: float


class Shape(msgspec.Struct):
    points: list[Point]


class Row(TypedDict):
    id: uuid.UUID
    level: Level


Number = NewType("Number", int)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
whole = st.integers(-(2**63), 2**63 - 1)
moments = st.datetimes(timezones=st.none() | st.just(UTC))
decimals = st.decimals(allow_nan=False, allow_infinity=False)
items = st.builds(Item, price=decimals, count=whole, _note=texts)
orders = st.recursive(
    st.builds(
        Order,
        items=st.lists(items, max_size=3),
        placed=moments,
        colour=st.sampled_from(Colour) | st.none(),
        extra=st.dictionaries(texts, whole, max_size=2),
    ),
    lambda inner: st.builds(Order, items=st.just([]), placed=moments, parent=inner),
    max_leaves=3,
)
customers = st.builds(
    lambda name, born, tags, mail: Customer(name=name, born=born, tags=tags, **{"e-mail": mail}),
    texts,
    st.dates(),
    st.sets(texts, max_size=3),
    texts,
)
points = st.builds(Point, whole, st.floats(allow_nan=False, allow_infinity=False))

VALUES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (Any, st.recursive(st.none() | st.booleans() | whole | texts, st.lists)),
    (int, whole),
    (bool, st.booleans()),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (str, texts),
    (None, st.none()),
    (bytes, st.binary(max_size=20)),
    (Decimal, decimals),
    (datetime, moments),
    (date, st.dates()),
    (time, st.times()),
    (timedelta, st.timedeltas()),
    (uuid.UUID, st.uuids()),
    (Colour, st.sampled_from(Colour)),
    (Level, st.sampled_from(Level)),
    (Literal["a", 3], st.sampled_from(["a", 3])),
    (Path, texts.map(Path)),
    (Number, whole),
    (int | None, st.none() | whole),
    (int | str | None | list[int], st.none() | whole | texts | st.lists(whole, max_size=2)),
    (list[datetime], st.lists(moments, max_size=3)),
    (tuple[int, ...], st.lists(whole, max_size=3).map(tuple)),
    (tuple[int, bytes], st.tuples(whole, st.binary(max_size=3))),
    (set[bytes], st.sets(st.binary(max_size=3), max_size=3)),
    (frozenset[date], st.frozensets(st.dates(), max_size=3)),
    (dict[str, Decimal], st.dictionaries(texts, decimals, max_size=3)),
    (dict[int, list[Item]], st.dictionaries(whole, st.lists(items, max_size=2), max_size=3)),
    (dict[date, uuid.UUID], st.dictionaries(st.dates(), st.uuids(), max_size=3)),
    (Item, items),
    (Order, orders),
    (list[Order | None], st.lists(orders | st.none(), max_size=2)),
    (Customer, customers),
    (dict[str, list[Customer]], st.dictionaries(texts, st.lists(customers, max_size=2), max_size=2)),
    (Point, points),
    (Shape, st.builds(Shape, st.lists(points, max_size=3))),
    (Row, st.fixed_dictionaries({"id": st.uuids(), "level": st.sampled_from(Level)})),
]


@pytest.mark.parametrize(("annotation", "values"), VALUES, ids=[str(kind) for kind, _ in VALUES])
@given(st.data())
def test_a_value_comes_back_as_it_was(annotation, values, data):
    value = data.draw(values)
    encoded = encode(value)
    assert orjson.loads(orjson.dumps(encoded)) == encoded
    assert json_fault(encoded) is None
    back = decode(annotation, encoded)
    assert back == value
    assert type(back) is type(value)


def takes_much(order: Order, /, customer: Customer, *rest: date, flag: bool = False) -> None: ...


def takes_names(order: Order, customer: Customer | None = None, *, when: timedelta = timedelta()) -> None: ...


@given(orders, customers, st.lists(st.dates(), max_size=3))
def test_a_call_by_position_comes_back(order, customer, dates):
    arguments = encode_call(takes_much, (order, customer, *dates))
    assert bind_call(takes_much, arguments) == ([order, customer, *dates], {})


@given(orders, customers | st.none(), st.timedeltas())
def test_a_call_by_name_comes_back(order, customer, when):
    arguments = encode_call(takes_names, (order,), {"customer": customer, "when": when})
    assert bind_call(takes_names, arguments) == ([], {"order": order, "customer": customer, "when": when})
