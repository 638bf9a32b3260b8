"""Tests the page of the audit: what it shows, its filter in the address, its paging, and the links to targets."""

from __future__ import annotations

import re

import pytest
from support.browse.browsing import PHONE, assert_accessible

from tenax.ui.pages.audit import PAGE_SIZE

ONE = "name: one\nworkflow: [{step: a, type: python, task: t}]\n"


def act(http, path: str, **body) -> None:
    answer = http.post(f"/v1/{path}", json=body)
    assert answer.status_code < 300, answer.text


def rows(http, address: str = "/audit") -> list[str]:
    """Returns the rows of the page as text."""
    answer = http.get(address)
    assert answer.status_code == 200, answer.text
    found = re.findall(r'<tr id="entry-.*?</tr>', answer.text, re.DOTALL)
    return [" ".join(re.sub("<[^>]+>", " ", row).split()) for row in found]


@pytest.fixture
def acted(server):
    """A server on which people have acted on an execution, a queue and a workflow."""
    with server.http() as http:
        execution = http.post("/v1/executions", json={"source": ONE}).json()["id"]
        act(http, f"executions/{execution}/cancel", reason="withdrawn by the customer")
        act(http, "queues/default/pause", reason="maintenance")
        act(http, "queues/default/resume")
        act(http, "workflows/one/pause", reason="broken")
        yield http, execution


def test_it_says_who_did_what_to_what_and_why_and_links_the_target(acted):
    http, execution = acted
    newest, _, _, cancelled = rows(http)
    assert "anonymous@loopback workflow_pause workflow one broken" in newest
    assert f"cancel execution {execution} withdrawn by the customer" in cancelled
    text = http.get("/audit").text
    for address in (f"/executions/{execution}", "/queues/default", "/workflows/one"):
        assert f'href="{address}"' in text


@pytest.mark.parametrize(
    ("query", "actions"),
    [
        ("action=cancel", ["cancel"]),
        ("kind=queue", ["queue_resume", "queue_pause"]),
        ("kind=queue&target=default&action=queue_pause", ["queue_pause"]),
        ("kind=queue&target=mails", []),
        ("actor=anonymous@loopback&kind=workflow", ["workflow_pause"]),
        ("actor=somebody", []),
        ("since=1h&kind=workflow", ["workflow_pause"]),
        ("until=1h", []),
    ],
)
def test_the_address_has_the_filter(acted, query, actions):
    http, _ = acted
    assert [
        row.split("anonymous@loopback ")[1].split()[0] for row in rows(http, f"/audit?{query}")
    ] == actions
    for name, value in (pair.split("=") for pair in query.split("&")):
        shown = http.get(f"/audit?{query}").text
        assert re.search(
            rf'name="{name}"[^>]*value="{value}"|value="{value}" selected|<option selected>{value}', shown
        ), name


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("kind=que", "no kind of target"),
        ("target=mails", "without its kind"),
        ("since=yesterday", "neither a time nor a duration"),
    ],
)
def test_a_wrong_filter_says_what_to_write(server, query, said):
    with server.http() as http:
        answer = http.get(f"/audit?{query}")
    assert answer.status_code == 400
    assert said in answer.text
    assert 'role="search"' in answer.text


def test_pages_lead_to_older_and_newer_entries(server):
    with server.http() as http:
        for number in range(PAGE_SIZE + 5):
            act(http, f"queues/default/{'resume' if number % 2 else 'pause'}", reason=f"number {number}.")
        seen: list[str] = []
        address: str | None = "/audit?kind=queue"
        while address:
            page = http.get(address).text
            seen += re.findall(r"number \d+\.", page)
            last, address = address, link(page, "next")
        assert seen == [f"number {number}." for number in reversed(range(PAGE_SIZE + 5))]
        newer = link(http.get(last).text, "prev")
        assert newer is not None
        assert f"number {PAGE_SIZE + 4}." in http.get(newer).text
        assert link(http.get(newer).text, "first") is None


def link(page: str, rel: str) -> str | None:
    found = re.search(rf'href="([^"]+)" rel="{rel}"', page)
    return None if found is None else found[1].replace("&amp;", "&")


@pytest.mark.parametrize("size", ["wide", "phone"])
async def test_it_is_accessible_and_fits_the_window(server, browser, size):
    with server.http() as http:
        act(http, f"queues/{'q' * 100}/pause", reason="x" * 500)
        assert http.put("/v1/queues/mails/limits", json={"concurrency": 3}).status_code == 200
    page = await browser.open(f"{server.url}/audit")
    if size == "phone":
        await page.set_viewport_size(PHONE)
    await assert_accessible(page)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
