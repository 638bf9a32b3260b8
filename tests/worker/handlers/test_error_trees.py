"""Tests errors with causes of every form: the traceback is Python's own, and the nearest failed connection is reported."""

from __future__ import annotations

import errno
import socket
import ssl
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import NamedTuple

import httpx2
import pytest

from tenax.sdk.causes import chain, kind_of_causes
from tenax.sdk.outcomes import Retry
from tenax.worker.handlers.error_outcomes import outcome_of
from tenax.worker.handlers.tracebacks import format_error

FRAMES = 6


class ClientOSError(OSError):
    """As those of requests."""


class MyValidationError(Exception):
    pass


class Mute(Exception):
    def __str__(self):
        raise OSError("no text")


class ReadAndLost(httpx2.ReadError, ConnectionError):
    """Of someone's own, from another's client."""


class Leaf(NamedTuple):
    make: Callable[[], BaseException]
    lost: bool = False
    """True if a connection failed."""
    tells: str | None = None
    """The kind of the failure by the error of the operating system."""
    otherwise: str = "other"
    """The kind of the failure if no cause tells it."""
    final: bool = False
    """True if its causes do not count."""


LEAVES = (
    Leaf(lambda: RuntimeError("it\nhas two lines")),
    Leaf(RuntimeError),
    Leaf(Mute),
    Leaf(lambda: ClientOSError("x")),
    Leaf(lambda: TimeoutError("x")),
    Leaf(lambda: OSError(errno.ENOSPC, "full")),
    Leaf(lambda: SyntaxError("bad", ("a file", 1, 2, "a b", 1, 3)), final=True),
    Leaf(lambda: ConnectionError("x"), lost=True),
    Leaf(lambda: ConnectionRefusedError("x"), lost=True, tells="refused"),
    Leaf(lambda: ConnectionResetError(errno.ECONNRESET, "x"), lost=True, tells="reset"),
    Leaf(lambda: OSError(errno.EHOSTUNREACH, "x"), lost=True, tells="unreachable"),
    Leaf(lambda: OSError(errno.ETIMEDOUT, "x"), lost=True, tells="timeout"),
    Leaf(lambda: socket.gaierror(-2, "x"), lost=True, tells="dns"),
    Leaf(lambda: ssl.SSLError("x"), lost=True, tells="tls"),
    Leaf(lambda: httpx2.ReadError("x"), lost=True, otherwise="reset"),
    Leaf(lambda: httpx2.ConnectTimeout("x"), lost=True, otherwise="timeout"),
    Leaf(lambda: ReadAndLost("x"), lost=True, otherwise="reset"),
    Leaf(lambda: KeyError("x"), final=True),
    Leaf(lambda: NameError("x", name="lenn"), final=True),
    Leaf(lambda: PermissionError("x"), final=True),
    Leaf(lambda: MyValidationError("x"), final=True),
    Leaf(lambda: Retry("x"), final=True),
)
GROUP = Leaf(RuntimeError)


def once(error):
    raise error


def twice(error):
    once(error)


def often(error, depth=5):
    if depth:
        often(error, depth - 1)
    raise error


class Tree:
    """Errors, the first of which is the root; any may be behind any other, and so behind itself."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.leaves: dict[int, Leaf] = {}
        self.errors: list[BaseException] = []
        for _ in range(self.random.randint(1, 5)):
            self.errors.insert(0, self._made())
        for error in self.errors:
            self._raise(error)
        for error in self.errors:
            self._link(error)

    def _made(self) -> BaseException:
        leaf = self.random.choice(LEAVES)
        error = leaf.make()
        if self.errors and self.random.random() < 0.15:
            leaf, error = GROUP, BaseExceptionGroup("several", self.random.choices(self.errors, k=2))
        self.leaves[id(error)] = leaf
        if self.random.random() < 0.1:
            error.add_note("a note\nof two lines")
        return error

    def _raise(self, error: BaseException) -> None:
        way = self.random.choice([None, once, twice, often])
        if way is not None:
            with suppress(type(error)):
                way(error)

    def _link(self, error: BaseException) -> None:
        error.__cause__, error.__context__ = self._one(), self._one()
        error.__suppress_context__ = self.random.random() < 0.3
        if (reason := self._one()) is not None and not isinstance(error, SyntaxError):
            error.reason = reason
        if (argument := self._one()) is not None:
            error.args = (argument,)

    def _one(self) -> BaseException | None:
        return self.random.choice(self.errors) if self.random.random() < 0.3 else None

    def connection(self) -> str | None:
        """Read slowly, from what is known of the errors it was made of."""
        root = self.errors[0]
        for error in _first_to_last(root, self._behind):
            leaf = self.leaves[id(error)]
            if leaf.lost:
                told = [self.leaves[id(one)].tells for one in _first_to_last(error, _with_members)]
                return next(filter(None, told), leaf.otherwise)
            if error is not root and isinstance(error, TimeoutError) and isinstance(root, OSError):
                return "timeout"
        return None

    def _behind(self, error: BaseException) -> Iterator[object]:
        if not self.leaves[id(error)].final:
            yield error.__cause__
            yield None if error.__suppress_context__ else error.__context__
            yield getattr(error, "reason", None)
            yield from error.args[:1]


def _with_members(error: BaseException) -> Iterator[object]:
    yield error.__cause__
    yield error.__context__
    yield from getattr(error, "exceptions", ())


def _first_to_last(
    root: BaseException, behind: Callable[[BaseException], Iterator[object]]
) -> list[BaseException]:
    found = [root]
    for error in found:  # it grows meanwhile
        for one in behind(error):
            if isinstance(one, BaseException) and not any(one is known for known in found):
                found.append(one)
    return found


@pytest.mark.parametrize("seed", range(0, 2_000, 1_000))
def test_the_traceback_is_what_python_writes(seed):
    for each in range(seed, seed + 1_000):
        error = Tree(each).errors[0]
        for trace in (error.__traceback__, None):
            wanted = "".join(traceback.format_exception(type(error), error, trace, limit=-FRAMES))
            assert format_error(error, trace, frames=FRAMES) == wanted, each


@pytest.mark.parametrize("seed", range(0, 2_000, 1_000))
def test_the_connection_is_that_of_the_nearest_error_that_lost_one(seed):
    for each in range(seed, seed + 1_000):
        tree = Tree(each)
        assert outcome_of(tree.errors[0]).facts.connection == tree.connection(), each


def test_a_group_that_stands_alone_is_opened():
    group = ExceptionGroup("several", [ValueError(), ConnectionRefusedError()])
    assert kind_of_causes(chain(group)) == "refused"
