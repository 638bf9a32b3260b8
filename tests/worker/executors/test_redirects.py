"""Tests redirects of `http` steps: what is sent to another origin, what is not, and which redirects are not followed."""

from __future__ import annotations

import httpx2
import pytest

from tenax.model.attempt.classify import classify
from tenax.worker.executors.redirects import MAX_REDIRECTS, next_request

CALLBACK = "https://tenax.example/v1/callbacks/7/1/2/receipt-1?step=the_step"
FULL = {
    "headers": {
        "Authorization": "Bearer s3cret",
        "X-Api-Key": "s3cret",
        "Cookie": "session=s3cret",
        "Accept": "text/csv",
        "Accept-Language": "de",
        "User-Agent": "nightly-import",
    },
    "follow_redirects": True,
}


def sent(request):
    method, path, headers, body = request
    return method, path, {name.lower(): value for name, value in headers.items()}, body


def leading(url, status=302):
    return (status, {"location": url}, b"")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_another_origin_gets_only_the_headers_that_are_safe(run, callee, second, status):
    callee.answers = [leading(f"{second.url}/there?x=1", status)]
    second.answers = [(200, {}, b"here")]
    outcome = run("http", {"url": f"{callee.url}/a?key=s3cret", **FULL}, callback=CALLBACK)
    assert outcome.result["data"] == "here"
    method, path, headers, body = sent(second.requests[0])
    assert (method, path, body) == ("GET", "/there?x=1", b"")
    assert headers.pop("host") == second.host
    assert headers.pop("accept-encoding")
    assert headers == {"accept": "text/csv", "accept-language": "de", "user-agent": "nightly-import"}
    assert "s3cret" not in repr(second.requests)
    assert "receipt-1" not in repr(second.requests)


def test_user_and_password_of_the_url_stay_with_their_origin(run, callee, second):
    callee.answers = [leading(f"{second.url}/there")]
    second.answers = [(200, {}, b"")]
    run("http", {"url": callee.url.replace("//", "//jo:s3cret@"), "follow_redirects": True})
    assert sent(callee.requests[0])[2]["authorization"].startswith("Basic ")
    assert "authorization" not in sent(second.requests[0])[2]


def test_a_safe_header_that_holds_a_secret_stays_with_its_origin(run, callee, second):
    callee.answers = [leading(second.url)]
    second.answers = [(200, {}, b"")]
    slot = (("headers", "User-Agent"), ({"secret": "KEY"},))
    spec = {"url": callee.url, "headers": {"User-Agent": "s3cret"}, "follow_redirects": True}
    run("http", spec, secrets=(slot,))
    assert "user-agent" not in sent(second.requests[0])[2]


def test_what_was_left_behind_does_not_come_back_with_the_origin(run, callee, second):
    callee.answers = [leading(second.url), (200, {}, b"back")]
    second.answers = [leading(f"{callee.url}/back")]
    assert run("http", {"url": callee.url, **FULL}).result["data"] == "back"
    assert "s3cret" not in repr(callee.requests[1])
    assert "receipt-1" not in repr(callee.requests[1])


def test_the_same_origin_gets_everything(run, callee):
    callee.answers = [leading("/there", 307), (200, {}, b"")]
    run("http", {"url": callee.url, "method": "POST", "json": {"k": 1}, **FULL})
    method, path, headers, body = sent(callee.requests[1])
    assert (method, path, body) == ("POST", "/there", b'{"k":1}')
    assert (headers["x-api-key"], headers["tenax-receipt"]) == ("s3cret", "receipt-1")


@pytest.mark.parametrize(
    ("status", "request_", "why"),
    [
        (307, {"method": "POST", "json": {"k": 1}}, "only GET, HEAD and OPTIONS"),
        (308, {"method": "POST", "body": "b"}, "only GET, HEAD and OPTIONS"),
        (307, {"method": "POST"}, "only GET, HEAD and OPTIONS"),
        (301, {"method": "PUT", "body": "b"}, "only GET, HEAD and OPTIONS"),
        (307, {"method": "GET", "body": "b"}, "the body"),
        (302, {"method": "GET", "json": [1]}, "the body"),
        (302, {"method": "POST", "async": {"deadline": 60.0}}, "callback URL"),
    ],
)
def test_what_must_not_go_to_another_origin_is_not_followed(run, callee, second, status, request_, why):
    callee.answers = [leading(f"{second.url}/v1/executions?key=echoed", status)]
    outcome = run("http", {"url": callee.url, **FULL, **request_}, callback=CALLBACK)
    failure = classify(outcome.facts)
    assert (failure.failure_class, failure.reason) == ("logical", f"http_{status}")
    assert why in failure.message
    assert second.host in failure.message
    assert "echoed" not in failure.message
    assert second.requests == []


def test_a_post_that_becomes_a_get_is_followed_without_its_body(run, callee, second):
    callee.answers = [leading(f"{second.url}/result", 303)]
    second.answers = [(200, {}, b"done")]
    outcome = run("http", {"url": callee.url, "method": "POST", "json": {"k": "s3cret"}, **FULL})
    assert outcome.result["data"] == "done"
    method, _, headers, body = sent(second.requests[0])
    assert (method, body, headers.get("content-type")) == ("GET", b"", None)


@pytest.mark.parametrize("location", ["ftp://elsewhere.invalid/", "file:///etc/passwd"])
def test_a_redirect_to_no_http_address_is_not_followed(run, callee, location):
    callee.answers = [leading(location)]
    failure = classify(run("http", {"url": callee.url, **FULL}).facts)
    assert (failure.failure_class, failure.reason) == ("logical", "http_302")
    assert "no http:// or https:// address" in failure.message


def test_a_redirect_to_what_is_no_url_is_not_followed(run, callee):
    callee.answers = [leading("data:text/plain,x")]
    failure = classify(run("http", {"url": callee.url, **FULL}).facts)
    assert (failure.failure_class, failure.message) == ("logical", "the answer redirects to an invalid URL")


@pytest.mark.parametrize(
    ("start", "end", "kept"),
    [
        ("https://h/", "http://h/", False),
        ("http://h/", "https://h/", False),
        ("https://h/", "https://h:444/", False),
        ("https://h/", "https://www.h/", False),
        ("https://h/", "https://H:443/x", True),
    ],
)
def test_an_origin_is_scheme_host_and_port(start, end, kept):
    request = httpx2.Request("GET", start, headers={"X-Api-Key": "s3cret"})
    response = httpx2.Response(302, request=request)
    response.next_request = httpx2.Request("GET", end, headers=request.headers)
    onward = next_request(request, response, secret_headers=(), is_async=False)
    assert ("x-api-key" in onward.headers) is kept


def test_a_chain_of_redirects_has_an_end(run, callee):
    callee.answers = [leading("/next")] * (MAX_REDIRECTS + 1)
    failure = classify(run("http", {"url": callee.url, **FULL}).facts)
    assert (failure.failure_class, failure.reason) == ("logical", "http_302")
    assert f"there were {MAX_REDIRECTS} before it" in failure.message
    assert len(callee.requests) == MAX_REDIRECTS + 1
