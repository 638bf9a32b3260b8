"""Tests one client with several real servers: which one gets a request, and which requests are not repeated."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.waiting import eventually

from tenax.errors import NotFound, TenaxError, Unreachable, UsageError
from tenax.model.wire import Submission
from tenax.sdk.servers import Servers
from tenax.sdk.sync_client import SyncClient

HANGS_UP = None
HANGS = "never answers"
OK = (200, {"id": 1, "created": True})
STOPPING = (503, {"type": "tenax:unreachable", "title": "the server is stopping"})


class One:
    """Answers in turn with what it was given; `HANGS_UP` reads the request and closes the connection, `HANGS` does not."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0
        self.over = threading.Event()
        one = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                self.rfile.read(int(self.headers.get("content-length", 0)))
                one.asked += 1
                answer = one.answers.pop(0)
                if answer is HANGS:
                    one.over.wait()
                    return
                if answer is HANGS_UP:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                text = json.dumps(answer[1]).encode()
                self.send_response(answer[0])
                self.send_header("content-length", str(len(text)))
                self.send_header("tenax-version", "0.1.0")
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = answer  # noqa: N815 - the names that http.server calls

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    async def until_asked(self, times):
        await asyncio.to_thread(eventually, lambda: self.asked == times)

    def close(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def start():
    made = []

    def one(*answers):
        made.append(One(*answers))
        return made[-1]

    yield one
    for server in made:
        server.close()


@pytest.fixture
def nobody():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def client(*servers):
    return SyncClient(",".join(getattr(server, "url", server) for server in servers))


def test_the_first_that_answers_is_kept(start, nobody):
    first, second = start(OK, OK), start()
    with client(nobody, first, second) as asked:
        asked.get(1)
        asked.get(1)
    assert (first.asked, second.asked) == (2, 0)


@pytest.mark.parametrize("trouble", [HANGS_UP, STOPPING, (502, "a proxy")])
def test_what_may_be_asked_twice_goes_on_to_the_next(start, trouble):
    first, second = start(trouble), start(OK, OK, (200, [OK[1]]))
    with client(first, second) as asked:
        asked.get(1)
        asked.submit(Submission(workflow="w", key="k"))
        asked.submit_many([Submission(workflow="w", key="k")])
    assert (first.asked, second.asked) == (1, 3)


@pytest.mark.parametrize("trouble", [HANGS_UP, STOPPING])
def test_what_may_have_been_done_is_not_done_again_elsewhere(start, trouble):
    first, second = start(trouble), start(OK)
    with client(first, second) as asked:
        with pytest.raises(Unreachable) as raised:
            asked.submit(Submission(workflow="w"))
        assert second.asked == 0
        assert second.url not in raised.value.message
        asked.submit(Submission(workflow="w"))
    assert (first.asked, second.asked) == (1, 1), "the next request begins with the next server"


def test_what_nobody_heard_goes_on_whatever_it_is(start, nobody):
    second = start(OK)
    with client(nobody, second) as asked:
        asked.submit(Submission(workflow="w"))
    assert second.asked == 1


def test_an_answer_is_an_answer(start):
    first, second = start((404, {"type": "tenax:not_found", "title": "no execution 5"})), start()
    with client(first, second) as asked, pytest.raises(NotFound):
        asked.get(5)
    assert second.asked == 0


def test_none_of_them(start, nobody):
    first = start(STOPPING, OK)
    with client(first, nobody) as asked:
        with pytest.raises(Unreachable) as raised:
            asked.get(1)
        assert raised.value.message == (
            f"none of the servers can be used: {first.url}: the server is stopping; "
            f"cannot reach the server at {nobody}: connection refused"
        )
        assert "TENAX_SERVER" in raised.value.remedy
        asked.get(1)
    assert first.asked == 2, "it begins again with the first"


def test_one_that_comes_back_is_there_for_the_next_failure(start):
    first, second = start(STOPPING, OK), start(OK, HANGS_UP)
    with client(first, second) as asked:
        asked.get(1)
        asked.get(1)
    assert (first.asked, second.asked) == (2, 2)


def together(*servers, scene):
    """A scene with all of them behind one `Servers`, whose requests get a fifth of a second unless they say more."""

    async def go():
        asked = Servers(",".join(server.url for server in servers), headers={}, timeout=0.2)
        try:
            async with asyncio.timeout(20):
                await scene(asked)
        finally:
            await asked.close()

    asyncio.run(go())


def test_what_follows_is_given_up_at_a_server_that_another_request_has_left(start):
    first, second = start(HANGS, HANGS, HANGS, HANGS), start(OK, OK)

    async def scene(servers):
        long = {"timeout": 60}
        in_doubt = asyncio.create_task(
            servers.request("POST", "/", repeatable=False, follows=True, **long),
        )
        repeated = asyncio.create_task(servers.request("POST", "/", repeatable=True, follows=True, **long))
        stays = asyncio.create_task(servers.request("POST", "/", repeatable=True, **long))
        await first.until_asked(3)
        assert (await servers.request("GET", "/", repeatable=True)).status_code == 200
        with pytest.raises(Unreachable, match=f"gave up waiting for the server at {first.url}"):
            await in_doubt
        assert (await repeated).status_code == 200
        assert not stays.done()
        stays.cancel()

    together(first, second, scene=scene)
    assert (first.asked, second.asked) == (4, 2)


def test_what_follows_ends_with_its_caller(start):
    first, second = start(HANGS), start()

    async def scene(servers):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await servers.request("POST", "/", repeatable=True, follows=True)
        assert servers.current == first.url, "it was not the server that was at fault"

    together(first, second, scene=scene)
    assert second.asked == 0


@pytest.mark.parametrize("addresses", ["", " , ", "http://a:b"])
def test_addresses_that_are_none(addresses):
    async def go():
        Servers(addresses, headers={})

    with pytest.raises(UsageError, match="is not the URL of a server"):
        asyncio.run(go())


def test_the_password_of_a_servers_url_is_not_shown(caplog):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    address = f"http://jo:s3cret@127.0.0.1:{port}"
    for addresses in (address, f"{address},{address}/b"):
        with SyncClient(addresses) as client, pytest.raises(Unreachable) as raised:
            client.get(1)
        assert f"http://jo:***@127.0.0.1:{port}" in raised.value.message
        assert "s3cret" not in raised.value.message + caplog.text


def test_a_server_that_leads_elsewhere_is_not_followed(start):
    """The token would go along."""
    one = start((307, {}))
    with SyncClient(one.url, "t0ken") as asked, pytest.raises(TenaxError):
        asked.get(1)
    assert one.asked == 1
