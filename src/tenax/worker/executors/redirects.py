"""Decides whether an `http` step follows a redirect, and what it sends there.

Another origin (scheme, host and port) is another party. It gets no secret, receipt, callback URL or body. It gets only the
headers that say what the client can read.
"""

from __future__ import annotations

from collections.abc import Iterable

import httpx2

MAX_REDIRECTS = 10
SAFE_HEADERS = frozenset({"accept", "accept-encoding", "accept-language", "user-agent"})
"""Headers that are sent to another origin, unless they contain a secret."""
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class RedirectRefused(Exception):
    """The answer redirects to an address to which the request is not sent."""

    def __init__(self, response: httpx2.Response, why: str) -> None:
        super().__init__(
            f"{response.status_code} {response.reason_phrase}: the redirect is not followed: {why}"
        )
        self.status_code = response.status_code


def next_request(
    request: httpx2.Request, response: httpx2.Response, *, secret_headers: Iterable[str], is_async: bool
) -> httpx2.Request | None:
    """Returns the request that follows a redirect. Returns None if the answer is no redirect. Raises `RedirectRefused`."""
    onward = response.next_request
    if onward is None:
        return None
    if onward.url.scheme not in ("http", "https") or not onward.url.host:
        raise RedirectRefused(response, "it leads to no http:// or https:// address")
    if onward.url.origin == request.url.origin:
        return onward
    if is_async:
        raise RedirectRefused(
            response, f"{_leads(onward)}, where the callback URL of an async step must not go"
        )
    if onward.method not in _SAFE_METHODS:
        raise RedirectRefused(response, f"{_leads(onward)}, where only GET, HEAD and OPTIONS may go")
    if _has_body(onward):
        raise RedirectRefused(response, f"{_leads(onward)}, where the body of the request must not go")
    kept = SAFE_HEADERS.difference(name.lower() for name in secret_headers)
    headers = [(name, value) for name, value in onward.headers.multi_items() if name.lower() in kept]
    return httpx2.Request(onward.method, onward.url, headers=headers, extensions=onward.extensions)


def _has_body(request: httpx2.Request) -> bool:
    return request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers


def _leads(onward: httpx2.Request) -> str:
    return f"it leads from one origin to another ({onward.url.scheme}://{shown_host(onward.url)})"


def shown_host(url: httpx2.URL) -> str:
    """Returns host and port of a URL, without user and password."""
    return url.netloc.decode("ascii").rpartition("@")[2]
