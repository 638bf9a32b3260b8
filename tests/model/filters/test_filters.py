"""The filter language: what texts mean, what is wrong with others, and that writing and reading agree."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.errors import NotFound, UsageError
from tenax.model.durations import LONGEST
from tenax.model.filters.fields import FIELDS
from tenax.model.filters.parse import MAX_LENGTH, parse_filter
from tenax.model.filters.terms import MAX_TERMS, MAX_VALUES, Ago, Filter, Match, Saved, Time, Words

M = Match


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        ("  \n ", ()),
        ("status=failed,running", (Words("status", (M("failed"), M("running"))),)),
        ("-status=failed", (Words("status", (M("failed"),), negated=True),)),
        ("status!=failed", (Words("status", (M("failed"),), negated=True),)),
        ("-status!=failed", (Words("status", (M("failed"),)),)),
        ("workflow=sync-*", (Words("workflow", (M("sync-", is_prefix=True),)),)),
        ('workflow="sync-*"', (Words("workflow", (M("sync-*"),)),)),
        ('key="a b"*', (Words("key", (M("a b", is_prefix=True),)),)),
        ("key=*", (Words("key", (M("", is_prefix=True),)),)),
        ('key=""', (Words("key", (M(""),)),)),
        ('text="connection \\"refused\\" \\\\"', (Words("text", (M('connection "refused" \\'),)),)),
        ("input.customer.id=42", (Words("input", (M("42"),), path=("customer", "id")),)),
        ('input."a.b".0="x,y",z', (Words("input", (M("x,y"), M("z")), path=("a.b", "0")),)),
        ("input.url=http://x/?a=b", (Words("input", (M("http://x/?a=b"),), path=("url",)),)),
        ("label=gpu:a100", (Words("label", (M("gpu:a100"),)),)),
        ("since=1h30m", (Time("since", Ago(5400.0)),)),
        ("until=2026-01-31T12:00:00+02:00", (Time("until", datetime(2026, 1, 31, 10, tzinfo=UTC)),)),
        ("since=2026-01-31", (Time("since", datetime(2026, 1, 31, tzinfo=UTC)),)),
        ("@nightly since=1d", (Saved("nightly"), Time("since", Ago(86400.0)))),
        ("parent=none", (Words("parent", (M("none"),)),)),
        ("step=a step!=b", (Words("step", (M("a"),)), Words("step", (M("b"),), negated=True))),
    ],
)
def test_what_a_text_means(text, terms):
    assert parse_filter(text) == Filter(terms)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("clas=transient", "column 1: there is no field `clas`; did you mean `class`?"),
        ("status=failed colour=red", "column 15: there is no field `colour`; there are status, workflow,"),
        ("status=faild", "column 8: `status` is never 'faild'; did you mean `failed`?"),
        ("status=", "column 8: expected a value for `status`, such as status=failed,running"),
        ("status=failed,", "column 15: expected a value"),
        ("status", "column 7: expected `=` and a value after `status`"),
        ("status failed", "column 7: expected `=`"),
        ("refused", "column 1: expected FIELD=VALUE, found 'refused'; to search for a text write text=..."),
        ('text="never', "column 6: this quote is never closed"),
        ('text="a"b', "column 9: expected a space before the next term"),
        ("workflow=a*b", "column 12: expected a space before the next term"),
        ("status=fail*", "column 12: `status` takes no `*`"),
        ('text=""', "column 6: `text` needs at least one character"),
        ('text="\\n"', "column 8: after a backslash"),
        ("input=3", "column 6: expected a path after `input`"),
        ("input.=3", "column 7: expected a name in the path"),
        ("since=yesterday", "column 7: 'yesterday' is neither a duration"),
        ("since=9999-12-31T23:59:59-12:00", "column 7: "),
        ("since=200y", "column 7: "),
        ("-since=2h", "column 1: `since` cannot be negated: use `until`"),
        ("since=1h since=2h", "column 10: `since` is given twice"),
        ("since=1h,2h", "column 9: expected a space"),
        ("id=17,x", "column 7: expected the number of an execution, found 'x'"),
        ("id=1*", "takes no `*`"),
        ("parent=x", "column 8: expected the number of an execution or `none`"),
        ("parent=99999999999999999999", "column 8: expected the number"),
        ("@", "column 2: '' is not the name"),
        ("@a/b", "column 2: 'a/b' is not the name"),
        ("text=\0", "column 6: this character"),
        ("text=\ud800", "column 6: this character"),
        ("x" * (MAX_LENGTH + 1), "4,001 characters, and 4,000 are allowed"),
        ("key=a " * (MAX_TERMS + 1), f"at most {MAX_TERMS} terms"),
        ("key=" + ",".join("a" * (MAX_VALUES + 1)), f"at most {MAX_VALUES} values"),
        ("input" + ".a" * 21 + "=1", "at most 20 parts"),
    ],
)
def test_an_error_says_the_place_and_the_cause(text, said):
    with pytest.raises(UsageError) as caught:
        parse_filter(text)
    assert said in caught.value.message


_texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
_names = st.from_regex(r"[a-z0-9_][a-z0-9_.-]{0,9}", fullmatch=True)
_matches = st.builds(Match, _texts, st.booleans())


def _words(name: str):
    field = FIELDS[name]
    if field.choices:
        value = st.sampled_from(field.choices).map(Match)
    elif field.kind == "id":
        value = st.integers(1, 2**63 - 1).map(str).map(Match)
    elif field.kind == "parent":
        value = st.one_of(st.just("none"), st.integers(1, 2**63 - 1).map(str)).map(Match)
    elif field.kind == "text":
        value = _texts.filter(bool).map(Match)
    else:
        value = _matches
    path = st.lists(_texts.filter(bool), min_size=1, max_size=4).map(tuple)
    return st.builds(
        Words,
        st.just(name),
        st.lists(value, min_size=1, max_size=4).map(tuple),
        st.booleans(),
        path if name == "input" else st.just(()),
    )


_moments = st.one_of(
    st.floats(0, LONGEST).map(Ago),
    st.datetimes(timezones=st.just(UTC), min_value=datetime(1000, 1, 1)),  # noqa: DTZ001
)
_others = [name for name, field in FIELDS.items() if field.kind != "time"]
_filters = st.builds(
    lambda terms, since, until: Filter((*terms, *since, *until)),
    st.lists(st.one_of(st.builds(Saved, _names), *map(_words, _others)), max_size=8),
    st.lists(st.builds(Time, st.just("since"), _moments), max_size=1),
    st.lists(st.builds(Time, st.just("until"), _moments), max_size=1),
)


@given(_filters)
def test_a_filter_that_is_written_reads_as_it_was(one):
    assert parse_filter(str(one)) == one


@given(st.text(st.sampled_from("status=failed-@!.,*\"\\ input:x\x00'\n\u2028"), max_size=MAX_LENGTH))
def test_any_text_is_read_or_refused(text):
    try:
        found = parse_filter(text)
    except UsageError:
        return
    assert parse_filter(str(found), stored=True) == found


@pytest.mark.parametrize("text", ["=" * 4000, '"' * 4000, "\\" * 4000, "-" * 4000, "a" * 4000, " " * 4000,
                                  'text="' + '\\"' * 1990, "input" + '."a"' * 900, "key=" + "*" * 3000])  # fmt: skip
def test_long_hostile_texts_are_refused_after_few_steps(text):
    """Each character is looked at a bounded number of times, which the number of calls shows."""
    import sys

    calls = 0

    def count(*_):
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        parse_filter(text)
    except UsageError:
        pass
    finally:
        sys.setprofile(None)
    assert calls < 40 * len(text)


def test_saved_filters_are_put_in_the_place_of_their_names():
    saved = {"mine": parse_filter("workflow=sync status=failed")}
    assert parse_filter("@mine since=2h").expanded(saved) == parse_filter(
        "workflow=sync status=failed since=2h"
    )
    with pytest.raises(NotFound, match="'other'"):
        parse_filter("@other").expanded(saved)
    with pytest.raises(UsageError, match="60 terms"):
        parse_filter("@mine " * 30).expanded(saved)


def test_an_anchored_filter_has_fixed_times():
    now = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert str(parse_filter("since=2h").anchored(now)) == "since=2026-01-31T10:00:00Z"


def test_every_example_of_a_field_is_read():
    for field in FIELDS.values():
        [term] = parse_filter(field.example).terms
        assert getattr(term, "field", None) == field.name
