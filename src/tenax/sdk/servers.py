"""Chooses among the addresses of the servers of one Tenax: uses the first that works, and goes on to the next if it fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from tenax.credentials.passwords import without_password
from tenax.errors import Unreachable, UsageError
from tenax.sdk.exchange import Answer, Exchange, NoAnswer
from tenax.sdk.problems import error_of_answer, unreachable

log = logging.getLogger("tenax.servers")


class Servers:
    """Sends requests to a server that answers. All servers work on the same database, so any of them will do."""

    def __init__(self, addresses: str, *, headers: Mapping[str, str], timeout: float = 30.0) -> None:
        """Reads `addresses`, one URL or several with commas between them. `timeout` is the default of requests."""
        given = [part.strip().rstrip("/") for part in addresses.split(",") if part.strip()]
        if not given:
            raise UsageError(f"{addresses!r} is not the URL of a server")
        self._exchanges = [_exchange(address, headers) for address in given]
        self.addresses = tuple(without_password(address) for address in given)
        """The addresses without passwords, for messages and logs."""
        self._timeout = timeout
        self._current = 0
        self._followers: list[set[asyncio.Timeout]] = [set() for _ in self.addresses]

    @property
    def current(self) -> str:
        """The address that the next request goes to first."""
        return self.addresses[self._current]

    async def request(
        self, method: str, path: str, *, repeatable: bool, follows: bool = False, **how: Any
    ) -> Answer:
        """Returns the answer of the first server that gives one.

        A request that is not `repeatable` goes on to the next server only if the first cannot have carried it out. A request
        that `follows` stops waiting for a server when another request goes on from it to the next.
        """
        ask = self._ask_following if follows and len(self.addresses) > 1 else self._ask
        failures: list[tuple[str, Unreachable]] = []
        first = self._current
        for index in (*range(first, len(self.addresses)), *range(first)):
            try:
                return await ask(index, method, path, **how)
            except _Unanswered as unanswered:
                failures.append((self.addresses[index], unanswered.error))
                self._go_on(index, unanswered.error)
                if unanswered.in_doubt and not repeatable:
                    break
        raise _none_of(failures)

    async def close(self) -> None:
        for exchange in self._exchanges:
            await exchange.close()

    async def _ask_following(self, index: int, method: str, path: str, **how: Any) -> Answer:
        try:
            async with asyncio.timeout(None) as until_left:
                self._followers[index].add(until_left)
                try:
                    return await self._ask(index, method, path, **how)
                finally:
                    self._followers[index].discard(until_left)
        except TimeoutError:
            left = f"gave up waiting for the server at {self.addresses[index]}: it failed another request"
            raise _Unanswered(Unreachable(left), in_doubt=True) from None

    async def _ask(self, index: int, method: str, path: str, **how: Any) -> Answer:
        limit = how.pop("timeout", None) or self._timeout
        connect = how.pop("connect", None) or limit
        try:
            answer = await self._exchanges[index].request(method, path, timeout=limit, connect=connect, **how)
        except NoAnswer as failure:
            error = unreachable(self.addresses[index], failure.kind)
            raise _Unanswered(error, in_doubt=failure.sent) from failure
        if len(self.addresses) > 1 and not answer.is_success:
            trouble = error_of_answer(answer)
            if isinstance(trouble, Unreachable):
                raise _Unanswered(trouble, in_doubt=True)
        return answer

    def _go_on(self, index: int, error: Unreachable) -> None:
        """Makes the next server the current one, unless another request has done so already."""
        if len(self.addresses) > 1 and self._current == index:
            self._current = (index + 1) % len(self.addresses)
            log.info("%s; going on with %s", error.message, self.current)
            self._give_up(index)

    def _give_up(self, index: int) -> None:
        """Ends the waits of the requests that follow. Each is ended once, because a timeout that has expired cannot expire again."""
        followers, self._followers[index] = self._followers[index], set()
        for until_left in followers:
            until_left.reschedule(asyncio.get_running_loop().time())


class _Unanswered(Exception):
    """One server could not be used. `in_doubt` says that it may have carried out the request all the same."""

    def __init__(self, error: Unreachable, *, in_doubt: bool) -> None:
        super().__init__(error.message)
        self.error = error
        self.in_doubt = in_doubt


def _exchange(address: str, headers: Mapping[str, str]) -> Exchange:
    try:
        return Exchange(address, headers)
    except ValueError as error:
        raise UsageError(f"{address!r} is not the URL of a server: {error}") from error


def _none_of(failures: list[tuple[str, Unreachable]]) -> Unreachable:
    """Returns the error for all failures. If only one server was tried, it is the error of that server."""
    if len(failures) == 1:
        return failures[0][1]
    return Unreachable(
        "none of the servers can be used: "
        + "; ".join(
            error.message if address in error.message else f"{address}: {error.message}"
            for address, error in failures
        ),
        remedy="is one of them running, and are the addresses right? (--server or TENAX_SERVER)",
    )
