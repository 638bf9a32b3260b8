"""Tests `http` steps against a real server: what is sent, and the facts of every kind of answer."""

from __future__ import annotations

import socket
import threading

import pytest

from tenax.worker.executors.runtimes import RESULT_LIMIT

JSON = {"content-type": "application/json"}


def test_sends_what_the_step_says_and_who_is_asking(run, callee):
    callee.answers = [(200, {**JSON, "x-more": "1"}, b'{"rows": [1, 2]}')]
    spec = {
        "url": f"{callee.url}/a?x=1",
        "method": "post",
        "headers": {"X-Own": 5},
        "params": {"y": "2"},
        "json": {"k": "v"},
    }
    outcome = run("http", spec)
    method, path, headers, body = callee.requests[0]
    assert (method, body) == ("POST", b'{"k":"v"}')
    assert path == "/a?x=1&y=2"
    sent = {name.lower(): value for name, value in headers.items()}
    assert sent["tenax-receipt"] == sent["idempotency-key"] == "receipt-1"
    assert (sent["tenax-execution"], sent["tenax-attempt"], sent["x-own"]) == ("7", "2", "5")
    assert sent["content-type"] == "application/json"
    assert outcome.status == "succeeded"
    assert outcome.result["status_code"] == 200
    assert outcome.result["data"] == {"rows": [1, 2]}
    assert outcome.result["headers"]["x-more"] == "1"


@pytest.mark.parametrize(
    ("headers", "body", "data"),
    [
        (JSON, b"[1]", [1]),
        ({"content-type": "application/problem+json; charset=utf-8"}, b'{"a": "\\u0001"}', {"a": "\x01"}),
        ({"content-type": "text/plain"}, b"[1]", "[1]"),
        ({"content-type": "text/plain"}, b"a\0b", {"base64": "YQBi"}),
        ({"content-type": "text/plain; charset=latin-1"}, b"\xe4", "ä"),
        ({"content-type": "text/plain; charset=utf-7"}, b"+2AA-", "\\ud800"),
        ({"content-type": "text/plain; charset=punycode"}, b"-\xff", {"base64": "Lf8="}),
        ({"content-type": "image/png"}, b"\x89PNG\xff", {"base64": "iVBOR/8="}),
        ({}, b"", None),
    ],
)
def test_data_is_json_where_the_answer_says_so_else_text_else_base64(run, callee, headers, body, data):
    callee.answers = [(200, headers, body)]
    outcome = run("http", {"url": callee.url})
    assert outcome.result["data"] == data


@pytest.mark.parametrize(
    ("body", "says"),
    [(b"18446744073709551616", "beyond 64 bits"), (b'{"a": "\\u0000"}', "NUL"), (b"[1e400]", "JSON")],
)
def test_an_answer_that_cannot_be_kept_exactly_is_invalid(run, callee, body, says):
    callee.answers = [(200, JSON, body)]
    facts = run("http", {"url": callee.url}).facts
    assert (facts.failure_class, facts.reason) == ("invalid", "invalid_result")
    assert says in facts.message
    callee.answers = [(503, JSON, body)]
    assert run("http", {"url": callee.url}).facts.data == body.decode(), "of an error it is the text"


def test_a_success_that_is_not_the_json_it_says_is_invalid(run, callee):
    callee.answers = [(200, JSON, b"{half")]
    facts = run("http", {"url": callee.url}).facts
    assert (facts.failure_class, facts.reason) == ("invalid", "invalid_result")


def test_a_body_beyond_the_limit_is_invalid(run, callee):
    callee.answers = [(200, {}, b"x" * (RESULT_LIMIT + 1))]
    facts = run("http", {"url": callee.url}).facts
    assert facts.reason == "invalid_result"
    assert str(RESULT_LIMIT) in facts.message


@pytest.mark.parametrize("status", [302, 404, 429, 500, 503])
def test_other_answers_fail_with_their_status_and_body(run, callee, status):
    callee.answers = [(status, {**JSON, "location": "/else"}, b'{"why": 1}')]
    facts = run("http", {"url": callee.url}).facts
    assert facts.status_code == status
    assert facts.message.startswith(f"{status} ")
    assert facts.data == {"why": 1}
    assert facts.dependency == callee.host
    assert facts.failure_class is None


def test_an_error_whose_json_is_broken_keeps_its_text(run, callee):
    callee.answers = [(503, JSON, b"{half")]
    facts = run("http", {"url": callee.url}).facts
    assert (facts.status_code, facts.message, facts.data) == (503, "503 Service Unavailable", "{half")


def test_the_definitions_dependency_beats_the_host(run, callee):
    callee.answers = [(500, {}, b"")]
    assert run("http", {"url": callee.url}, dependency="billing").facts.dependency == "billing"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        (
            {"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"},
            30.0,
        ),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_both_forms(run, callee, headers, seconds):
    callee.answers = [(429, headers, b"")]
    assert run("http", {"url": callee.url}).facts.retry_after == seconds


def test_redirects_are_followed_where_asked(run, callee):
    callee.answers = [(302, {"location": "/there"}, b""), (200, {}, b"here")]
    outcome = run("http", {"url": callee.url, "follow_redirects": True})
    assert outcome.result["data"] == "here"
    assert callee.requests[1][1] == "/there"


def test_cookies_of_one_attempt_are_not_sent_with_another(run, callee):
    callee.answers = [(302, {"location": "/there", "set-cookie": "session=1"}, b""), (200, {}, b"")]
    run("http", {"url": callee.url, "follow_redirects": True})
    assert "cookie" not in {name.lower() for name in callee.requests[1][2]}


def test_nothing_listens(run):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    facts = run("http", {"url": f"http://{host}/x"}).facts
    assert (facts.connection, facts.status_code, facts.dependency) == ("refused", None, host)
    assert "refused" in facts.message


def test_the_callee_hangs_up(run, callee):
    facts = run("http", {"url": f"{callee.url}/slam"}).facts
    assert facts.connection == "reset"
    assert facts.message.startswith("the connection was closed before an answer came: GET ")


def test_what_answers_does_not_speak_http(run):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def mumble():
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"220 mail.test ready\r\n\r\n")

        thread = threading.Thread(target=mumble, daemon=True)
        thread.start()
        facts = run("http", {"url": f"http://127.0.0.1:{listener.getsockname()[1]}/"}).facts
        thread.join(10)
    assert facts.connection == "protocol"


def test_a_name_that_does_not_resolve(run):
    assert run("http", {"url": "http://no-such-host.invalid/"}).facts.connection == "dns"


def test_an_answer_without_tls(run, callee):
    assert run("http", {"url": callee.url.replace("http:", "https:")}).facts.connection == "tls"


def test_the_attempts_timeout_covers_the_whole_exchange(run, callee):
    facts = run("http", {"url": f"{callee.url}/hang"}, timeout=0.2).facts
    assert facts.timed_out
    assert facts.connection is None


@pytest.mark.parametrize(
    "url", ["", "no scheme", "ftp://host/", "http://", "http://[::1", "http://host:port/"]
)
def test_an_invalid_url_is_named(run, url):
    facts = run("http", {"url": url}).facts
    assert (facts.failure_class, facts.reason) == ("invalid", "invalid_parameters")
    assert repr(url) in facts.message


def test_an_illegal_header_is_the_parameters_fault(run, callee):
    facts = run("http", {"url": callee.url, "headers": {"x": "a\nb"}}).facts
    assert (facts.failure_class, facts.reason) == ("invalid", "invalid_parameters")


@pytest.mark.parametrize(
    ("query", "params", "sent"),
    [
        ("?a=1", {"b": 2}, "?a=1&b=2"),
        ("?a=1", None, "?a=1"),
        ("?a=1", {}, "?a=1"),
        ("", {"b": [1, 2]}, "?b=1&b=2"),
        ("?a=1&c=x%2Fy", {"a": 3}, "?a=3&c=x%2Fy"),
    ],
)
def test_params_join_the_query_of_the_url(run, callee, query, params, sent):
    callee.answers = [(200, {}, b"")]
    run("http", {"url": f"{callee.url}/p{query}", "params": params})
    assert callee.requests[0][1] == f"/p{sent}"


def test_the_query_stays_out_of_messages(run):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    facts = run("http", {"url": f"http://127.0.0.1:{port}/p?key=abc#f", "params": {"other": "def"}}).facts
    assert facts.message.endswith(f"GET http://127.0.0.1:{port}/p")


def test_proxies_of_the_environment_are_used(run, callee, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", callee.url)
    callee.answers = [(200, {}, b"by proxy")]
    assert run("http", {"url": "http://elsewhere.invalid/p"}).result["data"] == "by proxy"
    assert callee.requests[0][1] == "http://elsewhere.invalid/p"


CALLBACK = "https://tenax.example/v1/callbacks/7/1/2/receipt-1?step=the_step"


def async_spec(callee, **more):
    return {"url": f"{callee.url}/jobs", "method": "POST", "async": {"deadline": 60.0}, **more}


@pytest.mark.parametrize(
    ("status", "headers", "body", "data"),
    [
        (202, JSON, b'{"job": 5}', {"job": 5}),
        (200, {}, b"", None),
        (204, {}, b"", None),
        (202, JSON, b"{", "{"),
        (202, {"content-type": "text/plain"}, b"x" * (RESULT_LIMIT + 1), None),
    ],
)
def test_an_async_step_is_accepted_by_any_2xx_whatever_its_body(run, callee, status, headers, body, data):
    callee.answers = [(status, headers, body)]
    outcome = run("http", async_spec(callee), callback=CALLBACK)
    assert (outcome.status, outcome.facts) == ("accepted", None)
    assert (outcome.result["status_code"], outcome.result["data"]) == (status, data)
    assert "content-length" in outcome.result["headers"]


def test_the_callee_of_an_async_step_is_told_where_to_call_back(run, callee):
    callee.answers = [(202, {}, b""), (200, {}, b"")]
    run("http", async_spec(callee), callback=CALLBACK)
    run("http", {"url": callee.url})
    accepted, plain = (
        {name.lower(): value for name, value in headers.items()} for _, _, headers, _ in callee.requests
    )
    assert accepted["tenax-callback-url"] == CALLBACK
    assert (accepted["tenax-receipt"], accepted["tenax-attempt"]) == ("receipt-1", "2")
    assert "tenax-callback-url" not in plain


@pytest.mark.parametrize("status", [302, 400, 404, 429, 503])
def test_what_is_no_2xx_fails_an_async_step_as_any_other(run, callee, status):
    callee.answers = [(status, {"retry-after": "3"}, b"no")]
    outcome = run("http", async_spec(callee), callback=CALLBACK)
    facts = outcome.facts
    assert (outcome.status, facts.status_code, facts.retry_after, facts.data) == ("failed", status, 3.0, "no")
