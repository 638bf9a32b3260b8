"""The addresses of one Tenax: the first that works is kept, the others are there for when it does not answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import httpx2

from tenax.errors import Unreachable, UsageError
from tenax.sdk.problems import error_of_answer, unreachable

_NOTHING_WAS_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)

log = logging.getLogger("tenax.servers")


class Servers:
    """Makes requests of whichever server answers. All of them work on the same database, so any will do."""

    def __init__(self, addresses: str, *, headers: Mapping[str, str], **options: Any) -> None:
        """`addresses`: one URL, or several with commas between them."""
        self.addresses = tuple(part.strip().rstrip("/") for part in addresses.split(",") if part.strip())
        if not self.addresses:
            raise UsageError(f"{addresses!r} is not the URL of a server")
        for address in self.addresses:
            _check(address)
        # A server is most often on this machine or beside it: proxies in the environment are not meant for it.
        self._http = httpx2.AsyncClient(headers=headers, trust_env=False, **options)
        self._current = 0
        self._followers: list[set[asyncio.Timeout]] = [set() for _ in self.addresses]

    @property
    def current(self) -> str:
        """The address that the next request goes to first."""
        return self.addresses[self._current]

    async def request(
        self, method: str, path: str, *, repeatable: bool, follows: bool = False, **how: Any
    ) -> httpx2.Response:
        """The answer of the first that gives one.

        A request that is not `repeatable` goes on to the next server only where nothing can have come of it. One that
        `follows` waits no longer at a server that another request has left.
        """
        ask = self._ask_following if follows else self._ask
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
        await self._http.aclose()

    async def _ask_following(self, place: int, method: str, path: str, **how: Any) -> httpx2.Response:
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

    async def _ask(self, place: int, method: str, path: str, **how: Any) -> httpx2.Response:
        address = self.addresses[place]
        try:
            response = await self._http.request(method, address + path, **how)
        except httpx2.UnsupportedProtocol as error:
            raise _not_a_url(address, error) from error
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            in_doubt = not isinstance(error, _NOTHING_WAS_SENT)
            raise _Unanswered(unreachable(address, error), in_doubt=in_doubt) from error
        if len(self.addresses) > 1 and not response.is_success:
            trouble = error_of_answer(response)
            if isinstance(trouble, Unreachable):
                raise _Unanswered(trouble, in_doubt=True)
        return response

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


def _check(address: str) -> None:
    try:
        httpx2.URL(address)
    except httpx2.InvalidURL as error:
        raise _not_a_url(address, error) from error


def _not_a_url(address: str, error: Exception) -> UsageError:
    return UsageError(f"{address!r} is not the URL of a server: {error}")


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
