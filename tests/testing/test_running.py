"""The fixture `tenax` runs tasks and workflows, answers what waits, and moves the clock."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import asyncpg
import pytest
from testing import shop

from tenax import Submission
from tenax.errors import Conflict, InvalidDefinition, InvalidValue, UsageError
from tenax.sdk.outcomes import Snooze
from tenax.testing import Tester, cancelled, completed, failed
from tenax.testing.core import DidNotEnd

SAY = "name: say\ninput: {word: {type: string}}\nworkflow: [{step: say, type: process, command: [echo, '{{ input.word }}']}]\n"
WAIT = """
name: wait
workflow:
  - {step: first, type: python, task: "testing.shop:ship", args: {receipt: R}, retry: {max_attempts: 2, initial_delay: 1h, jitter: 0}}
  - {step: built, type: wait, signal: built, needs: [first]}
  - {step: agreed, type: wait, needs: [built]}
"""


def test_a_file_with_its_children(tenax: Tester, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parent.yaml").write_text(
        "name: parent\nworkflow: [{step: part, type: workflow, file: parts/say.yaml, input: {word: hello}}]\n"
    )
    (tmp_path / "parts" / "say.yaml").write_text(SAY)
    assert tenax.run(tmp_path / "parent.yaml").result == {"part": {"say": "hello"}}
    assert tenax.run(str(tmp_path / "parent.yaml")).result == {"part": {"say": "hello"}}
    assert [one.view.workflow for one in tenax.executions()] == ["parent", "parent"], "children are left out"


def test_a_stored_workflow(tenax: Tester) -> None:
    tenax.store(SAY)
    parent = "name: parent\nworkflow: [{step: part, type: workflow, workflow: say, input: {word: hello}}]\n"
    assert tenax.run(parent).result == {"part": {"say": "hello"}}


def test_a_submission(tenax: Tester) -> None:
    assert tenax.run(Submission(source=SAY, input={"word": "1"})).result == {"say": 1}


def test_a_function_with_its_arguments(tenax: Tester) -> None:
    assert tenax.run(shop.charge, {"id": 3}).result == {"receipt": "R-3"}
    assert tenax.run(shop.ship, receipt="R-3").result == "parcel for R-3"
    with pytest.raises(
        InvalidValue, match=r"the arguments do not fit charge: missing a required argument: .order."
    ):
        tenax.run(shop.charge)


def test_a_task_with_its_policy_and_its_types(tenax: Tester) -> None:
    order = shop.Order(3, date(2026, 1, 31))
    tenax.lose_worker(shop.invoice, attempt=1)
    tenax.fail("invoice", attempt=2, status_code=503)
    execution = tenax.run(shop.invoice, order)
    assert execution.result == shop.Order(3, date(2026, 3, 2))
    execution.assert_attempts("run", 3)
    assert execution.delays() == [7200, 7200], "the lost worker was not counted"


def test_a_result_in_the_place_of_the_work(tenax: Tester) -> None:
    tenax.succeed(shop.invoice, result=shop.Order(4, date(2026, 1, 1)))
    assert tenax.run(shop.invoice, shop.Order(3, date(2026, 1, 31))).result.id == 4


def test_a_function_that_is_replaced(tenax: Tester, monkeypatch: pytest.MonkeyPatch) -> None:
    def snoozes_once(order: dict) -> str:
        if not seen:
            seen.append(order)
            raise Snooze(3600)
        return "late"

    seen: list[dict] = []
    monkeypatch.setattr(shop, "charge", snoozes_once)
    before = tenax.now
    source = (
        "name: t\nworkflow: [{step: charge, type: python, task: 'testing.shop:charge', args: {order: {}}}]\n"
    )
    assert tenax.run(source).result == {"charge": "late"}
    assert tenax.now - before == timedelta(hours=1)


def test_any_queue_and_labels_are_served(tenax: Tester) -> None:
    source = SAY.replace("type: process", "queue: far, labels: {gpu: 'true'}, type: process")
    assert tenax.run(source, input={"word": "x"}) == completed


def test_a_failed_execution_is_returned_and_has_no_result(tenax: Tester) -> None:
    execution = tenax.run(shop.refuse, {"id": 9})
    assert execution == failed
    assert execution.failure is not None
    assert execution.failure["message"] == "ValueError: order 9 has no amount"
    with pytest.raises(
        AssertionError,
        match=r"execution 1 is failed, so it has no result\n\nexecution 1 of testing\.shop\.refuse",
    ):
        _ = execution.result


def test_wrong_calls(tenax: Tester) -> None:
    with pytest.raises(UsageError, match="a workflow takes its inputs as a mapping"):
        tenax.run(SAY, word="hello")
    with pytest.raises(UsageError, match=r"nowhere\.yaml: there is no such file"):
        tenax.run("nowhere.yaml")
    with pytest.raises(UsageError, match="a dict cannot be run"):
        tenax.run({"name": "order"})
    with pytest.raises(InvalidDefinition, match="unknown key"):
        tenax.run("name: x\nsteps: []\n")
    execution = tenax.run(SAY, input={"word": "x"})
    with pytest.raises(ValueError, match="this execution has no step 'charge', but say"):
        execution.attempts("charge")


def test_answers(tenax: Tester) -> None:
    tenax.fail("first")
    started = tenax.start(WAIT)
    assert started.status == "running"
    tenax.signal(started, "built", {"build": 42})
    tenax.approve(started, "agreed", reason="looks right")
    execution = tenax.finish(started)
    assert execution == completed
    assert execution.steps["built"].result == {"build": 42}
    execution.assert_delays("first", [3600])
    with pytest.raises(Conflict, match="execution 1 has ended before agreed asked for an approval"):
        tenax.approve(started, "agreed")


def test_a_rejection(tenax: Tester) -> None:
    started = tenax.start(WAIT)
    tenax.signal(started, "built")
    tenax.reject(started, "agreed", reason="no")
    tenax.finish(started).assert_failed(reason="rejected")


def test_nobody_answers(tenax: Tester) -> None:
    with pytest.raises(DidNotEnd) as caught:
        tenax.run(WAIT)
    first, second, *_ = str(caught.value).splitlines()
    assert first == "execution 1 has not ended, and nothing runs or is due that could change it"
    assert second == "Step built does not run now: it waits for the signal 'built'."
    assert "waiting for signal built" in str(caught.value)


def test_work_that_takes_too_long(tenax: Tester) -> None:
    tenax.timeout = 0.5
    with pytest.raises(
        DidNotEnd, match=r"execution 1 has not ended, after 0\.5 s of real time \(tenax\.timeout\)"
    ):
        tenax.run("name: long\nworkflow: [{step: long, type: process, command: [sleep, '60']}]\n")


def test_time_is_moved_by_hand(tenax: Tester) -> None:
    tenax.fail("first")
    before = tenax.now
    started = tenax.start(WAIT)
    assert tenax.advance("30m") - before == timedelta(minutes=30)
    assert len(tenax.get(started).attempts("first")) == 1
    assert tenax.advance(1800) - before == timedelta(hours=1)
    assert [one.outcome for one in tenax.get(started).attempts("first")] == ["failed", "succeeded"]
    assert tenax.get(started).steps["built"].waiting is not None


def test_a_sleep_of_a_month_and_a_deadline(tenax: Tester) -> None:
    source = "name: nap\ndeadline: 40d\nworkflow: [{step: a, type: sleep, for: 30d}, {step: b, type: sleep, for: 30d, needs: [a]}]\n"
    before = tenax.now
    tenax.run(source).assert_failed(failure_class="timeout")
    assert tenax.now - before == timedelta(days=40)


def test_a_cancelled_execution(tenax: Tester) -> None:
    started = tenax.start(WAIT)
    tenax.cancel(started)
    assert tenax.finish(started) == cancelled


async def test_tables_of_the_test_are_gone_afterwards_1(tenax: Tester) -> None:
    await _make_table(tenax)


async def test_tables_of_the_test_are_gone_afterwards_2(tenax: Tester) -> None:
    await _make_table(tenax)


async def _make_table(tenax: Tester) -> None:
    connection = await asyncpg.connect(tenax.database_url)
    await connection.execute("create table orders (id bigint)")
    execution = await tenax.aio.run(SAY, input={"word": "x"})
    assert (execution.id, execution.status) == (1, "completed")
    await connection.close()


async def test_a_session_that_keeps_a_lock(tenax: Tester) -> None:
    """The next test gets a database of its own."""
    connection = await asyncpg.connect(tenax.database_url)
    await connection.execute("begin; lock table tenax.execution in share mode")
    connection.terminate()


def test_the_next_one(tenax: Tester) -> None:
    assert tenax.run(SAY, input={"word": "x"}).id == 1
