"""Tasks submitted through the application: on a database and through a server, awaited and blocking."""

from __future__ import annotations

import asyncio
import sys
import threading
from datetime import date
from decimal import Decimal

import pytest
from support.tasks import shop

from tenax import SyncTenax, TaskFailed, Tenax
from tenax.errors import InvalidValue, NotFound, UsageError
from tenax.sdk.task import Task

ORDER = shop.Order(7, Decimal("12.50"), date(2030, 1, 2))


async def test_a_task_is_submitted_and_its_result_is_rebuilt(make_app):
    async with make_app() as app, app.worker(queues=["pay"], labels={"bank": "yes"}):
        handle = await shop.charge.submit(ORDER, currency="EUR")
        assert await handle.result(timeout=30) == shop.Receipt(ORDER, paid=False)
        assert await (await shop.charge.submit(ORDER)) == shop.Receipt(ORDER)
        shown = await app.client.get(handle.id)
        assert (shown["workflow"], shown["input"]["currency"]) == ("support.tasks.shop.charge", "EUR")
        assert await handle.status() == "completed"
        assert "attempt 1 succeeded at once" in await handle.explain()
        [listed] = [one for one in await app.client.list() if one["id"] == handle.id]
        assert listed["workflow"] == "support.tasks.shop.charge"


async def test_the_policy_of_the_task_decides(make_app):
    async with make_app() as app, app.worker():
        assert await (await shop.stubborn.submit(3)) == 3
        with pytest.raises(TaskFailed) as caught:
            await (await shop.stubborn.submit(9)).result()
    failed = caught.value
    assert (failed.failure_class, failed.attempts) == ("transient", 3)
    assert "failed after 3 attempts: transient" in failed.message
    assert "Decided by: attempts_exhausted" in failed.explanation


async def test_many_calls_are_items_of_one_execution_or_executions(make_app):
    async with make_app() as app, app.worker():
        mapped = await shop.double.options(parallelism=3).map([1, 2, 3, 4], factor=5)
        assert await mapped == [5, 10, 15, 20]
        assert await (await shop.double.map([])) == []
        shown = await app.client.get(mapped.id)
        assert shown["steps"]["run"]["items"]["succeeded"] == 4
        handles = await shop.double.submit_many(range(3))
        assert [await handle for handle in handles] == [0, 2, 4]
        assert len({handle.id for handle in handles}) == 3
        assert await shop.double.submit_many([]) == []
        assert await (await shop.total.submit(Decimal("1.10"), Decimal("2.20"))) == Decimal("3.30")


async def test_a_key_starts_one_execution(make_app):
    async with make_app() as app, app.worker():
        keyed = shop.double.options(key="order-7")
        first, second = await keyed.submit(4), await keyed.submit(4)
        assert (first.id, first.created, second.created) == (second.id, True, False)
        assert await second == 8
        with pytest.raises(UsageError, match="a key names one execution"):
            await keyed.submit_many([1])


async def test_options_of_a_call_replace_those_of_the_task(make_app):
    async with make_app() as app, app.worker(queues=["fast"]):
        handle = await shop.double.options(queue="fast", priority=9).submit(2)
        assert await handle == 4
        assert await (await shop.stubborn.options(queue="fast").submit(2)) == 2


async def test_what_does_not_fit_is_refused_before_anything_runs(make_app):
    async with make_app() as app:
        with pytest.raises(InvalidValue, match=r"order\.due: expected date, got int"):
            await shop.charge.submit({"id": 1, "amount": "1", "due": 3})
        with pytest.raises(InvalidValue, match="missing a required argument: 'amount'"):
            await shop.double.submit()
        assert await app.client.list() == []


async def test_a_result_that_does_not_fit_is_named(make_app):
    async with make_app() as app, app.worker():
        with pytest.raises(
            InvalidValue, match=r"the result of support\.tasks\.shop:wrong_result: expected int, got str"
        ):
            await (await shop.wrong_result.submit(3))


async def test_the_wait_ends_and_the_execution_goes_on_until_it_is_cancelled(make_app):
    async with make_app() as app, app.worker(drain=1):
        handle = await shop.forever.submit()
        with pytest.raises(TimeoutError, match=f"execution {handle.id} is not finished after 0.05 s"):
            await handle.result(timeout=0.05)
        assert await handle.status() == "running"
        await handle.cancel(reason="enough")
        with pytest.raises(TaskFailed, match="was cancelled") as caught:
            await handle
        assert caught.value.failure_class == "cancelled"


async def test_the_client_has_all_methods(make_app):
    async with make_app() as app, app.worker(name="mine"):
        assert await (await shop.double.submit(1)) == 2
        assert [one["name"] for one in await app.client.workers()] == ["mine"]
        assert await app.client.save_filter("mine", "status=failed")
        assert [one["name"] for one in await app.client.filters()] == ["mine"]
        assert (await app.client.verify())["violations"] == []
        with pytest.raises(NotFound):
            await app.client.tree(999)
        with pytest.raises(NotFound):
            await app.handle(999).status()


async def test_a_fake_is_called_by_the_worker(make_app, monkeypatch):
    monkeypatch.setattr(shop, "double", lambda amount: amount + 100)
    double: Task = sys.modules["tenax.sdk.task"].REGISTRY.find("support.tasks.shop:double")
    async with make_app() as app, app.worker():
        assert await (await double.submit(1)) == 101


@pytest.mark.parametrize("make", ["on_database", "on_server"])
def test_code_without_an_event_loop_blocks(request, make):
    target = request.getfixturevalue(make)
    with SyncTenax(*target.args, **target.keywords) as app, app.worker():
        handle = shop.double.submit_sync(21)
        assert (handle.result(timeout=30), handle.status()) == (42, "completed")
        assert "attempt 1 succeeded at once" in handle.explain()
        assert app.client.get(handle.id)["status"] == "completed"
        assert app.client.result(handle.id) == {"run": 42}
        assert app.handle(handle.id).result() == {"run": 42}
        assert [one["name"] for one in app.client.workers()] != []
        with pytest.raises(TaskFailed):
            shop.stubborn.submit_sync(9).result()
        hanging = shop.forever.submit_sync()
        with pytest.raises(TimeoutError):
            app.client.wait(hanging.id, timeout=0.05)
        hanging.cancel()
    with pytest.raises(UsageError, match="this application is not open"):
        handle.status()


async def test_the_application_of_a_call_is_the_one_around_it(on_database, database_url, tmp_path):
    with pytest.raises(UsageError, match="no application is open"):
        await shop.double.submit(1)
    async with on_database() as outer:
        async with Tenax(database_url, home=tmp_path) as inner:
            assert (await shop.double.submit(1))._app is inner
            assert (await shop.double.options(app=outer).submit(1))._app is outer
        handle = await shop.double.submit(1)
        assert handle._app is outer
        with pytest.raises(UsageError, match="this would block the event loop"):
            handle.sync().result()
        assert await asyncio.to_thread(lambda: handle.sync().status()) == "running"
    with pytest.raises(UsageError, match="this application is not open"):
        await handle.status()


async def test_another_thread_uses_the_application_of_the_process(on_database):
    async with on_database() as app, app.worker():
        results = []

        def elsewhere() -> None:
            results.append(shop.double.submit_sync(21).result(timeout=30))
            results.append(shop.double.map_sync([1, 2]).result())
            results.append([one.result() for one in shop.double.submit_many_sync([3])])

            async def other_loop() -> None:
                results.append(await (await shop.double.submit(5)))

            asyncio.run(other_loop())

        thread = threading.Thread(target=elsewhere)
        thread.start()
        await asyncio.to_thread(thread.join)
        assert results == [42, [2, 4], [6], 10]


def main_task(amount: int) -> int:
    return amount


async def test_a_task_of_the_main_script_needs_a_worker_here(on_server):
    main_task.__module__ = "__main__"
    task: Task = Task("__main__:main_task", main_task)
    async with on_server() as app:
        with pytest.raises(UsageError, match="'__main__:main_task' belongs to the main script"):
            await task.submit(1)
        async with app.worker():
            handle = await task.submit(1)
            with pytest.raises(TaskFailed, match="runs only in the process of that script"):
                await handle.result(timeout=60)


@pytest.mark.parametrize("target", ["localhost:8520", "mysql://x"])
def test_a_target_is_the_url_of_a_server_or_a_database(target):
    with pytest.raises(UsageError, match="neither the URL of a server"):
        Tenax(target)


def test_settings_come_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("TENAX_SERVER", "http://127.0.0.1:1")
    monkeypatch.setenv("TENAX_SLOTS", "3")
    app = Tenax(home=tmp_path)
    assert (app.settings.server, app.settings.slots, app.settings.home) == ("http://127.0.0.1:1", 3, tmp_path)
    assert Tenax("postgresql:///x", home=tmp_path)._server is None
