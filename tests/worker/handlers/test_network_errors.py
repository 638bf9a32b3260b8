"""Tests what is read from the errors of unknown clients: a dependency that is down does not count against the worker."""

from __future__ import annotations

import errno
import socket
import urllib.error
import urllib.request
from enum import IntEnum
from functools import partial
from http import HTTPStatus

import pytest

from tenax.model.attempt import blame
from tenax.model.attempt.classify import classify
from tenax.sdk.outcomes import Retry
from tenax.worker.handlers.error_outcomes import outcome_of
from tenax.worker.self_check import counts_against_worker


class ClientError(Exception):
    """As those of aiohttp and google-api-core: the answer's numbers are on the exception."""

    def __init__(self, **more: object) -> None:
        super().__init__("no")
        self.headers: dict[str, str] = {}
        self.__dict__.update(more)


class OwnError(Exception):
    """Of someone's own, with a number that has nothing to do with HTTP."""

    code = 404


class ClientOSError(OSError):
    """As those of requests: an OSError, made from the error that it stands for."""


class MyValidationError(ClientError):
    pass


class Asked:
    url = "http://api.test:81/x"


class Codes(IntEnum):
    OUT_OF_STOCK = 404


def raised(error: BaseException, *, behind: BaseException, explicit: bool = True) -> BaseException:
    """The error as `raise ... from` leaves it, or as raising it while another is handled does."""
    if explicit:
        error.__cause__ = behind
    else:
        error.__context__ = behind
    return error


def raised_from_none() -> BaseException:
    try:
        try:
            raise ConnectionRefusedError
        except ConnectionRefusedError:
            raise ClientError from None
    except ClientError as caught:
        return caught


def circular() -> BaseException:
    first, second = ClientError(), ClientError()
    first.__cause__, second.__cause__ = second, first
    first.reason = first
    return first


def deep(levels: int) -> BaseException:
    error: BaseException = ConnectionRefusedError()
    for _ in range(levels):
        error = ClientOSError(error)
    return error


REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")


def failure_of(error: BaseException, assign, *, speaks: bool):
    """The server's failure; both sides must agree on whether it counts against the worker."""
    outcome = outcome_of(error)
    failure = classify(outcome.facts)
    assert counts_against_worker(outcome, assign("python", {})) is speaks
    assert blame.is_fault_of_worker(failure, runtime="python", dependency=None) is speaks
    return failure.failure_class, failure.reason


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (503, ("transient", "http_503")),
        (429, ("transient", "http_429")),
        (404, ("logical", "http_404")),
        (401, ("denied", "http_401")),
    ],
)
def test_urllibs_answer(run, assign, register, callee, status, verdict):
    callee.answers = [(status, {"Retry-After": "9"}, b"")]
    register("fetches", lambda: urllib.request.urlopen(callee.url).read())
    outcome = run("python", {"task": "fetches", "args": {}})
    facts = outcome.facts
    assert (facts.status_code, facts.retry_after, facts.dependency) == (status, 9.0, callee.host)
    assert (classify(facts).failure_class, classify(facts).reason) == verdict
    assert not counts_against_worker(outcome, assign("python", {}))
    assert not blame.is_fault_of_worker(classify(facts), runtime="python", dependency=None)


@pytest.fixture
def closed_port():
    """Bound, so that nobody else takes it, and not listened at."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_urllib_at_a_refused_port(assign, closed_port):
    with pytest.raises(urllib.error.URLError) as caught:
        urllib.request.urlopen(f"http://127.0.0.1:{closed_port}/")
    assert failure_of(caught.value, assign, speaks=False) == ("transient", "connection_refused")


def test_urllib_where_the_connection_is_slammed(assign, callee):
    with pytest.raises(ConnectionError) as caught:
        urllib.request.urlopen(f"{callee.url}/slam")
    assert failure_of(caught.value, assign, speaks=False) == ("transient", "connection_reset")


def test_urllib_with_a_scheme_it_does_not_know_met_no_connection(assign):
    with pytest.raises(urllib.error.URLError) as caught:
        urllib.request.urlopen("gopher://x.test/")
    assert failure_of(caught.value, assign, speaks=True) == ("transient", "exception_URLError")


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ClientError(status=503), ("transient", "http_503")),
        (ClientError(code=503), ("transient", "http_503")),
        (ClientError(code=HTTPStatus.NOT_FOUND), ("logical", "http_404")),
        (ClientError(status=502, code=40001), ("transient", "http_502")),
        (ClientError(status=200), ("transient", "exception_ClientError")),
        (raised(ClientError(), behind=REFUSED), ("transient", "connection_refused")),
        (raised(ClientError(), behind=REFUSED, explicit=False), ("transient", "connection_refused")),
        (raised(ClientError(), behind=socket.gaierror(-2, "?")), ("transient", "connection_dns")),
        (ClientError(reason=REFUSED), ("transient", "connection_refused")),
        (deep(3), ("transient", "connection_refused")),
        (ClientOSError(TimeoutError("timed out")), ("transient", "connection_timeout")),
        (OSError(errno.EHOSTUNREACH, "No route to host"), ("transient", "connection_unreachable")),
    ],
)
def test_a_dependency_that_is_down_is_not_the_workers_fault(assign, error, verdict):
    assert failure_of(error, assign, speaks=False) == verdict


@pytest.mark.parametrize(
    "error",
    [
        *(ClientError(code=code) for code in (0, 3, 99, 600, 1006, -404, True, "404", 404.0, None, int)),
        ClientError(code=Codes.OUT_OF_STOCK),
        OwnError(),
        raised_from_none(),
        circular(),
        deep(50),
        raised(ClientError(), behind=TimeoutError()),
        raised(ClientError(), behind=OSError(errno.ENOSPC, "No space left on device")),
    ],
    ids=lambda error: repr(vars(error)),
)
def test_what_only_looks_like_it_stays_an_exception(assign, error):
    expected = f"exception_{type(error).__name__}"
    assert failure_of(error, assign, speaks=True) == ("transient", expected)
    assert outcome_of(error).facts.status_code is None


@pytest.mark.parametrize(
    ("make", "verdict"),
    [
        (KeyError, ("logical", "exception_KeyError")),
        (PermissionError, ("denied", "permission_denied")),
        (partial(MyValidationError, code=503), ("invalid", "validation_error")),
        (Retry, ("transient", "exception_Retry")),
    ],
)
@pytest.mark.parametrize("explicit", [True, False])
def test_an_error_that_says_what_it_is_stays_so_whatever_was_met_before(assign, make, verdict, explicit):
    error = raised(make(), behind=ConnectionRefusedError(), explicit=explicit)
    assert failure_of(error, assign, speaks=False) == verdict


def test_an_exit_is_not_an_answer():
    assert outcome_of(SystemExit(404)).facts.status_code is None


def test_an_answer_on_an_exception_has_headers_and_host_like_aiohttps():
    error = ClientError(status=503, headers={"Retry-After": "4"}, request_info=Asked())
    facts = outcome_of(error).facts
    assert (facts.retry_after, facts.dependency) == (4.0, "api.test:81")


def test_urllib_that_gets_no_connection_in_time(assign):
    """Its own wrapping of a timeout, which a real network gives at its leisure only."""
    error = urllib.error.URLError(TimeoutError("timed out"))
    assert failure_of(error, assign, speaks=False) == ("transient", "connection_timeout")
