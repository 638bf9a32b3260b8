"""Tests the main ways of acting on one execution in a browser: retry now, approve, edit the input and run again."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import expect
from support.browse.browsing import PHONE, assert_accessible, sign_in

SLOW = """
name: sync-orders
workflow:
  - step: fetch
    type: python
    task: shop:fetch
    retry: {max_attempts: 3, backoff: fixed, initial_delay: 1h, jitter: 0}
"""
APPROVAL = """
name: deploy
workflow:
  - {step: ask, type: wait}
  - {step: paid, type: wait, signal: paid}
"""
INPUTS = """
name: bill
input:
  customer: {type: string, description: Whom it is for}
  amount: {type: integer, minimum: 1}
  express: {type: boolean, default: false}
  kind: {type: string, enum: [invoice, credit]}
  lines: {type: array, items: {type: object, properties: {sku: {type: string}}}}
workflow:
  - {step: a, type: python, task: t}
"""
GIVEN = {"customer": "Ada", "amount": 3, "kind": "invoice", "lines": [{"sku": "x"}]}


async def test_retry_now_from_the_page_of_a_retrying_execution(server, hand, browser):
    execution = await asyncio.to_thread(hand.submit, SLOW)
    await asyncio.to_thread(hand.fail)
    page = await browser.open(f"{server.url}/executions/{execution}/events")
    log = page.locator("#log")
    await expect(log).to_contain_text("retry in 1h")
    await log.locator("summary").first.click()
    await page.get_by_role("link", name="Retry now").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("heading")).to_have_text(f"Retry execution {execution} now?")
    await dialog.get_by_label("Reason").fill("the shop is up again")
    await dialog.get_by_role("button", name="Retry now").click()
    await expect(page.locator("#notices")).to_contain_text("1 item of step fetch runs now.")
    await expect(dialog).to_be_hidden()
    await expect(log).to_contain_text("asked for retry_now: the shop is up again")
    await expect(page.locator("details[open]")).to_have_count(1)  # what was unfolded stays so through updates
    await asyncio.to_thread(hand.succeed)
    await expect(log).to_contain_text("execution completed")
    await expect(page.get_by_role("link", name="Retry now")).to_have_count(0)


async def test_a_waiting_step_is_approved_and_a_signal_is_sent(server, hand, browser):
    execution = await asyncio.to_thread(hand.submit, APPROVAL)
    page = await browser.open(f"{server.url}/executions/{execution}/events")
    waiting = page.get_by_role("region", name="Waits for a person")
    await expect(waiting).to_contain_text("Step ask waits for an approval")
    await assert_accessible(page)
    await waiting.get_by_role("link", name="Approve").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Reason").fill("the tests are green")
    await dialog.get_by_role("button", name="Approve").click()
    await expect(page.locator("#notices")).to_contain_text(f"Step ask of execution {execution} is approved.")
    await expect(waiting).not_to_contain_text("approval")
    await waiting.get_by_role("link", name="Send a signal").click()
    await expect(dialog.get_by_label("Name of the signal")).to_have_value("paid")
    await dialog.get_by_label("Data").fill('{"amount": 3}')
    await dialog.get_by_label("Reason").fill("the bank has confirmed it")
    await dialog.get_by_role("button", name="Send the signal").click()
    await expect(page.locator("#notices")).to_contain_text("The signal paid was delivered to step paid")
    await expect(page.locator("#log")).to_contain_text("execution completed")
    await expect(page.locator("#log")).to_contain_text("the bank has confirmed it")


async def test_the_input_is_edited_and_run_again(server, hand, browser):
    browser.forgive("status of 4(22|04)|answered: .* 422|answered: /executions/2 404")
    execution = await asyncio.to_thread(hand.submit, INPUTS, input=GIVEN)
    await asyncio.to_thread(hand.succeed)
    page = await browser.open(f"{server.url}/executions/{execution}/decisions")
    await page.get_by_role("link", name="Edit and run again").click()
    await expect(page.get_by_label("customer")).to_have_value("Ada")
    await assert_accessible(page)
    await page.get_by_label("amount").fill("0")
    await page.get_by_label("lines").fill("[1]")
    await page.get_by_label("Reason").fill("a wrong amount")
    await page.get_by_role("button", name="Run it again").click()
    await expect(page.get_by_label("amount")).to_have_attribute("aria-invalid", "true")
    await expect(page.locator(".field", has_text="lines")).to_contain_text("object")
    await assert_accessible(page)
    await page.get_by_label("amount").fill("5")
    await page.get_by_label("express").check()
    await page.get_by_label("lines").fill('[{"sku": "y"}]')
    await page.get_by_role("button", name="Run it again").click()
    await page.wait_for_url(re.compile(f"/executions/(?!{execution}\\b)\\d+$"))
    new = int(page.url.rsplit("/", 1)[1])
    with server.http() as http:
        found = http.get(f"/v1/executions/{new}").json()
    assert found["retry_of"] == execution
    assert found["input"] == {**GIVEN, "amount": 5, "express": True, "lines": [{"sku": "y"}]}


async def test_a_viewer_reads_everything_and_sees_no_button(tokens, browser):
    server, secrets = tokens
    with server.http(secrets["operator"]) as http:
        execution = http.post("/v1/executions", json={"source": APPROVAL}).json()["id"]
    page = await browser.open(f"{server.url}/executions/{execution}/events")
    await sign_in(page, secrets["viewer"])
    await expect(page.locator("#log li").first).to_be_visible()
    await expect(page.get_by_text("waits for an approval").first).to_be_visible()
    await expect(page.locator("main a[href*='/actions/'], main a[href$='/again']")).to_have_count(0)
    for path in ("actions/cancel", "actions/approve?step=ask", "again"):
        answer = await page.request.post(
            f"{server.url}/executions/{execution}/{path}",
            form={"reason": "no"},
            headers={"origin": server.url},
        )
        assert answer.status == 403
        assert "may not POST" in await answer.text()
        assert (await page.request.get(f"{server.url}/executions/{execution}/{path}")).status == 403


@pytest.mark.parametrize("size", ["wide", "phone"])
async def test_log_and_decisions_are_accessible_and_fit_the_window(server, hand, browser, size):
    execution = await asyncio.to_thread(hand.submit)
    await asyncio.to_thread(hand.fail, "connection reset " + "x" * 100_000)
    await asyncio.to_thread(hand.succeed)
    page = await browser.open(f"{server.url}/executions/{execution}/events")
    if size == "phone":
        await page.set_viewport_size(PHONE)
    for path in ("events?type=action_error", "decisions", "decisions?attempt=1"):
        await page.goto(f"{server.url}/executions/{execution}/{path}")
        await assert_accessible(page)
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
