"""The setting `max_result`: how large an http answer and a result file may be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Assignment
from tenax.sdk.context import TaskContext
from tenax.settings import Settings
from tenax.worker.executors.runtimes import RESULT_LIMIT, Executors
from tenax.worker.packs.cache import PackCache

Assign = Callable[..., Assignment]


async def no_packs(content: str, number: int) -> bytes:
    raise AssertionError("no pack is needed")


def outcome(assign: Assign, runtime: str, spec: dict[str, Any], limit: int) -> Outcome:
    async def go() -> Outcome:
        executors = Executors(lambda _: None, PackCache(no_packs), max_result=limit)
        assignment = assign(runtime, spec)
        try:
            return await executors.of(runtime).run(assignment, TaskContext(assignment, started=time.time()))
        finally:
            await executors.close()

    return asyncio.run(go())


@pytest.mark.parametrize("runtime", ["http", "process"])
def test_what_is_larger_is_refused(assign, callee, runtime):
    callee.answers = [(200, {}, b"x" * 50)] * 2
    spec = {
        "http": {"url": callee.url},
        "process": {"command": f"echo '\"{'x' * 47}\"' > $TENAX_RESULT_FILE"},
    }
    assert outcome(assign, runtime, spec[runtime], 50).status == "succeeded"
    facts = outcome(assign, runtime, spec[runtime], 49).facts
    assert facts is not None
    assert (facts.failure_class, facts.reason) == ("invalid", "invalid_result")
    assert "larger than 49 bytes (`max_result`)" in (facts.message or "")


def test_the_default_is_that_of_the_setting():
    assert Settings().max_result == RESULT_LIMIT
