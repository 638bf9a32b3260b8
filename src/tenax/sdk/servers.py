"""The addresses of one Tenax: the first that works is kept, the others are there for when it does not answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from tenax.errors import Unreachable, UsageError
from tenax.sdk.exchange import Answer, Exchange, NoAnswer, without_password
from tenax.sdk.problems import error_of_answer, unreachable

log = logging.getLogger("tenax.servers")


class Servers:
    """Makes requests of whichever server answers. All of them work on the same database, so any will do."""

    def __init__(self, addresses: str, *, headers: Mapping[str, str], timeout: float = 30.0) -> None:
        """`addresses`: one URL, or several with commas between them. `timeout`: of requests that name none."""
        given = [part.strip().rstrip("/") for part in addresses.split(",") if part.strip()]
        if not given:
            raise UsageError(f"{addresses!r} is not the URL of a server")
        self._exchanges = [_exchange(address, headers) for address in given]
        self.addresses = tuple(without_password(address) for address in given)
        """As they may be shown and logged."""
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
        """The answer of the first that gives one.

        A request that is not `repeatable` goes on to the next server only where nothing can have come of it. One that
        `follows` waits no longer at a server that another request has left.
        """
        ask = self._ask_following if follows and len(self.addresses) > 1 else self._ask
        failures: list[tuple[str, Unreachable]] = []
        first = self._current
        for place in (*range(first, len(self.addresses)), *range(first)):
            try:
                return await ask(place, method, path, **how)
            except _Unanswered as unanswered:
                failures.append((self.addresses[place], unanswered.error))
                self._leave(place, unanswered.error)
                if unanswered.in_doubt and not repeatable:
                    break
        raise _none_of(failures)

    async def close(self) -> None:
        for exchange in self._exchanges:
            await exchange.close()

    async def _ask_following(self, place: int, method: str, path: str, **how: Any) -> Answer:
        try:
            async with asyncio.timeout(None) as until_left:
                self._followers[place].add(until_left)
                try:
                    return await self._ask(place, method, path, **how)
                finally:
                    self._followers[place].discard(until_left)
        except TimeoutError:
            left = f"gave up waiting for the server at {self.addresses[place]}: it failed another request"
            raise _Unanswered(Unreachable(left), in_doubt=True) from None

    async def _ask(self, place: int, method: str, path: str, **how: Any) -> Answer:
        limit = how.pop("timeout", None) or self._timeout
        connect = how.pop("connect", None) or limit
        try:
            answer = await self._exchanges[place].request(method, path, timeout=limit, connect=connect, **how)
        except NoAnswer as failure:
            error = unreachable(self.addresses[place], failure.kind)
            raise _Unanswered(error, in_doubt=failure.sent) from failure
        if len(self.addresses) > 1 and not answer.is_success:
            trouble = error_of_answer(answer)
            if isinstance(trouble, Unreachable):
                raise _Unanswered(trouble, in_doubt=True)
        return answer

    def _leave(self, place: int, error: Unreachable) -> None:
        """Another request may have gone on from there already."""
        if len(self.addresses) > 1 and self._current == place:
            self._current = (place + 1) % len(self.addresses)
            log.info("%s; going on with %s", error.message, self.current)
            self._give_up(place)

    def _give_up(self, place: int) -> None:
        """Each is told once: what has run out cannot be told again."""
        followers, self._followers[place] = self._followers[place], set()
        for until_left in followers:
            until_left.reschedule(asyncio.get_running_loop().time())


class _Unanswered(Exception):
    """One server could not be used. `in_doubt`: what was asked of it may have been done all the same."""

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
    """Where only one was tried, its own error."""
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
