"""Tests what people and programs get where something is wrong: a page or a notice on the dashboard, a problem from the API."""

from __future__ import annotations

import pytest
from playwright.async_api import expect
from support.browse.browsing import assert_accessible

from tenax.ui.answers import POLICY

HTML, HTMX = {"accept": "text/html"}, {"hx-request": "true"}


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/nowhere", 404, "There is no such page"),
        ("/executions/0/cancel", 422, "execution_id"),
        ("/executions?before=x", 422, "before"),
        ("/executions?filter=stauts%3Dx", 400, "did you mean"),
        ("/executions/live?filter=stauts%3Dx", 400, "did you mean"),
    ],
)
def test_a_wrong_address_is_answered_with_a_page_that_says_why(standing, path, status, said):
    with standing.http() as http:
        answer = http.get(path, headers=HTML)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert said in answer.text
    assert "<main" in answer.text


def test_htmx_gets_a_notice_and_the_place_for_it(standing):
    with standing.http() as http:
        answer = http.get("/executions?before=x", headers=HTMX)
    assert answer.status_code == 422
    assert (answer.headers["hx-retarget"], answer.headers["hx-reswap"]) == ("#notices", "innerHTML")
    assert answer.text.startswith('<div class="notice')


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/executions/999", HTML),
        ("/v1/nowhere", HTML),
        ("/nowhere", {}),
        ("/docs/nowhere", HTML),
        ("/api/v1/x", HTML),
    ],
)
def test_the_api_answers_with_problems_also_to_browsers(standing, path, headers):
    with standing.http() as http:
        answer = http.get(path, headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


def test_a_page_may_load_nothing_from_elsewhere_and_is_kept_by_nobody(standing):
    with standing.http() as http:
        for path in ("/executions", "/sign-in", "/executions?before=x"):
            headers = http.get(path, headers=HTML).headers
            assert headers["content-security-policy"] == POLICY
            assert headers["cache-control"] == "no-store"
            assert headers["referrer-policy"] == "same-origin"
            assert headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in POLICY
    assert "frame-ancestors 'none'" in POLICY


def test_text_of_users_is_never_markup(server, hand):
    hand.submit("name: x\nworkflow: [{step: a, type: python, task: t, retry: {max_attempts: 2}}]\n")
    hand.fail("<script>alert(1)</script> \"quoted\" & 'more'")
    with server.http() as http:
        for path in ("/executions", "/executions?filter=%22%3E%3Cscript%3E"):
            text = http.get(path).text
            assert "<script>" not in text
        assert "&lt;script&gt;alert(1)" in http.get("/executions").text


async def test_the_page_of_an_error_is_accessible(server, browser):
    browser.forgive("404")
    page = await browser.open(f"{server.url}/nowhere")
    await expect(page.get_by_role("alert")).to_contain_text("there is no GET /nowhere here")
    await assert_accessible(page)
