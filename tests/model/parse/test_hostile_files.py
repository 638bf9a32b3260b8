"""Tests hostile texts: refused at once, and only ever with InvalidDefinition."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.strategies.hostile_strategies import FRAGMENTS, JSON

from tenax.errors import Finding, InvalidDefinition
from tenax.model.definition.types import STEP_TYPES
from tenax.model.definition.workflow import Workflow
from tenax.model.parse.keys.step_types import SPEC_KEYS
from tenax.model.parse.parse import parse_workflow
from tenax.model.parse.workflow_file import STEP_KEYS

GENEROUS = 20.0
"""Seconds. A guard against hanging and no measure: each is a matter of milliseconds."""

LAUGHS = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 30)
)
MERGED_LAUGHS = "a0: &a0 {" + ",".join(f"k{i}: 1" for i in range(100)) + "}\n"
MERGED_LAUGHS += "".join(
    f"a{i}: &a{i} {{{','.join(f'm{i}_{j}: {{<<: *a{i - 1}}}' for j in range(10))}}}\n" for i in range(1, 12)
)

HOSTILE = {
    "aliases that explode": (LAUGHS, "values once aliases are expanded"),
    "merges that explode": (MERGED_LAUGHS, "values once aliases are expanded"),
    "texts that explode": ("a: &a " + "x" * 1_000_000 + "\nb: [" + "*a," * 1000 + "]", "8 MB once aliases"),
    "aliases that nest": (
        "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [[[*a{i - 1}]]]\n" for i in range(1, 5000)),
        "nested deeper than 50 levels once aliases are expanded",
    ),
    "an alias inside itself": ("a: &a [*a]", "stands inside what it names"),
    "an alias inside itself, of an earlier name": ("a: &a x\nb: &a [*a]", "stands inside what it names"),
    "an unknown alias": ("a: *b", "names no anchor"),
    "deep flow lists": ("[" * 100_000, "nested deeper than 50 levels"),
    "deep flow mappings": ("{a: " * 100_000, "nested deeper than 50 levels"),
    "deep block lists": ("- " * 100_000, "nested deeper than 50 levels"),
    "deep keys": ("? " * 100_000, "nested deeper than 50 levels"),
    "50 MB of text": ("a" * 50_000_000, "larger than 8 MB"),
    "50 MB of bytes": (b"a: b\n" * 10_000_000, "larger than 8 MB"),
    "a million equal keys": ("a: 1\n" * 1_000_000, "given twice, first on line 1"),
    "two documents": ("name: w\n---\nname: w\n", "2:1: a second document"),
    "an empty file": ("", "the file is empty"),
    "comments only": ("# nothing\n", "the file is empty"),
    "nothing": ("~", "the file is empty"),
    "Latin-1": (b"name: caf\xe9\n", "1:10: not UTF-8: the byte 0xe9"),
    "UTF-16": ("name: w".encode("utf-16"), "not UTF-8"),
    "half a surrogate": ("name: \ud800", "1:7: half of a surrogate pair"),
    "a control character": ("name: w\nversion: é\x01", "2:11: not valid YAML: the character U+0001"),
    "an object": (
        "name: !!python/object/apply:os.system [ls]",
        "the tag `!!python/object/apply:os.system` is not",
    ),
    "a tag of one's own": (
        "%TAG ! tag:evil,2024:\n---\nname: !x y",
        "the tag `tag:evil,2024:x` is not allowed",
    ),
    "a number of a million digits": ("name: w\nversion: " + "9" * 1_000_000, "is too large"),
    "a key of a megabyte": ("k" * 1_000_000 + ": 1", "not valid YAML"),
    "a huge policy": (
        "name: w\ndefaults: {retry: {" + ",".join(f"k{i}: 1" for i in range(100_000)) + "}}",
        "more than 2,000 values in one policy",
    ),
    "too many unknown keys": (
        "name: w\nworkflow: [{step: a, type: python, task: t, "
        + ",".join(f"k{i}: 1" for i in range(100_000))
        + "}]",
        "the first 100 errors",
    ),
    "too many wrong references": (
        "name: w\nworkflow: [{step: a, type: python, task: t, needs: [" + "5," * 100_000 + "]}]",
        "the first 100 errors",
    ),
    "too many wrong headers": (
        "name: w\nworkflow: [{step: a, type: http, url: 'http://h', headers: {"
        + ",".join(f"k {i}: ~" for i in range(50_000))
        + "}}]",
        "the first 100 errors",
    ),
    "too many inputs": (
        "name: w\ninput: {" + ",".join(f"k{i}: {{}}" for i in range(50_000)) + "}",
        "500 inputs",
    ),
    "too many steps": ("name: w\nworkflow: [" + "a," * 20_001 + "]", "20,001 steps"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile(case):
    text, expected = HOSTILE[case]
    begin = time.monotonic()
    with pytest.raises(InvalidDefinition) as raised:
        parse_workflow(text)
    assert time.monotonic() - begin < GENEROUS
    assert expected in raised.value.message
    assert len(raised.value.message) < 100_000


def test_ten_thousand_steps_in_a_chain():
    first = "name: w\nworkflow:\n - {step: s0, type: process, command: ls}\n"
    chain = first + "".join(
        f" - {{step: s{i}, type: process, command: ls, needs: s{i - 1}}}\n" for i in range(1, 10_000)
    )
    assert len(parse_workflow(chain).steps) == 10_000
    with pytest.raises(InvalidDefinition, match=r"circle: s0 -> s1 -> .* -> \(9990 more\) -> s9999 -> s0"):
        parse_workflow(chain.replace("command: ls}", "command: ls, needs: s9999}", 1))


def test_a_hundred_thousand_items():
    begin = time.monotonic()
    listed = "".join(f"    - {{id: {i}}}\n" for i in range(100_000))
    text = f"name: w\nworkflow:\n - step: a\n   type: python\n   task: t\n   for_each:\n{listed}"
    (step,) = parse_workflow(text).steps
    assert time.monotonic() - begin < GENEROUS
    assert step.for_each[99_999] == {"id": 99_999}


def test_ten_thousand_fallbacks_of_fallbacks():
    chain = "".join(
        f" - {{step: s{i}, type: process, command: ls, on_failure: {{step: s{i + 1}}}}}\n"
        for i in range(9_999)
    )
    begin = time.monotonic()
    steps = parse_workflow(
        f"name: w\nworkflow:\n{chain} - {{step: s9999, type: process, command: ls}}\n"
    ).steps
    assert time.monotonic() - begin < GENEROUS
    assert [step.needs for step in steps[:3]] == [(), ("s0",), ("s1",)]


def test_a_graph_that_is_all_circles():
    names = [f"s{i}" for i in range(300)]
    steps = "".join(
        f" - {{step: {name}, type: python, task: t, needs: [{', '.join(n for n in names if n != name)}]}}\n"
        for name in names
    )
    with pytest.raises(InvalidDefinition, match="circle: s0 -> s1 -> s0"):
        parse_workflow("name: w\nworkflow:\n" + steps)


def outcome(text: str | bytes) -> Workflow | tuple[Finding, ...]:
    try:
        return parse_workflow(text, filename="w.yaml")
    except InvalidDefinition as refused:
        return refused.findings


def parses_or_is_refused(text: str | bytes) -> None:
    match outcome(text):
        case Workflow() as workflow:
            assert workflow.steps
            assert Workflow.from_dict(json.loads(json.dumps(workflow.as_dict()))) == workflow
        case findings:
            assert findings
            assert all(str(finding).startswith("w.yaml") for finding in findings)


@given(st.text(st.characters(codec=None), max_size=300))
@settings(max_examples=examples(100), deadline=None)
def test_any_text(text):
    parses_or_is_refused(text)


@given(st.binary(max_size=200))
@settings(max_examples=examples(100), deadline=None)
def test_any_bytes(text):
    parses_or_is_refused(text)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join))
@settings(max_examples=examples(100), deadline=None)
def test_any_broken_definition(text):
    parses_or_is_refused(text)


COMMON_KEYS = ("condition", "delay", "deadline", "value", "step", "type", "task", "vary", "retry")
JSON_OF_KEYS = st.dictionaries(st.sampled_from(COMMON_KEYS), JSON, max_size=4)
KEYS = st.sampled_from([*STEP_KEYS, *(key for keys in SPEC_KEYS.values() for key in keys)])
STEP = st.dictionaries(KEYS, JSON | JSON_OF_KEYS, max_size=8).flatmap(
    lambda step: st.sampled_from(STEP_TYPES).map(lambda t: {"step": "a", **step, "type": t})
)


@given(STEP, st.dictionaries(st.sampled_from(["input", "defaults", "outputs", "deadline", "version"]), JSON))
@settings(max_examples=examples(100), deadline=None)
def test_any_value_of_any_key(step, top):
    parses_or_is_refused(json.dumps({"name": "w", "workflow": [step], **top}))
