"""Tests `http_addresses = "public"`: which addresses are refused, and that the connection goes to the checked address."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpcore2
import pytest

from tenax.model.attempt.classify import classify
from tenax.sdk.context import TaskContext
from tenax.worker.executors.addresses import is_public
from tenax.worker.executors.http import HttpExecutor

PUBLIC = "93.184.216.34"


class Network(httpcore2.AnyIOBackend):
    """Makes every connection to this machine instead, and keeps what it was asked for."""

    def __init__(self):
        self.asked = []

    async def connect_tcp(self, host, port, timeout=None, **more):  # noqa: ASYNC109 - the library's
        self.asked.append(host)
        return await super().connect_tcp("127.0.0.1", port, timeout=timeout, **more)


@pytest.fixture
def network():
    return Network()


@pytest.fixture
def names(monkeypatch):
    """`names["host"] = [[addresses of the first answer], [of the second], ...]`; others resolve as ever."""
    table, real = {}, socket.getaddrinfo

    def resolve(host, port, *args, **more):
        if host not in table:
            return real(host, port, *args, **more)
        addresses = table[host].pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return table


@pytest.fixture
def public(assign, network):
    """Runs `http` steps one after the other, with one executor."""

    def run(*specs):
        async def go():
            executor = HttpExecutor(addresses="public", network=network)
            try:
                made = [assign("http", spec) for spec in specs]
                return [await executor.run(one, TaskContext(one, started=time.time())) for one in made]
            finally:
                await executor.close()

        return asyncio.run(go())

    return run


def refusal(outcome):
    failure = classify(outcome.facts)
    assert (failure.failure_class, failure.reason) == ("denied", "address_refused")
    assert "http_addresses" in failure.message
    assert "TENAX_HTTP_ADDRESSES" in failure.message
    return failure.message


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "2606:4700:4700::1111", "64:ff9b::808:808"])
def test_public_addresses(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "239.1.2.3",
        "240.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "fd00:ec2::254",
        "fc00::1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2001:0:7f00:1::",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
    ],
)
def test_addresses_that_are_refused(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "0", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254"],
)
def test_nothing_is_sent_to_an_address_that_is_refused(public, network, callee, host):
    port = callee.host.rpartition(":")[2]
    [outcome] = public({"url": f"http://{host}:{port}/"})
    message = refusal(outcome)
    assert outcome.facts.dependency == f"{host}:{port}"
    assert "no public address" in message
    assert (network.asked, callee.requests) == ([], [])


def test_by_default_any_address_will_do(run, callee):
    callee.answers = [(200, {}, b"ok")]
    assert run("http", {"url": callee.url}).result["data"] == "ok"


def test_the_address_that_was_checked_is_the_one_connected_to(public, network, names, callee):
    """A name server that gives a public address to the check and another one to the connection is not asked twice."""
    port = callee.host.rpartition(":")[2]
    names["rebound.test"] = [[PUBLIC], ["127.0.0.1"], ["127.0.0.1"]]
    callee.answers = [(200, {}, b"one"), (200, {}, b"two")]
    url = f"http://rebound.test:{port}/"
    first, second = public({"url": url}, {"url": url})
    assert [outcome.result["data"] for outcome in (first, second)] == ["one", "two"]
    assert network.asked == [PUBLIC], "the second request goes over the connection that is there"
    assert [headers["Host"] for _, _, headers, _ in callee.requests] == [f"rebound.test:{port}"] * 2


def test_every_new_connection_is_checked_anew(public, network, names, callee):
    port = callee.host.rpartition(":")[2]
    names["rebound.test"] = [[PUBLIC], ["127.0.0.1"]]
    callee.answers = [(200, {"connection": "close"}, b"one")]
    url = f"http://rebound.test:{port}/"
    first, second = public({"url": url}, {"url": url})
    assert first.status == "succeeded"
    assert "rebound.test (127.0.0.1)" in refusal(second)
    assert network.asked == [PUBLIC]


def test_of_several_addresses_only_the_public_ones_are_tried(public, network, names, callee):
    names["both.test"] = [["10.0.0.1", PUBLIC]]
    callee.answers = [(200, {}, b"ok")]
    [outcome] = public({"url": f"http://both.test:{callee.host.rpartition(':')[2]}/"})
    assert outcome.status == "succeeded"
    assert network.asked == [PUBLIC]


def test_a_redirect_is_checked_too(public, network, names, callee, second):
    names["public.test"] = [[PUBLIC]]
    callee.answers = [(302, {"location": f"{second.url}/inside"}, b"")]
    spec = {"url": f"http://public.test:{callee.host.rpartition(':')[2]}/", "follow_redirects": True}
    [outcome] = public(spec)
    assert "127.0.0.1" in refusal(outcome)
    assert second.requests == []


def test_a_name_that_does_not_resolve_is_what_it_was(public):
    [outcome] = public({"url": "http://no-such-host.invalid/"})
    assert outcome.facts.connection == "dns"


def test_no_proxy_takes_the_check_away(public, callee, monkeypatch, caplog):
    monkeypatch.setenv("HTTP_PROXY", callee.url)
    [outcome] = public({"url": "http://127.0.0.1:9/"})
    refusal(outcome)
    assert callee.requests == []
    assert "proxies of the environment are not used" in caplog.text


@pytest.fixture
def tls(tmp_path, monkeypatch):
    """A server with a certificate for api.test, which is trusted here. Returns its port."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ("-subj", "/CN=api.test", "-addext", "subjectAltName=DNS:api.test")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, "-keyout", key, "-out", cert],
        check=True,
        capture_output=True,
    )

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"safe")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_tls_verifies_the_name_of_the_host(public, network, names, tls):
    names["api.test"], names["other.test"] = [[PUBLIC]], [[PUBLIC]]
    right, wrong = public({"url": f"https://api.test:{tls}/"}, {"url": f"https://other.test:{tls}/"})
    assert right.result["data"] == "safe"
    assert wrong.facts.connection == "tls"
    assert network.asked == [PUBLIC, PUBLIC]
