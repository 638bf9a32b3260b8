"""Runs an event loop in a thread, so that tests with any event loop or none can wait for what runs in it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from tenax.errors import TenaxError

__tracebackhide__ = True  # pytest shows the lines of the test, and not those of this module

T = TypeVar("T")


class LoopThread:
    """Is an event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tenax-testing", daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Blocks until the coroutine has ended. Ctrl-C cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            error = future.exception()
        except BaseException:
            future.cancel()
            raise
        if isinstance(error, (TenaxError, AssertionError)):
            raise error.with_traceback(None)  # its message says all, and its place in the engine says nothing
        if error is not None:
            raise error
        return future.result()

    def close(self) -> None:
        self.call(self._loop.shutdown_asyncgens())
        self.call(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
