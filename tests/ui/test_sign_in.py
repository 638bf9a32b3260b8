"""Tests the ways in and out: tokens, links that sign in once, sessions that end, and pages that nobody may open."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from playwright.async_api import Route, expect
from support.browse.browsing import assert_accessible, sign_in
from support.serve.served import in_database

from tenax.store.fleet.tokens import revoke_token


def form_token(http: httpx2.Client) -> str:
    found = re.search(r'name="form_token" value="([0-9a-f]+)"', http.get("/sign-in").text)
    assert found is not None
    return found[1]


def fields_of(html: str) -> dict[str, str]:
    """Returns what the form of the sign-in sends."""
    return dict(re.findall(r'name="(\w+)"[^>]*value="([^"]*)"', html))


def enter(http: httpx2.Client, **fields: str) -> httpx2.Response:
    return http.post("/sign-in", data={"form_token": form_token(http), **fields}, follow_redirects=False)


async def test_a_person_signs_in_sees_the_page_that_was_asked_for_and_signs_out(tokens, browser):
    server, secrets = tokens
    page = await browser.open(f"{server.url}/executions?filter=status%3Dfailed")
    await expect(page).to_have_url(f"{server.url}/sign-in?next=/executions%3Ffilter%3Dstatus%253Dfailed")
    await assert_accessible(page)
    await sign_in(page, secrets["operator"])
    await expect(page).to_have_url(f"{server.url}/executions?filter=status%3Dfailed")
    await expect(page.locator(".who")).to_have_text("a-operator operator")
    await page.get_by_role("button", name="Sign out").click()
    await expect(page).to_have_url(f"{server.url}/sign-in")
    await page.goto(f"{server.url}/executions")
    await expect(page).to_have_url(re.compile("/sign-in"))


async def test_the_link_of_the_server_signs_in_once(start_with_link, browser):
    browser.forgive("status of 401|answered: /sign-in 401")
    server, link = start_with_link
    page = await browser.open(link)
    await expect(page).to_have_url(f"{server.url}/")
    await expect(page.locator(".who")).to_contain_text("admin")
    await page.context.clear_cookies()
    await page.goto(link)
    await expect(page.get_by_role("alert")).to_contain_text("has been used")
    await page.goto(f"{server.url}/executions")
    await expect(page).to_have_url(re.compile("/sign-in"))


async def test_without_scripts_the_link_has_a_button(start_with_link, browser):
    server, link = start_with_link
    async with browser.without_scripts() as plain:
        page = await plain.open(link)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page).to_have_url(f"{server.url}/")


async def test_a_page_that_sends_its_code_twice_signs_in(start_with_link, browser):
    server, link = start_with_link
    sent: list[str] = []
    is_lost = asyncio.Event()

    async def lose_first_answer(route: Route) -> None:
        """Lets the server answer the first request, and gives the browser no answer, as if a slow one had been given up."""
        if route.request.method == "POST":
            sent.append(route.request.post_data or "")
        if len(sent) == 1:
            await asyncio.to_thread(httpx2.post, f"{server.url}/sign-in", data=dict(parse_qsl(sent[0])))
            await route.abort("aborted")
            is_lost.set()
        else:
            await route.continue_()

    page = await browser.open(f"{server.url}/sign-in")
    await browser.context.route("**/sign-in", lose_first_answer)
    await page.goto(link, wait_until="commit")
    await is_lost.wait()
    await page.get_by_role("button", name="Sign in").click()
    await expect(page).to_have_url(f"{server.url}/")
    await expect(page.locator(".who")).to_contain_text("admin")
    assert len(sent) == 2
    assert sent[0] == sent[1]


def test_the_code_of_a_link_is_good_for_one_page(start_with_link):
    server, link = start_with_link
    with server.http() as http:
        first, second = (fields_of(http.get(link).text) for _ in range(2))
        answers = [http.post("/sign-in", data=fields) for fields in (first, first, second)]
    assert [one.status_code for one in answers] == [303, 303, 401]


def test_a_link_stays_good_while_the_database_is_away(start_with_link):
    server, link = start_with_link
    with server.http() as http:
        fields = fields_of(http.get(link).text)
        server.execute("alter table tenax.token rename to token_away")
        try:
            refused = http.post("/sign-in", data=fields)
        finally:
            server.execute("alter table tenax.token_away rename to token")
        assert refused.status_code == 500
        assert http.post("/sign-in", data=fields_of(http.get(link).text)).status_code == 303


def test_looking_at_the_link_does_not_use_it_up(start_with_link):
    server, link = start_with_link
    code = urlsplit(link).query.removeprefix("code=")
    with server.http() as http:
        assert http.get(link).status_code == 200
        assert enter(http, code=code).status_code == 303
        assert enter(http, code=code).status_code == 401


def test_the_cookie_is_for_browsers_only_and_for_pages_only(tokens):
    server, secrets = tokens
    with server.http() as http:
        answer = enter(http, token=secrets["admin"])
        assert re.fullmatch(
            r"tenax_session_[0-9a-f]{8}=[^;]+; HttpOnly; Max-Age=604800; Path=/; SameSite=lax",
            answer.headers["set-cookie"],
        )
        assert secrets["admin"] not in answer.headers["set-cookie"]
        assert http.get("/executions").status_code == 200
        assert http.get("/v1/executions").status_code == 401


def test_behind_https_the_cookie_is_secure(tokens):
    server, secrets = tokens
    with server.http() as http:
        fields = {"form_token": form_token(http), "token": secrets["viewer"]}
        headers = {"origin": "https://tenax.example", "sec-fetch-site": "same-origin"}
        answer = http.post("/sign-in", data=fields, headers=headers, follow_redirects=False)
    assert answer.status_code == 303
    assert "; Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    ("token", "status", "said"),
    [
        ("", 401, "the token is missing"),
        ("tenax_wrong", 401, "the token is unknown"),
        ("worker", 403, "a token of a worker"),
    ],
)
def test_who_may_not_enter_is_told_why(tokens, token, status, said):
    server, secrets = tokens
    with server.http() as http:
        answer = enter(http, token=secrets.get(token, token))
    assert (answer.status_code, "set-cookie" in answer.headers) == (status, False)
    assert said in answer.text


@pytest.mark.parametrize(
    "target", ["//evil.test", "https://evil.test/", "/\\evil.test", "executions", "/a\nb", "/\t/evil.test"]
)
def test_the_sign_in_leads_to_no_other_site(tokens, target):
    server, secrets = tokens
    with server.http() as http:
        answer = enter(http, token=secrets["viewer"], next=target)
    assert answer.headers["location"] == "/"


def test_a_revoked_token_ends_its_sessions(tokens):
    server, secrets = tokens
    with server.http() as http, server.http(secrets["admin"]) as admin:
        enter(http, token=secrets["viewer"])
        assert http.get("/executions").status_code == 200
        [viewer] = [one["id"] for one in admin.get("/v1/tokens").json() if one["role"] == "viewer"]
        admin.post(f"/v1/tokens/{viewer}/revoke")
        answer = http.get("/executions", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=/executions")
        answer = http.get(
            "/executions", headers={"hx-request": "true", "hx-current-url": f"{server.url}/executions"}
        )
        assert (answer.status_code, answer.headers["hx-redirect"]) == (401, "/sign-in?next=/executions")


async def test_an_open_page_of_a_revoked_token_asks_to_sign_in(tokens, browser):
    browser.forgive("status of 401|answered: /executions/live 401|SSE reconnect failed with status 401")
    server, secrets = tokens
    page = await browser.open(f"{server.url}/executions")
    await sign_in(page, secrets["viewer"])
    await expect(page.get_by_text("Nothing has run yet")).to_be_visible()
    await asyncio.to_thread(in_database, server.database_url, lambda tx: revoke_token(tx, "a-viewer"))
    await expect(page).to_have_url(re.compile("/sign-in"), timeout=15_000)


def test_a_token_in_the_header_opens_a_page_for_a_program(tokens):
    server, secrets = tokens
    with server.http(secrets["viewer"]) as http:
        assert http.get("/executions").status_code == 200
    with server.http(secrets["worker"]) as http:
        assert http.get("/executions").status_code == 403
