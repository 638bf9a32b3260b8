"""Tests the library of packs: install, replace and remove, and which executions keep which content."""

from __future__ import annotations

from typing import Any

import pytest
from support.hand import Hand, one_postgres
from support.packs import MYPACK, echo, packed, pieces

from tenax.engine.packs.library import KEPT_SECONDS
from tenax.engine.submit.linked_start import WantedExecution
from tenax.errors import Conflict, InvalidDefinition, InvalidInput, NotFound, TooLarge, UsageError
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.packs.archive import CHUNK
from tenax.model.packs.views import InstalledPackAnswer
from tenax.model.wire import Assignment, Submission

pytestmark = one_postgres
CALL = """
name: calls
workflow:
  - {step: call, action: core.say, params: {}}
"""


async def install(hand: Hand, files: Any, folder: str = "core") -> InstalledPackAnswer:
    return await hand.engine.packs.install(pieces(packed(files)), folder=folder, actor="ann")


async def lease(hand: Hand) -> Assignment:
    return await hand.lease_one(runtimes=("action",))


async def stored(hand: Hand) -> int:
    [row] = await hand.sql("select count(*) as n from tenax.pack_content")
    return int(row["n"])


async def test_a_pack_is_installed_once_for_each_content(hand: Hand) -> None:
    first = await install(hand, MYPACK, "mypack")
    assert (first.name, first.created, first.replaced) == ("mypack", True, None)
    assert first.actions == ["mypack.flaky_api_call"]
    again = await install(hand, MYPACK, "mypack")
    assert (again.created, again.replaced, again.hash) == (False, None, first.hash)
    other = await install(hand, {**MYPACK, "readme.txt": "x"}, "mypack")
    assert (other.created, other.replaced) == (True, first.hash)
    [listed] = await hand.engine.packs.list()
    assert (listed.name, listed.hash, listed.files, listed.installed_by) == ("mypack", other.hash, 3, "ann")
    assert await hand.engine.packs.get("mypack") == listed
    assert await stored(hand) == 2


async def test_a_content_is_given_out_in_chunks(hand: Hand) -> None:
    archive = packed({**MYPACK, "data.bin": b"\1" * (2 * CHUNK)})
    found = await hand.engine.packs.install(pieces(archive, 333_333), folder="mypack", actor="ann")
    chunks = [await hand.engine.packs.chunk(found.hash, number) for number in range(4)]
    assert b"".join(chunks) == archive
    assert [len(chunk) for chunk in chunks] == [CHUNK, CHUNK, len(archive) - 2 * CHUNK, 0]
    with pytest.raises(NotFound, match="is not stored any more"):
        await hand.engine.packs.chunk("0" * 64, 0)


@pytest.mark.parametrize(
    ("archive", "error", "expected"),
    [
        (packed({"actions/a.yaml": "name: a"}), InvalidDefinition, "actions/a.yaml:1:1"),
        (packed({"x": ""}), InvalidInput, "the pack has no actions"),
        (b"no tar" * 1_000, InvalidInput, "not a readable archive"),
        (
            packed({**MYPACK, "data": b"x" * 3_000}),
            TooLarge,
            r"at most 2,000 bytes in its files \(max_pack\)",
        ),
    ],
)
async def test_a_wrong_pack_is_refused(hand: Hand, archive: bytes, error: Any, expected: str) -> None:
    hand = await hand.restarted(max_pack=2_000)
    with pytest.raises(error, match=expected):
        await hand.engine.packs.install(pieces(archive), folder="core", actor="ann")
    assert await hand.engine.packs.list() == []
    hand.engine.context.reading.reader_processes.close()


async def test_a_larger_body_is_refused_before_it_is_read(hand: Hand) -> None:
    taken = 0

    async def endless() -> Any:
        nonlocal taken
        while True:
            taken += 1_000_000
            yield b"x" * 1_000_000

    with pytest.raises(TooLarge, match=r"max_pack"):
        await hand.engine.packs.install(endless(), folder="core", actor="ann")
    assert taken < 100_000_000


async def test_who_did_what_is_recorded(hand: Hand) -> None:
    found = await install(hand, echo("hello"))
    await hand.engine.packs.remove("core", actor="bob")
    rows = await hand.sql(
        "select e.data from tenax.event e where e.type = 'operator_action' and e.data ->> 'pack' = 'core' order by e.id"
    )
    data = [row["data"] if isinstance(row["data"], str) else str(row["data"]) for row in rows]
    assert ["pack_install" in data[0], "ann" in data[0], found.hash in data[0]] == [True, True, True]
    assert ["pack_remove" in data[1], "bob" in data[1]] == [True, True]


async def test_a_step_runs_the_action_as_it_is_installed(hand: Hand) -> None:
    found = await install(hand, echo("hello", timeout="20s", max_retries="2"))
    execution_id = await hand.submit(CALL)
    leased = await lease(hand)
    assert (leased.runtime, leased.spec["action"], leased.spec["params"]) == ("action", "core.say", {})
    assert found.hash in leased.spec["pack"]
    assert (leased.timeout, leased.max_attempts) == (20.0, 3)
    await hand.succeed(leased, "hello")
    assert await hand.status(execution_id) == "completed"


async def test_an_execution_keeps_the_version_it_began_with(hand: Hand) -> None:
    old = await install(hand, echo("old"))
    running = await hand.submit(CALL.replace("params: {}", "params: {}, retry: {max_attempts: 2, jitter: 0}"))
    first = await lease(hand)
    new = await install(hand, echo("new"))
    await hand.fail(first)
    await hand.wait(1)
    again = await lease(hand)
    assert old.hash in again.spec["pack"]
    assert "echo old" in again.spec["pack"]
    await hand.succeed(again)
    assert await hand.status(running) == "completed"
    await hand.submit(CALL)
    assert new.hash in (await lease(hand)).spec["pack"]
    # A server that knows nothing yet reads the same from the database.
    restarted = await hand.restarted()
    await restarted.submit(CALL)
    assert new.hash in (await lease(restarted)).spec["pack"]


async def test_a_stored_workflow_means_the_pack_as_it_is_installed(hand: Hand) -> None:
    old = await install(hand, echo("old"))
    await hand.engine.store_workflow(CALL)
    await hand.engine.submit([Submission(workflow="calls")])
    assert old.hash in (await lease(hand)).spec["pack"]
    new = await install(hand, echo("new"))
    await hand.engine.submit([Submission(workflow="calls")])
    assert new.hash in (await lease(hand)).spec["pack"]
    parent = "name: up\nworkflow:\n  - {step: down, type: workflow, file: child.yaml}\n"
    await hand.engine.store_workflow(parent, files={"child.yaml": CALL})
    newest = await install(hand, echo("newest"))
    await hand.engine.submit([Submission(workflow="up")])
    await hand.settle_down()
    assert newest.hash in (await lease(hand)).spec["pack"]
    await hand.engine.packs.remove("core", actor="ann")
    with pytest.raises(NotFound, match="there is no pack named 'core'"):
        await hand.engine.submit([Submission(workflow="calls")])


@pytest.mark.parametrize(
    ("step", "error", "expected"),
    [
        (
            "action: cor.say",
            NotFound,
            "step s of workflow w: there is no pack named 'cor'; did you mean `core`",
        ),
        (
            "action: core.sya",
            NotFound,
            "step s of workflow w: the pack core has no action 'sya'; did you mean `say`",
        ),
        ("action: core.say, params: {x: 1}", InvalidInput, "`params`: x: the action declares no parameters"),
        ("action: core.get", InvalidInput, "`params`: url: required, but not given"),
        ("action: core.get, params: {url: 3}", InvalidInput, "url: expected string"),
        ("action: core.slow, retry: {initial_delay: 20}", InvalidInput, "does not fit that of its action"),
    ],
)
async def test_a_wrong_reference_is_refused_at_submission(
    hand: Hand, step: str, error: Any, expected: str
) -> None:
    files = {
        **echo("hi"),
        "actions/get.yaml": "name: get\ncommand: ls\nparameters: {url: {type: string, required: true}}",
        "actions/slow.yaml": "name: slow\ncommand: ls\nretry: {max_delay: 10}",
    }
    await install(hand, files)
    with pytest.raises(error) as raised:
        await hand.submit(f"name: w\nworkflow:\n  - {{step: s, {step}}}\n")
    assert expected in str(raised.value)


async def test_an_action_on_its_own_is_an_execution(hand: Hand) -> None:
    await install(hand, MYPACK, "mypack")
    submitted = await hand.engine.run_action("mypack.flaky_api_call", {"url": "http://x"}, key="k")
    leased = await lease(hand)
    assert (leased.workflow, leased.spec["params"]) == ("mypack.flaky_api_call", {"url": "http://x"})
    assert (leased.timeout, leased.max_attempts) == (120.0, 4)
    await hand.succeed(leased, {"ok": True})
    found = await hand.get(submitted.id)
    assert (found["status"], found["result"]) == ("completed", {"flaky_api_call": {"ok": True}})
    again = await hand.engine.run_action("mypack.flaky_api_call", {"url": "http://x"}, key="k")
    assert (again.id, again.created) == (submitted.id, False)
    for ref, params, error in [
        ("mypack.flaky_api_call", {}, InvalidInput),
        ("mypack.flaky_api_call", {"url": 1}, InvalidInput),
        ("mypack.none", {}, NotFound),
        ("no.none", {}, NotFound),
        ("../x", {}, UsageError),
    ]:
        with pytest.raises(error):
            await hand.engine.run_action(ref, params)


async def test_the_request_of_attune_starts_actions_and_links_retries(hand: Hand) -> None:
    await install(hand, MYPACK, "mypack")

    async def execute(ref: str, retry_of: int | None = None, parameters: Any = None) -> Any:
        return await hand.engine.execute(WantedExecution(ref, parameters, retry_of, "ann", "manual_retry"))

    first = await execute("mypack.flaky_api_call", parameters={"url": "http://x"})
    await hand.report(await lease(hand), Outcome("failed", facts=Facts(failure_class="denied", message="no")))
    assert await hand.status(first.id) == "failed"
    second = await execute("mypack.flaky_api_call", retry_of=first.id)
    assert (second.retry_of, second.original_execution) == (first.id, first.id)
    assert (await lease(hand)).spec["params"] == {"url": "http://x"}
    await hand.engine.store_workflow(CALL.replace("action: core.say, params: {}", "type: sleep, for: 1s"))
    with pytest.raises(Conflict, match="not calls"):
        await execute("calls", retry_of=first.id)
    assert (await execute("calls")).id > second.id
    with pytest.raises(NotFound, match="the pack mypack has no action 'flaky_api_cal'; did you mean"):
        await execute("mypack.flaky_api_cal")
    with pytest.raises(NotFound, match=r"no workflow named 'none\.x'"):
        await execute("none.x")


async def test_a_content_goes_when_nothing_open_needs_it(hand: Hand) -> None:
    old = await install(hand, echo("old"))
    execution_id = await hand.submit(CALL)
    leased = await lease(hand)
    await hand.engine.packs.remove("core", actor="ann")
    await hand.pass_time(KEPT_SECONDS + 60)
    await hand.beat(leased)
    await hand.engine.sweep()
    assert (await hand.engine.packs.chunk(old.hash, 0)) != b""
    await hand.engine.cancel(execution_id, actor="ann")
    await hand.engine.sweep()
    assert await stored(hand) == 0


async def test_a_child_that_has_not_begun_keeps_its_content(hand: Hand) -> None:
    await install(hand, echo("old"))
    parent = (
        "name: up\nworkflow:\n  - {step: first, type: python, task: a:b}\n"
        "  - {step: down, type: workflow, file: child.yaml, needs: [first]}\n"
    )
    await hand.submit(parent, files={"child.yaml": CALL})
    await hand.engine.packs.remove("core", actor="ann")
    await hand.pass_time(KEPT_SECONDS + 60)
    await hand.engine.sweep()
    assert await stored(hand) == 1


async def test_a_replaced_content_is_kept_for_a_while_and_comes_back(hand: Hand) -> None:
    old = await install(hand, echo("old"))
    await install(hand, echo("new"))
    await hand.engine.sweep()
    assert await stored(hand) == 2
    assert (await install(hand, echo("old"))).hash == old.hash
    await hand.pass_time(KEPT_SECONDS + 60)
    await hand.engine.sweep()
    assert await stored(hand) == 1
    assert await hand.engine.packs.chunk(old.hash, 0)


async def test_operators_see_actions_in_sql(hand: Hand) -> None:
    await install(hand, MYPACK, "mypack")
    [row] = await hand.sql(
        "select timeout_seconds, max_retries, runtime, pack, retry_config ->> 'max_attempts' as most"
        " from ops.action where ref = 'mypack.flaky_api_call'"
    )
    assert dict(row) == {
        "timeout_seconds": 120.0,
        "max_retries": 3,
        "runtime": "python",
        "pack": "mypack",
        "most": "4",
    }
