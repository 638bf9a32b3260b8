"""Imports mutated files of other systems: each becomes valid workflow files, or is refused with a place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.recorded.dialect_samples import SAMPLES
from support.strategies.hostile_strategies import fuzzed, no_hang

from tenax.dialects.translate import translate_text
from tenax.errors import InvalidDefinition
from tenax.model.source.yaml_source import read_documents
from tenax.policy.check import load_workflow

Place = tuple[str | int, ...]

DOCUMENTS = [
    (path.parent.name, json.dumps(source.data))
    for path in SAMPLES
    for source in read_documents(path.read_bytes())
]
VALUES: list[Any] = [
    None, True, False, 0, -1, -5, 2.5, 0.0001, 1e300, -1e300, 10**40, 999_999, "", "x", "-1", "3", "3.7",
    "1e400", "inf", "nan", "{{ x }}", "{{", "}}", "{% raw %}", "{{= 1 }}", "$.a[0].b", "{% $x %}", "-", "a b",
    "../..", "é" * 300, "end", "item", "steps", "-1h", "5m", [], {}, [1], [{}], [[]], [None], {"a": {"b": []}}, {"": 1},
]  # fmt: skip


def places(data: Any, above: Place = ()) -> Iterator[Place]:
    """Yields the places of all values below the top."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        yield (*above, key)
        yield from places(value, (*above, key))


def put(data: Any, place: Place, value: Any) -> None:
    for key in place[:-1]:
        data = data[key]
    data[place[-1]] = deepcopy(value)


@st.composite
def mutated_documents(draw: st.DrawFn) -> tuple[str, str]:
    """Draws the name of a system, and a document of it in which a few values are other ones."""
    system, text = draw(st.sampled_from(DOCUMENTS))
    data = json.loads(text)
    for _ in range(draw(st.integers(1, 3))):
        if there := list(places(data)):
            put(data, draw(st.sampled_from(there)), draw(st.sampled_from(VALUES)))
    return system, json.dumps(data)


@given(mutated_documents())
@fuzzed(400)
def test_an_import_gives_valid_files_or_is_refused_with_a_place(drawn):
    system, text = drawn
    with no_hang():
        try:
            made = translate_text(text, filename="f.json", system=system)
        except InvalidDefinition as refused:
            for finding in refused.findings:
                assert finding.file == "f.json", finding
                assert finding.line is not None, finding
            return
        for workflow in made.workflows:
            load_workflow(workflow.text)
