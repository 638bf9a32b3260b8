"""Tests actions of packs with real processes: every runtime, parameters, policies of failure, and folders."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.packs import MYPACK, packed

from tenax.errors import NotFound
from tenax.model.attempt.outcome import Outcome
from tenax.model.inputs.inputs import DefinitionLimits
from tenax.model.packs.action import BoundAction
from tenax.policy.packs.read_pack import PackLimits, read_pack
from tenax.sdk.context import TaskContext
from tenax.worker.executors.action import ActionExecutor
from tenax.worker.handlers.registry import NoHandler
from tenax.worker.packs.cache import PackCache
from tenax.worker.processes.guardian import Guardian

EXECUTABLE = ("bin/tool", "actions/bash.sh")
FILES: Mapping[str, str] = {
    **{path: str(text) for path, text in MYPACK.items()},
    "actions/greet.yaml": "name: greet\nruntime: python\nentrypoint: lib.greeting:greet\n"
    "parameters: {who: {type: string, default: world}, times: {type: integer, minimum: 1, default: 1}}",
    "lib/greeting.py": "import os\nfrom lib.words import HELLO\n"
    "def greet(who, times):\n"
    "    if who == 'nobody':\n        raise ValueError('nobody is there')\n"
    "    return [f'{HELLO} {who}'] * times + [os.path.dirname(os.environ['TENAX_PACK_DIR']) in os.getcwd()]",
    "lib/words.py": "HELLO = 'hello'",
    "actions/sh.yaml": "name: sh\nruntime: shell\nentrypoint: actions/plain.sh\nparameters: {a: {}}\nenv: {B: '{{.ID}}'}",
    "actions/plain.sh": 'echo "$(cat) $B $(cat "$TENAX_PACK_DIR/lib/words.py") $(cat "$TENAX_PARAMS_FILE")"',
    "actions/bash.yaml": "name: bash\nruntime: shell\nentrypoint: actions/bash.sh",
    "actions/bash.sh": '#!/bin/bash\necho "[\\"$BASH\\"]"',
    "actions/tool.yaml": "name: tool\nruntime: process\nentrypoint: bin/tool",
    "actions/tool2.yaml": "name: tool2\ncommand: [./bin/tool, 'a b']",
    "bin/tool": '#!/bin/sh\necho "tool:$1"',
    "actions/text.yaml": 'name: text\ncommand: echo "{{.ID}}" > x && cat x && pwd',
    "actions/fails.yaml": "name: fails\ncommand: echo no >&2; exit 7",
    "actions/logical.yaml": 'name: logical\ncommand: \'echo "{\\"status\\": \\"failed\\"}" > $TENAX_RESULT_FILE\'',
    "actions/slow.yaml": "name: slow\ncommand: sleep 60",
    "actions/node.yaml": "name: node\nruntime: node\nentrypoint: actions/n.js",
    "actions/n.js": "",
    "actions/pattern.yaml": "name: pattern\ncommand: echo ok\n"
    "parameters: {x: {type: string, pattern: '^([a-z]+)+$'}}",
}
ARCHIVE = packed(FILES, executable=EXECUTABLE)
MANIFEST = read_pack(io.BytesIO(ARCHIVE), "p", None, PackLimits(10**6, DefinitionLimits()))


async def _fetch(content: str, number: int) -> bytes:
    if content != MANIFEST.hash:
        raise NotFound(f"the content {content[:12]} of a pack is not stored any more")
    return ARCHIVE if number == 0 else b""


@pytest.fixture
def act(assign: Any, tmp_path: Path) -> Any:
    """Runs one attempt of an action of the pack."""

    def run(name: str, params: Any = None, *, content: str = MANIFEST.hash, **more: Any) -> Outcome:
        bound = BoundAction("p", content, MANIFEST.actions[name])
        spec = {"action": bound.ref, "params": {} if params is None else params, "pack": bound.descriptor}

        async def go() -> Outcome:
            guardian = Guardian()
            cache = PackCache(_fetch, tmp_path / "packs")
            assignment = assign("action", spec, **more)
            try:
                executor = ActionExecutor(guardian, cache)
                return await executor.run(assignment, TaskContext(assignment, started=time.time()))
            finally:
                await cache.close()
                guardian.close()

        return asyncio.run(go())

    return run


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("flaky_api_call", {"url": "http://x"}, {"called": "http://x"}),
        ("greet", {}, ["hello world", False]),
        ("greet", {"who": "ann", "times": 2}, ["hello ann", "hello ann", False]),
        ("sh", {"a": 1}, '{"a":1} {{.ID}} HELLO = \'hello\' {"a":1}'),
        ("bash", None, ["/bin/bash"]),
        ("tool", None, "tool:"),
        ("tool2", None, "tool:a b"),
    ],
)
def test_each_runtime(act: Any, name: str, params: Any, expected: Any) -> None:
    outcome = act(name, params)
    assert (outcome.status, outcome.result) == ("succeeded", expected), outcome.facts


def test_each_attempt_has_a_folder_of_its_own(act: Any, tmp_path: Path) -> None:
    seen = {act("text").result for _ in range(2)}
    assert len(seen) == 2
    assert all(one.startswith("{{.ID}}\n/") and str(tmp_path) not in one for one in seen)


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("flaky_api_call", {}, "url: required, but not given"),
        ("flaky_api_call", {"url": 3}, "url: expected string, found a number (3)"),
        ("flaky_api_call", {"url": "x", "ulr": "y"}, "ulr: there is no such parameter; did you mean `url`?"),
        ("greet", {"times": 0}, "times: 0 is less than the minimum of 1"),
        ("greet", [1], "`params` is not a mapping"),
        ("pattern", {"x": "A1"}, "does not match"),
    ],
)
def test_wrong_parameters(act: Any, name: str, params: Any, expected: str) -> None:
    outcome = act(name, params)
    assert outcome.status == "failed"
    assert (outcome.facts.failure_class, outcome.facts.reason) == ("invalid", "invalid_parameters")
    assert f"the parameters do not fit action `p.{name}`" in outcome.facts.message
    assert expected in outcome.facts.message


def test_a_slow_check_of_parameters_ends(act: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenax.worker.packs.parameters.CHECK_SECONDS", 2.0)
    outcome = act("pattern", {"x": "a" * 40 + "1"})
    assert (outcome.facts.failure_class, outcome.facts.reason) == ("invalid", "invalid_parameters")
    assert "the check did not end within 2 s" in outcome.facts.message
    assert act("pattern", {"x": "abc"}).result == "ok"


def test_failures_of_the_action(act: Any) -> None:
    assert act("fails").facts.exit_code == 7
    assert act("logical").facts.result_file == "failed"
    assert act("slow", timeout=0.5).facts.timed_out
    raised = act("greet", {"who": "nobody"}).facts
    assert (raised.exception, "nobody is there" in raised.message) == ("builtins.ValueError", True)


def test_a_pack_that_is_gone(act: Any) -> None:
    facts = act("greet", content="0" * 64).facts
    assert (facts.failure_class, facts.reason) == ("not_found", "pack_removed")
    assert "p.greet: the content 000000000000 of a pack is not stored any more" in facts.message


def test_a_machine_without_the_program_hands_the_lease_back(
    act: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoHandler, match="no `node`"):
        act("node")
