"""Tests large definitions: they are read in separate processes and planned in slices, so that no other request waits for them."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from support.attack.loop_holds import LIMIT, MARGIN
from support.profiles import is_full

from tenax.server.app import GC_THRESHOLD

STEPS = 10_000 if is_full() else 5_000


def definition(n: int, steps: int) -> str:
    """A chain of steps, each with a template of its own."""
    lines = [
        f"- {{step: s{i}, type: python, task: 'm:f', args: {{a: '{{{{ execution_id + {i} }}}}'}}, needs: [{f's{i - 1}' if i else ''}]}}"
        for i in range(steps)
    ]
    return f"name: large{n}\nworkflow:\n" + "\n".join(lines) + "\n"


def store(http: httpx2.Client, source: str) -> httpx2.Response:
    return http.post("/v1/workflows", json={"source": source}, timeout=300)


def held(http: httpx2.Client) -> dict[str, float]:
    return http.get("/healthz?verbose").json()["measured"]


@pytest.fixture
def rare_collections() -> Iterator[None]:
    """As `tenax.server.app.run` has it, for a process that is a server and nothing else."""
    before = gc.get_threshold()
    gc.set_threshold(GC_THRESHOLD)
    gc.freeze()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("rare_collections")
def test_three_large_definitions_at_once_hold_nobody_up(start):
    served = start(max_steps=20_000, definition_time=120.0)
    sources = [definition(n, STEPS) for n in range(3)]
    answered: list[float] = []
    done = threading.Event()

    def ask() -> None:
        with served.http() as http:
            while not done.is_set():
                begun = time.monotonic()
                http.get("/healthz").raise_for_status()
                answered.append(time.monotonic() - begun)

    with served.http() as http, ThreadPoolExecutor(4) as threads:
        asking = threads.submit(ask)
        try:
            stored = list(threads.map(lambda source: store(http, source), sources))
        finally:
            done.set()
        asking.result()
        measured = held(http)
    assert [answer.status_code for answer in stored] == [201] * 3
    assert measured["loop_hold_busiest_seconds"] <= LIMIT * MARGIN, measured
    assert len(answered) > 100
    with start(
        max_steps=20_000, definition_time=120.0
    ).http() as http:  # it has to load what the other one has stored
        assert http.post("/v1/executions", json={"workflow": "large1"}, timeout=300).status_code == 201
        measured = held(http)
    assert measured["loop_hold_busiest_seconds"] <= LIMIT * MARGIN, measured


def test_a_definition_that_was_read_aside_is_as_one_that_was_read_at_once(server):
    """The same content in a small and in a padded file."""
    small = definition(1, 10)
    with server.http() as http:
        first = store(http, small).json()
        again = store(http, small + "#" * 10_000 + "\n")
    assert again.json() == {**first, "created": False}


def test_errors_of_a_large_definition_name_their_lines(server):
    source = definition(1, 200).replace(
        "task: 'm:f', args: {a: '{{ execution_id + 150", "taks: 'm:f', args: {a: '{{ execution_id + 150"
    )
    with server.http() as http:
        answer = store(http, source)
    assert answer.status_code == 422
    assert [(e["line"], e["path"]) for e in answer.json()["errors"]] == [
        (153, "workflow[150]"),
        (153, "workflow[150].taks"),
    ]


def test_limits_of_size_and_steps(start):
    with start(max_steps=100, max_definition=20_000).http() as http:
        assert store(http, definition(1, 100)).status_code == 201
        [error] = store(http, definition(1, 101)).json()["errors"]
        assert error["message"] == "101 steps; a workflow has at most 100 (`max_steps`)"
        [error] = store(http, "name: x\n" + "#" * 20_000).json()["errors"]
        assert error["message"].startswith("larger than 20,000 bytes (`max_definition`)")
