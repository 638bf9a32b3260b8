"""Tests views that are written in parts: the bytes on the wire are those of the whole view."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from msgspec import Struct

from tenax.server.schema.responses import VIEWS_AT_ONCE, answer_many


class _View(Struct):
    n: int


async def _body(response: Any) -> list[Any]:
    if not hasattr(response, "body_iterator"):
        return json.loads(response.body)
    return json.loads(b"".join([part async for part in response.body_iterator]))


@pytest.mark.parametrize("count", [0, 1, VIEWS_AT_ONCE, VIEWS_AT_ONCE + 1, 3 * VIEWS_AT_ONCE])
def test_a_list_of_any_length_is_one_list(count):
    views = [_View(n) for n in range(count)]
    assert asyncio.run(_body(answer_many(views))) == [{"n": n} for n in range(count)]


@pytest.mark.parametrize("count", [200, 201, 450])
def test_an_execution_of_many_steps_has_all_of_them_in_their_order(standing, count):
    steps = [{"step": f"s{n}", "type": "python", "task": "t:t", "queue": "nobody"} for n in range(count)]
    source = json.dumps({"name": "wide", "workflow": steps})
    with standing.http() as http:
        id_ = http.post("/v1/executions", json={"source": source}).json()["id"]
        shown = http.get(f"/v1/executions/{id_}").json()
    assert list(shown["steps"]) == [f"s{n}" for n in range(count)]
    assert {step["status"] for step in shown["steps"].values()} == {"queued"}
    assert (shown["id"], shown["workflow"]) == (id_, "wide")
