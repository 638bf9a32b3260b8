"""Tests the pages of queues: what they show, and what people do there."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import expect
from support.browse.browsing import PHONE, assert_accessible
from support.browse.forms import fields

UNSERVED = "name: train\nworkflow: [{step: a, type: python, task: t, queue: gpu}]\n"


async def test_a_queue_is_paused_limited_and_resumed_from_its_page(server, hand, browser):
    page = await browser.open(f"{server.url}/queues")
    await assert_accessible(page)
    await page.get_by_role("link", name="default").click()
    await page.get_by_role("link", name="Pause").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Reason").fill("the shop is closed")
    await dialog.get_by_role("button", name="Pause").click()
    await expect(page.locator(".head-tools .badge")).to_have_text("paused")
    await expect(page.locator("#queue .facts")).to_contain_text("anonymous@loopback")
    await expect(page.locator(".diagnosis")).to_contain_text(
        "paused by anonymous@loopback: the shop is closed"
    )
    execution = await asyncio.to_thread(hand.submit)
    await expect(page.locator(".card", has_text="Ready").locator(".card-value")).to_have_text("1")
    await assert_accessible(page)
    await page.get_by_role("link", name="Limits").click()
    await dialog.get_by_label("Running at once").fill("7")
    await dialog.get_by_label("Rate").fill("30/m")
    await dialog.get_by_label("Reason").fill("gently")
    await dialog.get_by_role("button", name="Set the limits").click()
    await expect(page.locator("#queue .facts")).to_contain_text("7 at once, 30/m, burst 1")
    await page.get_by_role("link", name="Resume").click()
    await dialog.get_by_label("Reason").fill("open again")
    await dialog.get_by_role("button", name="Resume").click()
    await expect(page.locator(".head-tools .badge")).to_have_count(0)
    await asyncio.to_thread(hand.succeed)
    await expect(page.locator(".card", has_text="Ready").locator(".card-value")).to_have_text("0")
    await expect(page.locator(".card", has_text="Running")).to_contain_text(
        re.compile("0[.]\\d+ ended a minute")
    )
    await page.set_viewport_size(PHONE)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    with server.http() as http:
        assert (await asyncio.to_thread(http.get, f"/v1/executions/{execution}")).json()[
            "status"
        ] == "completed"


def test_a_queue_without_workers_says_what_to_start(server, hand):
    execution = hand.submit(UNSERVED)
    with server.http() as http:
        assert "unserved" in http.get("/queues").text
        shown = http.get("/queues/gpu").text
        assert "Why it does not move" in shown
        assert "tenax worker --queue gpu" in shown
        assert 'href="/executions?filter=queue%3Dgpu"' in shown
        assert f"execution-{execution}" in http.get("/executions?filter=queue%3Dgpu").text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"concurrency": "many"}, "is no whole number"),
        ({"concurrency": "0"}, "must be from 1"),
        ({"rate": "10 per minute"}, "expected a rate such as 10/s"),
        ({"burst": "5"}, "give a `rate` as well"),
        ({"reason": ""}, "a reason is missing"),
    ],
)
def test_wrong_limits_are_explained(server, hand, given, said):
    with server.http() as http:
        form = http.get("/queues/default/limits/form", headers={"hx-request": "true"}).text
        answer = http.post("/queues/default/limits", data=fields(form, **{"reason": "x", **given}))
    assert answer.status_code == 400
    assert said in answer.text.replace("&#34;", '"')


def test_to_resume_a_queue_that_is_not_paused_changes_nothing(server, hand):
    with server.http() as http:
        form = http.get("/queues/default/resume/form", headers={"hx-request": "true"}).text
        answer = http.post("/queues/default/resume", data=fields(form, reason="x"))
    assert answer.status_code == 409
    assert "is not paused" in answer.text


def test_an_unknown_queue_is_not_found(server, hand):
    with server.http() as http:
        answer = http.get("/queues/defualt")
    assert answer.status_code == 404
    assert "did you mean" in answer.text


def test_a_viewer_sees_no_buttons_and_is_refused(tokens):
    server, secrets = tokens
    with server.http(secrets["operator"]) as http:
        http.post("/v1/executions", json={"source": UNSERVED})
        assert "/queues/gpu/pause/form" in http.get("/queues/gpu").text
    with server.http(secrets["viewer"]) as http:
        shown = http.get("/queues/gpu")
        refused = http.post("/queues/gpu/pause", data={"reason": "no"})
    assert shown.status_code == 200
    assert "/pause/form" not in shown.text
    assert refused.status_code == 403
