"""Runs `http` steps: sends one request, and returns its answer as the result or its failure as facts.

A 2xx answer does not end an async step: the callee has taken the work, and later posts the outcome to the callback URL.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpcore2
import httpx2
import orjson

from tenax.codec.encode import without_nul
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import Assignment
from tenax.sdk.causes import connection_words
from tenax.sdk.connections import connection_kind
from tenax.sdk.context import TaskContext
from tenax.worker.executors import RESULT_LIMIT
from tenax.worker.executors.addresses import AddressRefused, PublicTransport
from tenax.worker.executors.redirects import MAX_REDIRECTS, RedirectRefused, next_request, shown_host
from tenax.worker.handlers.error_outcomes import (
    classified_failure,
    qualified_name,
    retry_after_of,
    timeout_failure,
)
from tenax.worker.handlers.json_values import Unstorable, parse_json, storable_text

_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=100)


class HttpExecutor:
    """Runs all attempts with one client. Connections are reused. Cookies are not kept, since executions share nothing."""

    def __init__(
        self,
        *,
        body_limit: int = RESULT_LIMIT,
        addresses: str = "any",
        network: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        """Prepares the executor.

        `body_limit` is the setting `max_result`, and `addresses` is the setting `http_addresses`. If `addresses` is `public`,
        `network` makes the connections.
        """
        self._client: httpx2.AsyncClient | None = None
        self._body_limit = body_limit
        self._addresses = addresses
        self._network = network

    async def run(self, assignment: Assignment, context: TaskContext) -> Outcome:  # noqa: ARG002 - the protocol's
        try:
            request = self._request(assignment)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            return classified_failure(
                "invalid", "invalid_parameters", f"invalid URL {assignment.spec.get('url')!r}: {error}"
            )
        except (TypeError, ValueError) as error:
            return classified_failure("invalid", "invalid_parameters", f"the request cannot be made: {error}")
        dependency = assignment.dependency or shown_host(request.url)
        try:
            async with asyncio.timeout(assignment.timeout) as scope:
                return await self._exchange(assignment, request, dependency)
        except TimeoutError:
            if not scope.expired():
                raise
            return timeout_failure(assignment.timeout, dependency=dependency)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    def _request(self, assignment: Assignment) -> httpx2.Request:
        spec = assignment.spec
        url = httpx2.URL(str(spec["url"]))
        if url.scheme not in ("http", "https") or not url.host:
            raise httpx2.UnsupportedProtocol("it must start with http:// or https:// and name a host")
        if params := spec.get("params"):
            url = url.copy_merge_params(params)  # the request's own `params` would replace what the URL has
        json, body = spec.get("json"), spec.get("body")
        return self._shared_client().build_request(
            str(spec.get("method") or "GET").upper(),
            url,
            headers=_headers(assignment, has_json=json is not None),
            content=orjson.dumps(json) if json is not None else _content(body),
        )

    async def _exchange(self, assignment: Assignment, request: httpx2.Request, dependency: str) -> Outcome:
        try:
            response, body, whole = await self._answer(assignment, request)
        except AddressRefused as error:
            return classified_failure("denied", "address_refused", str(error), dependency=dependency)
        except RedirectRefused as error:
            facts = Facts(message=str(error), status_code=error.status_code, dependency=dependency)
            return Outcome("failed", facts=facts)
        except httpx2.InvalidURL:  # the client parses the target of a redirect even if it is not followed
            facts = Facts(message="the answer redirects to an invalid URL", fatal=True, dependency=dependency)
            return Outcome("failed", facts=facts)
        except httpx2.LocalProtocolError as error:
            return classified_failure("invalid", "invalid_parameters", f"the request cannot be made: {error}")
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            return _no_answer(request, error, dependency)
        if response.is_success and _is_async(assignment):
            return _accepted(response, body, whole=whole)
        if response.is_success:
            return _success(response, body, whole=whole, limit=self._body_limit)
        return _error_answer(response, body, dependency)

    async def _answer(
        self, assignment: Assignment, request: httpx2.Request
    ) -> tuple[httpx2.Response, bytes, bool]:
        """Returns the last answer of a chain of redirects, the part of its body that was read, and whether that is all of it."""
        follow = bool(assignment.spec.get("follow_redirects", False))
        for _ in range(MAX_REDIRECTS + 1):
            response = await self._shared_client().send(request, stream=True, follow_redirects=False)
            try:
                body, whole = await self._read(response)
            finally:
                await response.aclose()
            onward = _onward(assignment, request, response) if follow else None
            if onward is None:
                return response, body, whole
            request = onward
        raise RedirectRefused(response, f"there were {MAX_REDIRECTS} before it")

    async def _read(self, response: httpx2.Response) -> tuple[bytes, bool]:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self._body_limit:
                return bytes(body[: self._body_limit]), False
        return bytes(body), True

    def _shared_client(self) -> httpx2.AsyncClient:
        if self._client is None:
            self._client = httpx2.AsyncClient(
                timeout=None,  # the attempt's own timeout covers everything
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                limits=_LIMITS,
                transport=PublicTransport(_LIMITS, self._network) if self._addresses == "public" else None,
            )
        return self._client


def _onward(
    assignment: Assignment, request: httpx2.Request, response: httpx2.Response
) -> httpx2.Request | None:
    filled = (str(path[1]) for path, _ in assignment.secrets if path[0] == "headers" and len(path) > 1)
    return next_request(request, response, secret_headers=filled, is_async=_is_async(assignment))


def _is_async(assignment: Assignment) -> bool:
    return assignment.spec.get("async") is not None


def _headers(assignment: Assignment, *, has_json: bool) -> dict[str, str]:
    """Returns the headers of a request. Headers of the definition override those of Tenax."""
    headers = {
        "tenax-receipt": assignment.receipt,
        "tenax-execution": str(assignment.execution_id),
        "tenax-attempt": str(assignment.attempt),
        "idempotency-key": assignment.receipt,
    }
    if assignment.callback is not None:
        headers["tenax-callback-url"] = assignment.callback
    if has_json:
        headers["content-type"] = "application/json"
    own: Mapping[str, Any] = assignment.spec.get("headers") or {}
    return headers | {name.lower(): str(value) for name, value in own.items() if value is not None}


def _content(body: Any) -> bytes | None:
    """Encodes the body of a request. Text is sent as it is, and any other value as JSON."""
    if body is None:
        return None
    return body.encode() if isinstance(body, str) else orjson.dumps(body)


def _success(response: httpx2.Response, body: bytes, *, whole: bool, limit: int) -> Outcome:
    if not whole:
        return classified_failure(
            "invalid", "invalid_result", f"the answer's body is larger than {limit} bytes (`max_result`)"
        )
    try:
        data = _data(response, body)
    except orjson.JSONDecodeError as error:
        return classified_failure(
            "invalid", "invalid_result", f"the answer says it is JSON, but is not: {error}"
        )
    except Unstorable as error:
        return classified_failure("invalid", "invalid_result", f"the answer cannot be stored: {error}")
    return Outcome("succeeded", result=_result(response, data))


def _accepted(response: httpx2.Response, body: bytes, *, whole: bool) -> Outcome:
    """Returns the outcome `accepted`. The callee has taken the work even if its body cannot be read. A cut body is left out."""
    return Outcome("accepted", result=_result(response, _data_or_text(response, body) if whole else None))


def _result(response: httpx2.Response, data: Any) -> Any:
    result = {"status_code": response.status_code, "headers": dict(response.headers.items()), "data": data}
    return without_nul(result)


def _error_answer(response: httpx2.Response, body: bytes, dependency: str) -> Outcome:
    facts = Facts(
        message=f"{response.status_code} {response.reason_phrase}".rstrip(),
        status_code=response.status_code,
        retry_after=retry_after_of(response.headers, now=datetime.now(UTC)),
        dependency=dependency,
        data=_data_or_text(response, body),
    )
    return Outcome("failed", facts=facts)


def _no_answer(request: httpx2.Request, error: httpx2.RequestError, dependency: str) -> Outcome:
    kind = connection_kind(error)
    facts = Facts(
        message=f"{connection_words(kind)}: {request.method} {_shown(request.url)}",
        connection=kind,
        exception=qualified_name(type(error)),
        exception_bases=tuple(qualified_name(base) for base in type(error).__mro__[1:-1]),
        dependency=dependency,
    )
    return Outcome("failed", facts=facts)


def _data(response: httpx2.Response, body: bytes) -> Any:
    """Returns the body as JSON if its content type says so, else as text.

    A body that is not text, or that contains NUL characters, becomes `{"base64": ...}`: PostgreSQL's JSON cannot hold it.
    """
    if not body:
        return None
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return parse_json(body)
    try:
        text = body.decode(response.charset_encoding or "utf-8")
    except (UnicodeError, LookupError):
        text = "\0"
    return {"base64": base64.b64encode(body).decode()} if "\0" in text else storable_text(text)


def _data_or_text(response: httpx2.Response, body: bytes) -> Any:
    try:
        return _data(response, body)
    except (orjson.JSONDecodeError, Unstorable):
        return without_nul(body.decode("utf-8", "replace"))


def _shown(url: httpx2.URL) -> str:
    """Returns a URL without user, password and query, which may hold secrets."""
    return f"{url.scheme}://{shown_host(url)}{url.raw_path.decode('ascii').partition('?')[0]}"
