"""Tests an action from its button to its event: a dialog that asks for a reason, an error in it, and what a viewer sees instead."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import expect
from support.browse.browsing import assert_accessible, sign_in


def cancelled_by(server, execution: int, token: str | None = None) -> list[tuple[str, str]]:
    """Returns the actor and the reason of each operator's action on an execution."""
    with server.http(token) as http:
        events = http.get(f"/v1/executions/{execution}/events").json()
    return [
        (one["data"]["actor"], one["data"]["reason"]) for one in events if one["type"] == "operator_action"
    ]


async def test_an_action_asks_for_a_reason_and_records_it(server, hand, browser):
    execution = await asyncio.to_thread(hand.submit)
    page = await browser.open(f"{server.url}/executions")
    row = page.locator(f"#execution-{execution}")
    await row.get_by_role("link", name="Cancel", exact=True).click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("heading")).to_have_text(f"Cancel execution {execution}?")
    await assert_accessible(page)
    await dialog.get_by_label("Reason").fill("the order was withdrawn")
    await dialog.get_by_role("button", name="Cancel the execution").click()
    await expect(row.locator(".badge")).to_have_text("cancelled")
    assert cancelled_by(server, execution) == [("anonymous@loopback", "the order was withdrawn")]


async def test_a_refused_action_says_why_in_its_dialog(server, hand, browser):
    browser.forgive("status of 40|answered: .* 40")
    execution = await asyncio.to_thread(hand.submit)
    page = await browser.open(f"{server.url}/executions")
    await page.locator(f"#execution-{execution}").get_by_role("link", name="Cancel", exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Reason").fill("   ")
    await dialog.get_by_role("button", name="Cancel the execution").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("a reason is missing")
    assert cancelled_by(server, execution) == []


async def test_without_scripts_the_form_is_a_page(server, hand, browser):
    execution = await asyncio.to_thread(hand.submit)
    async with browser.without_scripts() as plain:
        page = await plain.open(f"{server.url}/executions")
        await page.get_by_role("link", name="Cancel", exact=True).click()
        await expect(page).to_have_url(re.compile("/cancel$"))
        await page.get_by_label("Reason").fill("by hand")
        await page.get_by_role("button", name="Cancel the execution").click()
        await expect(page.get_by_role("status").last).to_contain_text(f"Execution {execution} is cancelled.")
        await expect(page.get_by_role("link", name=f"To execution {execution}")).to_be_visible()


async def test_a_viewer_sees_no_button_and_is_refused(start, tokens, browser):
    server, secrets = tokens
    with server.http(secrets["operator"]) as http:
        execution = http.post(
            "/v1/executions", json={"source": "name: x\nworkflow: [{step: a, type: python, task: t}]\n"}
        ).json()["id"]
    page = await browser.open(f"{server.url}/executions")
    await sign_in(page, secrets["viewer"])
    await expect(page.locator(f"#execution-{execution}")).to_be_visible()
    await expect(page.get_by_role("link", name="Cancel", exact=True)).to_have_count(0)
    answer = await page.request.post(
        f"{server.url}/executions/{execution}/actions/cancel",
        form={"reason": "no"},
        headers={"origin": server.url},
    )
    assert answer.status == 403
    assert "may not POST" in await answer.text()


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"origin": "http://evil.test"}, "a page of another site"),
        ({"sec-fetch-site": "cross-site"}, "a page of another site"),
        ({"sec-fetch-site": "same-site"}, "a page of another site"),
        ({}, "not of your present session"),
        ({"x-tenax-form-token": "0" * 64}, "not of your present session"),
    ],
)
def test_a_form_of_another_page_is_refused(server, hand, headers, said):
    execution = hand.submit()
    with server.http() as http:
        answer = http.post(f"/executions/{execution}/actions/cancel", data={"reason": "x"}, headers=headers)
    assert answer.status_code == 403
    assert said in answer.text
    assert cancelled_by(server, execution) == []
