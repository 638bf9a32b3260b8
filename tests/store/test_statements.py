"""Statements with named parameters: only the parts that have something to do are sent."""

from __future__ import annotations

from tenax.store.statements import NamedStatement

SOURCE = """-- Counts.
select :first::int
--if second
       + :second::int -- and more
--if third
       + :third::int + :first::int
--end
       as total
"""


def test_a_part_without_its_value_is_left_out_with_its_parameters():
    text, arguments = NamedStatement(SOURCE).fill({"first": 1, "second": None, "third": None})
    assert text.split() == ["select", "$1::int", "as", "total"]
    assert arguments == [1]


def test_a_part_ends_where_the_next_one_begins():
    text, arguments = NamedStatement(SOURCE).fill({"first": 1, "second": 2, "third": None})
    assert text.split() == ["select", "$1::int", "+", "$2::int", "as", "total"]
    assert arguments == [1, 2]


def test_a_parameter_that_occurs_twice_has_one_number():
    text, arguments = NamedStatement(SOURCE).fill({"first": 1, "second": None, "third": 3})
    assert text.split() == ["select", "$1::int", "+", "$2::int", "+", "$1::int", "as", "total"]
    assert arguments == [1, 3]


def test_the_same_parts_are_the_same_text():
    """A session knows a prepared statement by its text: another text would be prepared again."""
    statement = NamedStatement(SOURCE)
    first, _ = statement.fill({"first": 1, "second": [2], "third": ""})
    again, _ = statement.fill({"first": 5, "second": "6", "third": None})
    assert again is first
