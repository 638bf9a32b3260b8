"""Reads mutated workflow files: each is accepted whole, or refused with a place and in a few words.

`tests/model/parse/test_hostile_files.py` has texts, bytes and definitions that were never valid.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies.hostile_strategies import THROUGH_A_SERVER, fuzzed, no_hang, workflow_texts

from tenax.engine.definitions.reading import Reading
from tenax.errors import InvalidDefinition
from tenax.model.definition.workflow import Workflow
from tenax.model.parse.parse import workflow_hash
from tenax.policy.check import load_workflow
from tenax.policy.plan import make_plan
from tenax.settings import Settings

LONGEST_MESSAGE = 100_000
MEMORY = 2_000_000
"""Bytes for the definitions that a server keeps."""


def outcome(text: str | bytes) -> Workflow | str:
    try:
        return load_workflow(text, filename="w.yaml")
    except InvalidDefinition as refused:
        return told(refused, text)


def told(refused: InvalidDefinition, text: str | bytes) -> str:
    """The message of a refusal, which must name its places and be short."""
    lines = len(text.splitlines()) + 1
    assert refused.findings
    for finding in refused.findings:
        assert finding.file == "w.yaml"
        assert finding.line is None or 1 <= finding.line <= lines
        assert finding.message.strip()
    assert len(refused.message) < LONGEST_MESSAGE
    json.dumps(refused.problem(), ensure_ascii=False).encode()
    return refused.message


@given(workflow_texts())
@fuzzed(150)
def test_a_file_is_accepted_whole_or_refused_with_a_place(text):
    with no_hang():
        found = outcome(text)
        if isinstance(found, Workflow):
            stored = json.loads(json.dumps(found.as_dict(), allow_nan=False))
            assert Workflow.from_dict(stored) == found
            assert make_plan(found, None).workflow_hash == workflow_hash(found)
        assert outcome(text) == found


@given(
    workflow_texts(),
    st.sampled_from(["utf-8", "utf-16", "latin-1", "utf-7"]),
    st.binary(max_size=4),
    st.data(),
)
@fuzzed(30)
def test_bytes_of_any_encoding(text, encoding, odd, data):
    encoded = text.encode(encoding, "replace")
    at = data.draw(st.integers(0, len(encoded)))
    with no_hang():
        outcome(encoded[:at] + odd + encoded[at:])


@pytest.fixture(scope="module")
def reading() -> Iterator[tuple[asyncio.Runner, Reading]]:
    with asyncio.Runner() as runner:
        made = Reading(Settings(), None, MEMORY)
        yield runner, made
        assert made.weight <= MEMORY
        assert not made._under_way
        made.reader_processes.close()


@given(workflow_texts())
@fuzzed(40, share=THROUGH_A_SERVER)
def test_a_server_reads_the_same(reading, text):
    runner, made = reading
    try:
        found: Workflow | str = runner.run(made.read(text, "w.yaml")).workflow
    except InvalidDefinition as refused:
        found = told(refused, text)
    assert found == outcome(text)
    assert made.weight <= MEMORY
