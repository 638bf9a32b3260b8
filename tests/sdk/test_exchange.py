"""Tests requests over HTTP/1.1 against a real socket that sends given bytes, valid or not."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode

import pytest
import uvloop

from tenax.errors import UsageError
from tenax.sdk import exchange
from tenax.sdk.exchange import Exchange, NoAnswer
from tenax.sdk.servers import Servers

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
HANGS = object()


class Peer:
    """Says one thing for each request it has read, piece by piece, on however many connections."""

    def __init__(self, *says, closes=False):
        self.says = list(says)
        self.closes = closes
        self.heard = []
        self.connections = 0

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _talk(self, reader, writer):
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head)
                self.heard.append((head.decode(), await reader.readexactly(int(length[1]) if length else 0)))
                said = self.says.pop(0)
                for piece in () if said is HANGS else said if isinstance(said, tuple) else (said,):
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
                if self.closes:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def play(request):
    """Runs a scene with an exchange with such a peer, on either event loop."""

    def run(peer, scene, *, suffix="", headers=None):
        async def go():
            async with asyncio.timeout(20), peer:
                asked = Exchange(peer.url + suffix, headers or {})
                try:
                    return await scene(asked)
                finally:
                    await asked.close()

        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(go())

    return run


async def post(asked, path="/x", content=b"{}", **how):
    return await asked.request("POST", path, content=content, **({"timeout": 10, "connect": 10} | how))


def test_what_is_sent(play):
    peer = Peer(OK, OK, OK)

    async def scene(asked):
        await post(asked, headers={"content-type": "application/json"})
        await post(asked, content=None)
        await asked.request("GET", "/y", params={"a": "b c", "n": 1}, timeout=10, connect=10)

    play(peer, scene, suffix="/base", headers={"authorization": "Bearer t"})
    (first, body), (second, nothing), (third, _) = peer.heard
    assert first.startswith("POST /base/x HTTP/1.1\r\n")
    assert "content-type: application/json\r\n" in first
    assert all(f"host: {peer.url[7:]}\r\n" in head for head, _ in peer.heard)
    assert all("authorization: Bearer t\r\n" in head for head, _ in peer.heard)
    assert (body, nothing) == (b"{}", b"")
    assert "content-length: 0\r\n" in second
    assert third.startswith("GET /base/y?a=b+c&n=1 HTTP/1.1\r\n")
    assert "content-length" not in third


@pytest.mark.parametrize(
    ("said", "status", "content"),
    [
        (OK, 200, b"ok"),
        (tuple(OK[n : n + 1] for n in range(len(OK))), 200, b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (b"HTTP/1.1 503 Odd\r\ncontent-length: 0\r\n\r\n", 503, b""),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n", 200, b"ok"),
        (b"HTTP/1.1 100 Continue\r\nx-early: 1\r\n\r\n" + OK, 200, b"ok"),
    ],
    ids=["whole", "byte by byte", "no body", "an error", "in chunks", "after a 100"],
)
def test_answers_and_the_connection_is_kept(play, said, status, content):
    peer = Peer(said, OK)

    async def scene(asked):
        return await post(asked), await post(asked)

    first, second = play(peer, scene)
    assert (first.status_code, first.content) == (status, content)
    assert first.is_success is (status < 300)
    assert "x-early" not in first.headers
    assert (second.status_code, second.content, second.reason) == (200, b"ok", "OK")
    assert peer.connections == 1


def test_the_headers_and_the_words_of_an_answer(play):
    peer = Peer(b"HTTP/1.1 418 A Teapot\r\nTenax-Version: 7\r\ncontent-length: 0\r\n\r\n")
    answer = play(peer, post)
    assert (answer.reason, answer.headers["tenax-version"]) == ("A Teapot", "7")
    assert (answer.method, answer.url) == ("POST", peer.url + "/x")


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        OK + OK,
    ],
    ids=["told to close", "an old server", "one answer too many"],
)
def test_a_connection_that_is_not_used_again(play, said):
    peer = Peer(said, b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nnew")

    async def scene(asked):
        return await post(asked), await post(asked)

    first, second = play(peer, scene)
    assert (first.content, second.content) == (b"ok", b"new")
    assert peer.connections == 2


def test_an_answer_that_ends_with_its_connection(play):
    peer = Peer(b"HTTP/1.1 200 OK\r\n\r\nall of it", closes=True)
    assert play(peer, post).content == b"all of it"


def test_one_that_was_closed_meanwhile_is_not_used(play):
    peer = Peer(OK, OK, closes=True)

    async def scene(asked):
        await post(asked)
        [connection] = asked._open
        await connection.closed.wait()
        await post(asked)

    play(peer, scene)
    assert peer.connections == 2


def test_one_that_was_not_used_for_long_is_not_trusted(play, monkeypatch):
    monkeypatch.setattr(exchange, "IDLE_SECONDS", -1.0)
    peer = Peer(OK, OK)

    async def scene(asked):
        await post(asked)
        await post(asked)

    play(peer, scene)
    assert peer.connections == 2


def test_requests_at_the_same_time_have_connections_of_their_own(play):
    peer = Peer(OK, OK, OK, OK)

    async def scene(asked):
        await asyncio.gather(post(asked), post(asked), post(asked))
        await post(asked)

    play(peer, scene)
    assert peer.connections == 3


@pytest.mark.parametrize(
    ("says", "closes", "kind"),
    [
        (b"", True, "reset"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nok", True, "protocol"),
        (b"SSH-2.0-OpenSSH\r\n", False, "protocol"),
        (HANGS, False, "timeout"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nok", False, "timeout"),
    ],
    ids=["hangs up", "breaks off", "is not HTTP", "hangs", "hangs in the middle"],
)
def test_no_answer(play, says, closes, kind):
    peer = Peer(says, OK, closes=closes)

    async def scene(asked):
        with pytest.raises(NoAnswer) as raised:
            await post(asked, timeout=0.1)
        assert (raised.value.kind, raised.value.sent) == (kind, True)
        return await post(asked)

    assert play(peer, scene).content == b"ok"
    assert peer.connections == 2, "what may still come on the first is nobody's answer"


def test_it_may_take_long_while_there_are_signs_of_life(play):
    class Slow(Peer):
        async def _talk(self, reader, writer):
            await reader.readuntil(b"\r\n\r\n{}")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n")
            for _ in range(8):
                writer.write(b".")
                await asyncio.sleep(0.05)
            writer.close()

    assert play(Slow(), lambda asked: post(asked, timeout=0.2)).content == b"........"


def test_a_caller_that_gives_up_takes_the_connection_along(play):
    peer = Peer(HANGS, OK)

    async def scene(asked):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await post(asked)
        return await post(asked)

    assert play(peer, scene).content == b"ok"
    assert peer.connections == 2


def test_nobody_there(play):
    async def scene(asked):
        nobody = Exchange("http://127.0.0.1:1", {})
        with pytest.raises(NoAnswer) as raised:
            await post(nobody)
        assert (raised.value.kind, raised.value.sent) == ("refused", False)

    play(Peer(), scene)


def test_a_host_that_is_not_known(play):
    async def scene(asked):
        with pytest.raises(NoAnswer) as raised:
            await post(Exchange("http://no-such-host.invalid", {}))
        assert (raised.value.kind, raised.value.sent) == ("dns", False)

    play(Peer(), scene)


def test_a_server_that_does_not_speak_tls(play):
    async def scene(asked):
        with pytest.raises(NoAnswer) as raised:
            await post(Exchange(f"https://127.0.0.1:{asked._port}", {}))
        assert (raised.value.kind, raised.value.sent) == ("tls", False)

    class Plain(Peer):
        async def _talk(self, reader, writer):
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

    play(Plain(), scene)


def test_a_name_and_a_password_in_the_address(play):
    peer = Peer(OK)

    async def scene(_):
        asked = Exchange(peer.url.replace("//", "//me:s%40crt@"), {})
        await post(asked)
        await asked.close()

    play(peer, scene)
    [(head, _)] = peer.heard
    assert f"authorization: Basic {b64encode(b'me:s@crt').decode()}\r\n" in head
    assert f"host: {peer.url[7:]}\r\n" in head


@pytest.mark.parametrize("address", ["localhost", "ftp://a", "http://:80", "http://a:b", "http://[::1"])
def test_what_is_no_address(address):
    with pytest.raises(UsageError, match=f"^'{re.escape(address)}' is not the URL of a server: "):
        Servers(address, headers={})


@pytest.mark.parametrize("token", ["t\r\nx-evil: 1", "tökën"])
def test_a_token_that_no_header_can_hold(token):
    with pytest.raises(UsageError, match="the header authorization") as raised:
        Exchange("http://a", {"authorization": f"Bearer {token}"})
    assert "TENAX_TOKEN" in raised.value.remedy
