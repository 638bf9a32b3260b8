"""Holds the report of each sample to the expected one, and finds keys that an import would leave out silently."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.recorded.dialect_samples import HERE, NAMES, SAMPLES, imported

from tenax.dialects.translate import Import, translate_text
from tenax.errors import InvalidDefinition
from tenax.model.source.findings import format_path
from tenax.model.source.yaml_source import read_documents

UNKNOWN = "zzz_unknown"


@pytest.mark.parametrize("name", NAMES)
def test_the_report_is_as_expected(name):
    expected = (HERE / "reports" / f"{name}.txt").read_text()
    assert "".join(f"{entry}\n" for entry in imported(name).entries) == expected


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_of_a_report_has_its_line(name):
    assert [entry for entry in imported(name).entries if entry.line is None] == []


def mappings(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from mappings(part, (*path, key))


def with_unknown(data: Any, path: tuple[str | int, ...]) -> Any:
    copy = json.loads(json.dumps(data))
    at = copy
    for key in path:
        at = at[key]
    at[UNKNOWN] = "zzz_value"
    return copy


@pytest.mark.parametrize("path", SAMPLES, ids=NAMES)
def test_no_key_is_left_out_silently(path):
    """An unknown key anywhere is in the result or in the report, lies in a part that was dropped as a whole, or is an error."""
    silent = []
    for source in read_documents(path.read_bytes()):
        for place in mappings(source.data):
            text = json.dumps(with_unknown(source.data, place))
            try:
                found = translate_text(text, system=path.parent.name)
            except InvalidDefinition:
                continue
            if UNKNOWN not in found.text and not is_reported(found, place):
                silent.append(place)
    assert [place for place in silent if not NO_WORK & set(place)] == []


def is_reported(found: Import, place: tuple[str | int, ...]) -> bool:
    whole = {format_path(place[:end]) for end in range(1, len(place) + 1)}
    return any(
        UNKNOWN in str(entry) or (entry.path in whole and entry.kind != "understood")
        for entry in found.entries
    )


NO_WORK = frozenset({"metadata", "labels", "annotations"})
"""Keys whose values say nothing about what is run. The reports leave them out."""
