"""Tests the fields of filters: what they show, what they write, and that both agree."""

from __future__ import annotations

import pytest
from starlette.datastructures import ImmutableMultiDict

from tenax.errors import UsageError
from tenax.model.filters.parse import parse_filter, parse_letter_filter
from tenax.ui.filter_form import execution_form, letter_form, selected, text_of_fields, with_status


def sent(text: str, form=execution_form, parse=parse_filter) -> str:
    """Shows a filter as fields, and writes what the browser sends of them."""
    made = form(parse(text), text)
    fields = [("status", one) for one in made.chosen]
    return text_of_fields([*fields, *made.values.items(), ("rest", made.rest)])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("status=failed,running", {}),
        ("workflow=sync-*,x step=charge", {"workflow": "sync-*,x", "step": "charge"}),
        ("class=transient reason=http_5* queue=slow", {"class": "transient", "reason": "http_5*"}),
        ("since=2h until=2026-01-31T12:00:00Z", {"since": "2h", "until": "2026-01-31T12:00:00Z"}),
        ('text="connection refused, \\"x\\" * y"', {"text": 'connection refused, "x" * y'}),
        ("input.customer.id=42", {"path": "customer.id", "input": "42"}),
        ("workflow=*", {"workflow": "*"}),
        ('workflow="two words"', {"workflow": "two words"}),
    ],
)  # fmt: skip
def test_fields_show_a_filter_and_write_it_again(text, shown):
    form = execution_form(parse_filter(text), text)
    assert {name: value for name, value in form.values.items() if name in shown} == shown
    assert form.rest == ""
    assert set(parse_filter(sent(text)).terms) == set(parse_filter(text).terms)


@pytest.mark.parametrize(
    "text",
    [
        "@mine", "-step=notify", "workflow!=a", 'workflow="a,b"', 'workflow="a*"', 'key=" a"', "parent=none", "id=17,18",
        'input."a.b"=1', "text=a,b", 'text=" a"', 'step=""', "worker=blue", "compensation=failed",
    ],
)  # fmt: skip
def test_terms_that_no_field_can_show_stay_as_text(text):
    form = execution_form(parse_filter(text), text)
    assert not any(form.values.values())
    assert form.rest == str(parse_filter(text))
    assert parse_filter(sent(text)) == parse_filter(text)


def test_a_second_term_of_a_field_stays_as_text():
    form = execution_form(parse_filter("status=failed workflow=a status=running workflow=b"), "")
    assert (form.chosen, form.values["workflow"], form.rest) == (
        ("failed",),
        "a",
        "status=running workflow=b",
    )


def test_fields_of_letters_are_those_of_letters():
    text = "status=open,discarded execution=17 class=timeout fingerprint=70621c53fe890d93"
    assert (
        sent(text, letter_form, parse_letter_filter)
        == "status=open,discarded class=timeout execution=17 fingerprint=70621c53fe890d93"
    )


def test_a_text_that_is_no_filter_is_shown_as_text():
    form = execution_form(None, "stauts=failed")
    assert (form.rest, any(form.values.values())) == ("stauts=failed", False)


def test_a_path_without_a_value_is_for_any_value():
    assert text_of_fields([("path", "customer.id"), ("input", " ")]) == "input.customer.id=*"


def test_values_of_people_cannot_become_other_terms():
    text = text_of_fields([("workflow", 'a" status=failed'), ("text", 'x" y'), ("since", "1h status=failed")])
    with pytest.raises(UsageError, match="neither a duration"):
        parse_filter(text)
    fields = [("workflow", 'a" status=failed'), ("text", 'x" y'), ("unknown", "x"), ("class", " , ")]
    assert {term.field for term in parse_filter(text_of_fields(fields)).terms} == {"workflow", "text"}


def test_a_state_replaces_what_a_filter_says_about_states():
    chosen = parse_filter("workflow=a status!=running status=failed")
    assert with_status(chosen, "paused") == "status=paused workflow=a"
    assert with_status(chosen, None) == "workflow=a"


@pytest.mark.parametrize(
    ("given", "filter_"),
    [
        ([("rows", "1"), ("filter", "status=failed"), ("id", "3"), ("id", "5")], "id=3,5"),
        ([("rows", "1"), ("filter", "status=failed"), ("id", "3"), ("all", "1")], "status=failed"),
        ([("filter", "status=failed")], "status=failed"),
    ],
)
def test_a_selection_is_the_chosen_rows_or_all(given, filter_):
    assert selected(ImmutableMultiDict(given)) == filter_


def test_a_selection_without_a_row_is_refused():
    with pytest.raises(UsageError, match="nothing is chosen"):
        selected(ImmutableMultiDict([("rows", "1"), ("filter", "status=failed")]))
