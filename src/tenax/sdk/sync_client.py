"""Offers the client to code without an event loop, by running its methods in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from tenax.errors import UsageError
from tenax.sdk.client import Client

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    method: Callable[Concatenate[Client, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncClient, P], T]:
    @wraps(method)
    def call(self: SyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.run(method(self.client, *args, **kwargs))

    return cast("Callable[Concatenate[SyncClient, P], T]", call)


class SyncClient:
    """Offers the methods of `Client` to code without an event loop. Use it as `with SyncClient(url, token) as client:`."""

    def __init__(
        self, server_url: str | None = None, token: str | None = None, *, timeout: float = 30.0
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tenax-client", daemon=True)
        self.client = Client(server_url, token, timeout=timeout)
        self._thread.start()

    submit = _blocking(Client.submit)
    submit_file = _blocking(Client.submit_file)
    submit_many = _blocking(Client.submit_many)
    check_many = _blocking(Client.check_many)
    get = _blocking(Client.get)
    list = _blocking(Client.list)
    events = _blocking(Client.events)
    news = _blocking(Client.news)
    explain = _blocking(Client.explain)
    diagnose = _blocking(Client.diagnose)
    diagnose_worker = _blocking(Client.diagnose_worker)
    diagnose_queue = _blocking(Client.diagnose_queue)
    verify = _blocking(Client.verify)
    items = _blocking(Client.items)
    progress = _blocking(Client.progress)
    logs = _blocking(Client.logs)
    tree = _blocking(Client.tree)
    cancel = _blocking(Client.cancel)
    retry = _blocking(Client.retry)
    act = _blocking(Client.act)
    pause = _blocking(Client.pause)
    resume = _blocking(Client.resume)
    signal = _blocking(Client.signal)
    approve = _blocking(Client.approve)
    reject = _blocking(Client.reject)
    dead_letters = _blocking(Client.dead_letters)
    dead_letter_groups = _blocking(Client.dead_letter_groups)
    dead_letter = _blocking(Client.dead_letter)
    redrive = _blocking(Client.redrive)
    redrive_matching = _blocking(Client.redrive_matching)
    discard = _blocking(Client.discard)
    store_workflow = _blocking(Client.store_workflow)
    workflows = _blocking(Client.workflows)
    install_pack = _blocking(Client.install_pack)
    packs = _blocking(Client.packs)
    pack = _blocking(Client.pack)
    remove_pack = _blocking(Client.remove_pack)
    actions = _blocking(Client.actions)
    action = _blocking(Client.action)
    run_action = _blocking(Client.run_action)
    workers = _blocking(Client.workers)
    worker = _blocking(Client.worker)
    pause_worker = _blocking(Client.pause_worker)
    drain_worker = _blocking(Client.drain_worker)
    resume_worker = _blocking(Client.resume_worker)
    release_worker = _blocking(Client.release_worker)
    queues = _blocking(Client.queues)
    limit_queue = _blocking(Client.limit_queue)
    pause_queue = _blocking(Client.pause_queue)
    resume_queue = _blocking(Client.resume_queue)
    pause_workflow = _blocking(Client.pause_workflow)
    resume_workflow = _blocking(Client.resume_workflow)
    alerts = _blocking(Client.alerts)
    overview = _blocking(Client.overview)
    stats = _blocking(Client.stats)
    audit = _blocking(Client.audit)
    audit_names = _blocking(Client.audit_names)
    filters = _blocking(Client.filters)
    save_filter = _blocking(Client.save_filter)
    remove_filter = _blocking(Client.remove_filter)
    schedules = _blocking(Client.schedules)
    schedule = _blocking(Client.schedule)
    next_ticks = _blocking(Client.next_ticks)
    create_schedule = _blocking(Client.create_schedule)
    pause_schedule = _blocking(Client.pause_schedule)
    resume_schedule = _blocking(Client.resume_schedule)
    run_schedule = _blocking(Client.run_schedule)
    delete_schedule = _blocking(Client.delete_schedule)
    create_bulk_job = _blocking(Client.create_bulk_job)
    bulk_jobs = _blocking(Client.bulk_jobs)
    bulk_job = _blocking(Client.bulk_job)
    start_bulk_job = _blocking(Client.start_bulk_job)
    stop_bulk_job = _blocking(Client.stop_bulk_job)
    resume_bulk_job = _blocking(Client.resume_bulk_job)
    list_tokens = _blocking(Client.list_tokens)
    create_token = _blocking(Client.create_token)
    revoke_token = _blocking(Client.revoke_token)
    wait = _blocking(Client.wait)
    result = _blocking(Client.result)
    healthy = _blocking(Client.healthy)
    ready = _blocking(Client.ready)

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """Runs one call of the async client to its end."""
        if self._loop.is_closed():
            call.close()
            raise UsageError("this client is closed")
        future = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self.run(self.client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
