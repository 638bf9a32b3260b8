"""Tests the overview in a browser and by HTTP: what fails is shown without a reload, and leads to its executions."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import expect
from support.browse.browsing import PHONE, assert_accessible
from support.browse.worker_by_hand import WorkerByHand
from support.waiting import eventually

LONG = "x" * 100_000
SLOW = 30_000  # milliseconds: on a busy machine, figures are read every 10 seconds


async def test_a_failing_group_appears_and_leads_to_its_executions(server, hand, browser):
    page = await browser.open(f"{server.url}/?range=15m")
    await expect(page.get_by_text("No dead letters")).to_be_visible(timeout=SLOW)
    execution = await asyncio.to_thread(hand.submit)
    other = await asyncio.to_thread(
        hand.submit, "name: other\nworkflow: [{step: a, type: python, task: t, queue: q}]\n"
    )
    for n in range(3):
        await asyncio.to_thread(hand.fail, f"order {n} of <b>shop failed: {LONG}")
    group = page.locator("#groups tbody tr")
    await expect(group).to_have_count(1, timeout=SLOW)
    await expect(group).to_contain_text("order <n> of <b>shop failed", timeout=SLOW)
    await expect(group).to_contain_text("sync-orders")
    await expect(page.locator("#failing")).to_contain_text("fetch", timeout=SLOW)
    await expect(page.locator("#figures")).to_contain_text("1 failed", timeout=SLOW)
    await expect(page.locator("#charts canvas")).to_have_count(4)
    await assert_accessible(page)
    await page.set_viewport_size(PHONE)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    fingerprint = (await group.get_attribute("id") or "").removeprefix("group-")
    link = group.get_by_role("link", name="Dead letters")
    await expect(link).to_have_attribute("href", f"/dead-letters?group={fingerprint}")
    await group.get_by_role("link", name="Executions").click()
    await expect(page.locator(f"#execution-{execution}")).to_contain_text("failed")
    await expect(page.locator(f"#execution-{other}")).to_have_count(0)
    await page.keyboard.press("g")
    await page.keyboard.press("o")
    await page.wait_for_url(f"{server.url}/")


def test_alerts_that_fire_come_first_and_say_what_to_do(start):
    server = start(alert_min_attempts=1)
    with server.http() as http:
        wait_for(http, "no alert")
        hand = WorkerByHand(http)
        hand.submit()
        hand.fail()
        hand.succeed()
        wait_for(http, "Many attempts are retries")
        shown = wait_for(http, "since about")
    alerts, _, rest = shown.partition('id="figures"')
    assert "100 % (fires at more than 20 %), since about" in alerts
    assert 'href="#failing"' in alerts
    assert 'id="failing"' in rest


@pytest.mark.parametrize("chosen", ["15m", "1h", "6h", "24h", "7d"])
def test_the_range_is_in_the_address(server, chosen):
    with server.http() as http:
        shown = http.get("/", params={"range": chosen}).text
    assert f'href="/?range={chosen}" aria-current="true"' in shown


def test_another_range_is_refused(server):
    with server.http() as http:
        answer = http.get("/", params={"range": "8d"}, headers={"accept": "text/html"})
    assert answer.status_code == 422
    assert "range" in answer.text


def wait_for(http, text: str) -> str:
    """Reloads the overview until it has a text. What it shows is read in the background."""
    found = ""

    def has_it() -> bool:
        nonlocal found
        found = http.get("/").text
        return text in found

    eventually(has_it)
    return found
