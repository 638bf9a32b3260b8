"""Tests the pages of workers: what they show, and what people do there."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import expect
from support.browse.browsing import PHONE, assert_accessible
from support.browse.forms import fields
from support.browse.worker_by_hand import WorkerByHand

ODD = 'blue "7"/a <b> ?&#'


async def test_a_worker_is_drained_from_its_page_and_its_state_follows(server, hand, browser):
    await asyncio.to_thread(hand.submit)
    await asyncio.to_thread(hand.take)
    page = await browser.open(f"{server.url}/workers")
    await assert_accessible(page)
    await page.get_by_role("link", name="hand").click()
    await expect(page.locator("#worker")).to_contain_text("1 attempts run here")
    await expect(page.locator(".diagnosis")).to_contain_text("are in use")
    await assert_accessible(page)
    await page.get_by_role("link", name="Drain").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("heading")).to_have_text("Drain: worker hand?")
    await dialog.get_by_label("Reason").fill("its disk is full")
    await dialog.get_by_role("button", name="Drain").click()
    await expect(page.locator(".head-tools .badge").first).to_have_text("draining")
    await expect(page.locator("#worker .facts")).to_contain_text("by anonymous@loopback: its disk is full")
    await expect(page.locator(".diagnosis")).to_contain_text(
        re.compile("gets no work: it (is|has been) draining")
    )
    await expect(page.locator("#worker")).to_contain_text("operator_action")
    with server.http() as http:
        resumed = await asyncio.to_thread(http.post, "/v1/workers/hand/resume", json={"reason": "mended"})
    assert resumed.status_code == 200
    await expect(page.locator(".head-tools .badge").first).to_have_text("active")
    await page.set_viewport_size(PHONE)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_worker_with_an_odd_name_has_its_pages(server):
    with server.http() as http:
        WorkerByHand(http, name=ODD)
        listed = http.get("/workers").text
        assert "<b>" not in listed
        [address] = {
            part.split('"')[0] for part in listed.split('href="')[1:] if part.startswith("/workers/")
        }
        shown = http.get(address)
        assert shown.status_code == 200
        assert "Why it gets no work" in shown.text
        assert "<b>" not in shown.text
        form = http.get(f"{address}/pause/form", headers={"hx-request": "true"}).text
        assert "Pause: worker" in form
        paused = http.post(f"{address}/pause", data=fields(form, reason="x"))
        assert paused.status_code == 303
        [worker] = http.get("/v1/workers").json()
        assert (worker["state"], worker["state_reason"]) == ("paused", "x")


def test_the_list_is_filtered_by_name_and_health(server):
    with server.http() as http:
        for name in ("blue-1", "blue-2", "green-1"):
            WorkerByHand(http, name=name)
        by_name = http.get("/workers", params={"name": "BLUE", "health": "healthy"}).text
        assert ("blue-2" in by_name, "green-1" in by_name) == (True, False)
        assert "No worker fits" in http.get("/workers", params={"health": "unhealthy"}).text


@pytest.mark.parametrize("action", ["drain", "pause", "resume", "release"])
def test_an_action_asks_for_a_reason_and_says_if_it_changes_nothing(server, hand, action):
    with server.http() as http:
        form = http.get(f"/workers/hand/{action}/form", headers={"hx-request": "true"}).text
        missing = http.post(f"/workers/hand/{action}", data=fields(form, reason=" "))
        assert missing.status_code == 400
        assert "a reason is missing" in missing.text
        answers = [http.post(f"/workers/hand/{action}", data=fields(form, reason="x")) for _ in range(2)]
    assert answers[1].status_code == 409
    assert "already" in answers[1].text


def test_an_unknown_worker_is_not_found(server, hand):
    with server.http() as http:
        answer = http.get("/workers/hnad")
    assert answer.status_code == 404
    assert "did you mean" in answer.text


def test_a_viewer_sees_no_buttons_and_is_refused(tokens):
    server, secrets = tokens
    with server.http(secrets["worker"]) as http:
        WorkerByHand(http)
    with server.http(secrets["viewer"]) as http:
        shown = http.get("/workers/hand")
        refused = http.post("/workers/hand/drain", data={"reason": "no"})
    with server.http(secrets["operator"]) as http:
        assert "/workers/hand/drain/form" in http.get("/workers/hand").text
    assert shown.status_code == 200
    assert "/drain/form" not in shown.text
    assert refused.status_code == 403
