"""Tests the streams of open pages: what is sent, when it ends, and how many pages share one rendering."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest
from playwright.async_api import expect

from tenax.errors import Busy, Unreachable
from tenax.ui.live import topics
from tenax.ui.live.fragments import RenderedPage, event_text, read_digests
from tenax.ui.live.topics import Subject, Topics

ONE = "name: one\nworkflow: [{step: a, type: python, task: t}]\n"
SECONDS = 10.0


@contextlib.contextmanager
def stream(server, path: str = "/executions/live", known: str = "") -> Iterator[Iterator[dict[str, str]]]:
    """Opens a stream. Yields its events, each as its fields; a comment has the empty name."""
    headers = {"last-event-id": known} if known else {}
    with (
        httpx2.Client(base_url=server.url, timeout=SECONDS) as http,
        http.stream("GET", path, headers=headers) as answer,
    ):
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        yield _events(answer.iter_lines())


def _events(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    event: dict[str, str] = {}
    for line in lines:
        if not line:
            yield event
            event = {}
        else:
            name, _, value = line.partition(":")
            event[name] = event.get(name, "") + value


def next_data(events: Iterator[dict[str, str]]) -> dict[str, str]:
    return next(event for event in events if "id" in event)


def test_a_stream_tells_the_present_state_and_then_each_change(server, hand):
    with stream(server) as events:
        assert "Nothing has run yet" in next_data(events)["data"]
        execution = hand.submit(ONE)
        assert f'id="execution-{execution}"' in next_data(events)["data"]
        hand.succeed()
        told = next(event for event in events if ">completed<" in event.get("data", ""))
        assert told["data"].count("<hx-partial") == 2  # the counts of the states, and the list


def test_a_browser_that_comes_back_gets_only_what_it_does_not_have(server, hand):
    with stream(server) as events:
        known = next_data(events)["id"].strip()
    with stream(server, known=known) as events:
        assert next(events) == {"retry": " 1000"}
        assert next(events) == {"event": " tenax:current", "data": " "}
        execution = hand.submit(ONE)
        assert f'id="execution-{execution}"' in next_data(events)["data"]
    with stream(server, known=known) as events:
        assert f'id="execution-{execution}"' in next_data(events)["data"]


def test_a_stream_ends_when_the_server_stops(start):
    server = start()
    with stream(server) as events:
        next_data(events)
        server.stop()
        assert [event for event in events if "data" in event] == []


async def test_the_page_says_that_the_server_is_gone_and_comes_back_by_itself(start, browser):
    browser.forgive("ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|network error|Failed to fetch")
    server = await asyncio.to_thread(start)
    port = int(server.url.rpartition(":")[2])
    page = await browser.open(f"{server.url}/executions")
    await expect(page.locator("html[data-live=on]")).to_be_attached()
    await asyncio.to_thread(server.stop)
    await expect(page.get_by_role("status")).to_contain_text("The connection to the server is lost")
    server = await asyncio.to_thread(start, port=port)
    await expect(page.get_by_role("status")).to_be_hidden(timeout=15_000)
    with server.http() as http:
        execution = http.post("/v1/executions", json={"source": ONE}).json()["id"]
    await expect(page.locator(f"#execution-{execution}")).to_be_visible()


async def test_a_hidden_page_has_no_stream_and_catches_up(server, hand, browser):
    page = await browser.open(f"{server.url}/executions")
    await expect(page.locator("html[data-live=on]")).to_be_attached()
    async with page.expect_event("requestfailed", lambda request: request.url.endswith("/live")):
        await set_hidden(page, hidden=True)
    execution = await asyncio.to_thread(hand.submit, ONE)
    await set_hidden(page, hidden=False)
    await expect(page.locator(f"#execution-{execution}")).to_be_visible()


async def test_a_page_that_is_opened_in_the_background_connects_when_it_is_seen(server, browser):
    await browser.context.add_init_script(
        "Object.defineProperty(document, 'hidden', {value: true, configurable: true})"
    )
    page = await browser.open(f"{server.url}/executions")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    await expect(page.get_by_text("Nothing has run yet")).to_be_visible()
    assert not any("/live" in url for url in asked)
    async with page.expect_request("**/executions/live"):
        await set_hidden(page, hidden=False)


async def set_hidden(page, *, hidden: bool) -> None:
    """Shows or hides a page, as a browser does it for the tabs of a window."""
    await page.evaluate(
        "(hidden) => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange')) }",
        hidden,
    )


# -- the parts


def test_an_event_has_only_the_fragments_that_differ():
    before = RenderedPage.of({"a": "<p id=a>1</p>", "b": "<p id=b>1</p>"})
    after = RenderedPage.of({"a": "<p id=a>1</p>", "b": "<p id=b>\n2</p>"})
    event = after.event_after(before.id).decode()
    assert "id=b" in event
    assert "<p id=a>" not in event
    assert event.endswith(f"id: {after.id}\n\n")
    assert after.event_after(after.id) == b""
    assert after.event_after("").decode().count("<hx-partial") == 2


@pytest.mark.parametrize("known", ["", ",", "=", "a", "x" * 9000, "a=1,a=2", "\x00=,;"])
def test_any_text_of_a_browser_is_read_as_an_id(known):
    assert set(read_digests(known)) <= {"", "a", "\x00"}
    assert RenderedPage.of({"b": "<p>"}).event_after(known)


def test_no_text_can_end_an_event_early():
    written = event_text("a\n\nb\r\nid: 7\rc", event="x").decode()
    assert [line.partition(":")[0] for line in written.splitlines()] == ["event", *["data"] * 5, ""]


class Counted:
    """Is a subject that counts its renderings, and that a test changes."""

    def __init__(self) -> None:
        self.renderings = 0
        self.changed = asyncio.Event()
        self.error: Exception | None = None

    def subject(self, **more) -> Subject:
        return Subject("page", self._render, self._changes, **more)

    async def _render(self) -> dict[str, str]:
        self.renderings += 1
        if self.error is not None:
            raise self.error
        return {"n": f"<p>{self.renderings}</p>"}

    @contextlib.asynccontextmanager
    async def _changes(self) -> AsyncIterator[asyncio.Event]:
        yield self.changed


async def test_all_who_look_at_a_page_share_its_renderings():
    counted, all_topics = Counted(), Topics()
    async with contextlib.AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(all_topics.reading(counted.subject())) for _ in range(200)]
        await asyncio.gather(*(one.next((None, None), SECONDS) for one in opened))
        assert (len(set(map(id, opened))), counted.renderings) == (1, 1)
        assert all_topics.streams == 200
    assert all_topics.streams == 0


async def test_many_changes_at_once_are_one_rendering():
    counted, all_topics = Counted(), Topics()
    async with all_topics.reading(counted.subject()) as topic:
        await topic.next((None, None), SECONDS)
        for _ in range(1000):
            counted.changed.set()
        await topic.next(topic.state, SECONDS)
        assert counted.renderings == 2


async def test_a_page_is_rendered_again_after_a_while_without_news():
    counted, all_topics = Counted(), Topics()
    async with all_topics.reading(counted.subject(every=0.01)) as topic:
        await topic.next((None, None), SECONDS)
        await topic.next(topic.state, SECONDS)
        assert counted.renderings == 2


async def test_one_slow_rendering_does_not_stop_a_page_for_long(monkeypatch):
    monkeypatch.setattr(topics, "COST_PAUSE", 1e9)
    monkeypatch.setattr(topics, "MAX_PAUSE", 0.01)
    counted, all_topics = Counted(), Topics()
    async with all_topics.reading(counted.subject(every=0.01)) as topic:
        await topic.next((None, None), SECONDS)
        await topic.next(topic.state, SECONDS)
        assert counted.renderings == 2


@pytest.mark.parametrize(
    ("error", "said"),
    [(Unreachable("the database is away"), "the database is away"), (ValueError("x"), "its log says why")],
)
async def test_a_rendering_that_fails_is_told_and_tried_again(error, said):
    counted, all_topics = Counted(), Topics()
    counted.error = error
    async with all_topics.reading(counted.subject()) as topic:
        await topic.next((None, None), SECONDS)
        assert topic.trouble is not None
        assert said in topic.trouble.message
        counted.error = None
        await topic.next(topic.state, SECONDS)
        assert topic.trouble is None
        assert topic.rendered is not None


async def test_a_server_has_room_for_so_many_streams(monkeypatch):
    monkeypatch.setattr(topics, "MOST_STREAMS", 1)
    all_topics = Topics()
    async with all_topics.reading(Counted().subject()):
        with pytest.raises(Busy, match="kept up to date"):
            async with all_topics.reading(Counted().subject()):
                pass
    async with all_topics.reading(Counted().subject()):
        pass
