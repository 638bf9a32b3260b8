"""Tests the pages of workflows: the list, the graph, the policies in words and drawn, versions, and pausing."""

from __future__ import annotations

import asyncio
import re
from html import unescape

import pytest
from playwright.async_api import expect
from support.browse.browsing import PHONE, assert_accessible

FLOW = """
name: sync-orders
version: "{version}"
description: Fetches the orders of a shop.
input:
  shop: {{type: string, required: true}}
workflow:
  - step: fetch
    type: python
    task: shop:fetch
    retry:
      max_attempts: 8
      initial_delay: 1s
      max_delay: 2m
      rules:
        - {{on: [http_429], initial_delay: 30s, max_delay: 10m}}
        - {{on: [oom_killed], retry: false}}
  - step: load
    type: python
    task: warehouse:load
    needs: [fetch]
    retry: false
    compensate: {{type: python, task: warehouse:unload, retry: 3}}
"""


def store(http, source: str) -> str:
    answer = http.post("/v1/workflows", json={"source": source})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["hash"])


def text_of(html: str) -> str:
    return " ".join(re.sub("<[^>]+>", " ", html).split())


@pytest.fixture
def stored(server):
    """A server with two versions of a workflow, and their hashes."""
    with server.http() as http:
        yield http, [store(http, FLOW.format(version=version)) for version in ("1", "2")]


def test_the_list_has_the_newest_version_and_who_paused_it(stored):
    http, (old, new) = stored
    assert http.post(
        "/v1/executions", json={"source": "name: ad-hoc\nworkflow: [{step: a, type: python, task: t}]"}
    ).is_success
    assert http.post("/v1/workflows/sync-orders/pause", json={"reason": "the shop moves"}).is_success
    page = http.get("/workflows").text
    shown = text_of(page)
    assert new[:12] in shown
    assert old[:12] not in shown
    assert "paused by anonymous@loopback: the shop moves" in shown
    assert "ad-hoc" in shown
    assert "only submitted" in shown
    assert "ad-hoc" not in text_of(http.get("/workflows?name=SYNC").text).split("Clear", 1)[1]


def test_pages_of_the_list_follow_one_another(server):
    with server.http() as http:
        for number in range(53):
            store(http, f"name: flow-{number:02}\nworkflow: [{{step: a, type: python, task: t}}]\n")
        first = http.get("/workflows").text
        following = re.search(r'href="([^"]+)" rel="next"', first)
        assert following is not None
        second = http.get(following[1].replace("&amp;", "&")).text
    names = [re.findall(r'id="workflow-([^"]+)"', page) for page in (first, second)]
    assert [name for page in names for name in page] == [f"flow-{number:02}" for number in range(53)]


def test_the_policies_are_told_drawn_and_listed(stored):
    http, _ = stored
    page = http.get("/workflows/sync-orders/policies").text
    shown = text_of(page)
    assert "It is tried 8 times at most" in shown
    assert "It waits 1s before the first retry, twice as long before each further one, 2m at most" in shown
    assert "before attempt 2: 800ms to 1.2s, nominally 1s" in shown
    assert "rules[0] on http_429 8 attempts, exponential backoff from 30s by 2, at most 10m" in shown
    assert "rules[1] on oom_killed 1 attempt, no retries" in shown
    assert "Compensation of load" in shown
    assert page.count('class="tx-drawing tx-schedule"') == 3  # fetch, its first rule, the compensation


def test_the_source_reads_back_as_the_version_that_is_shown(stored):
    http, hashes = stored
    for content in hashes:
        page = http.get(f"/workflows/sync-orders/source?version={content[:12]}").text
        [text] = re.findall(r'data-copy="([^"]*)"', page)
        assert store(http, unescape(text)) == content
        assert f"<code>{text}" in page


def test_a_version_is_shown_by_its_hash(stored):
    http, (old, new) = stored
    shown = http.get(f"/workflows/sync-orders?version={old[:12]}").text
    assert "This is an older version" in shown
    assert f"version={old[:12]}&amp;step=fetch#step-fetch" in shown
    assert "This is an older version" not in http.get(f"/workflows/sync-orders?version={new[:12]}").text
    versions = text_of(http.get("/workflows/sync-orders/versions").text)
    assert versions.index(new[:12]) < versions.index("runs now") < versions.index(old[:12])


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/workflows/nothing", 404, "there is no workflow"),
        ("/workflows/sync-orders?version=ffffff", 404, "with a version ffffff"),
        ("/workflows/sync-orders?version=%27", 400, "is not the hash of a version"),
        ("/workflows/nothing/policies", 404, "there is no workflow"),
    ],
)
def test_what_is_not_there_is_said(stored, path, status, said):
    http, _ = stored
    answer = http.get(path)
    assert (answer.status_code, said in answer.text) == (status, True)


def test_the_policies_of_many_steps_are_paged_and_a_step_leads_to_its_page(server):
    steps = "\n".join(f"  - {{step: s{number}, type: python, task: t}}" for number in range(450))
    with server.http() as http:
        store(http, f"name: wide\nworkflow:\n{steps}\n")
        assert "(450 steps, by layer)" in http.get("/workflows/wide").text
        page = http.get("/workflows/wide/policies?step=s44").text
        assert 'id="step-s40"' in page
        assert 'id="step-s44"' in page
        assert 'id="step-s39"' not in page
        assert "Page 3 of 23" in text_of(page)


async def test_a_step_of_the_graph_leads_to_its_policy(server, browser):
    with server.http() as http:
        store(http, FLOW.format(version="1"))
    page = await browser.open(f"{server.url}/workflows/sync-orders")
    row = page.get_by_role("region", name="Steps").get_by_role("row", name="fetch")
    await expect(row).to_contain_text("8 attempts, exponential backoff from 1s")
    await page.get_by_role("link", name="fetch: python").click()
    await expect(page.locator("#step-fetch h2")).to_be_in_viewport()


async def test_a_workflow_is_paused_and_resumed_with_a_reason(server, hand, browser):
    await asyncio.to_thread(hand.submit, FLOW.format(version="1"), input={"shop": "x"})
    page = await browser.open(f"{server.url}/workflows/sync-orders")
    for action, said in (("Pause", "has paused this workflow: the shop moves"), ("Resume", None)):
        await page.get_by_role("link", name=action, exact=True).click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Reason").fill("the shop moves")
        await dialog.get_by_role("button", name=f"{action} the workflow").click()
        notice = page.get_by_text("has paused this workflow")
        await (expect(notice).to_contain_text(said) if said else expect(notice).to_have_count(0))
    with server.http() as http:
        done = [one["action"] for one in http.get("/v1/audit?target=workflow:sync-orders").json()]
    assert done == ["workflow_resume", "workflow_pause"]


async def test_the_pages_are_accessible_and_fit_the_window(server, browser):
    with server.http() as http:
        store(http, FLOW.format(version="1").replace("name: sync-orders", f"name: {'long-' * 30}"))
        store(http, FLOW.format(version="1"))
    for path in (
        "",
        "/sync-orders",
        "/sync-orders/policies",
        "/sync-orders/source",
        "/sync-orders/versions",
        "/sync-orders/pause",
    ):
        page = await browser.open(f"{server.url}/workflows{path}")
        await assert_accessible(page)
        await page.set_viewport_size(PHONE)
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        await page.close()


async def test_figures_of_steps_follow_what_happens(server, hand, browser):
    source = FLOW.format(version="1").replace("initial_delay: 1s", "initial_delay: 50ms")
    await asyncio.to_thread(hand.submit, source, input={"shop": "x"})
    page = await browser.open(f"{server.url}/workflows/sync-orders")
    row = page.get_by_role("region", name="Steps").get_by_role("row", name="fetch")
    await expect(row).to_contain_text("8 attempts, exponential backoff from 50ms")
    await asyncio.to_thread(hand.fail)
    await expect(row.get_by_role("cell").nth(2)).to_have_text("1", timeout=30_000)
    await asyncio.to_thread(hand.succeed)
    await expect(row.get_by_role("cell").nth(2)).to_have_text("2", timeout=30_000)
    await expect(row.get_by_role("cell").nth(4)).to_have_text("100 %")
