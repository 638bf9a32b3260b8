"""Tests the page of tokens: an admin makes one, somebody signs in with it, and it is revoked."""

from __future__ import annotations

from playwright.async_api import expect
from support.browse.browsing import PHONE, assert_accessible, sign_in


async def test_a_token_is_made_used_and_revoked(tokens, browser):
    server, secrets = tokens
    page = await browser.open(f"{server.url}/tokens")
    await sign_in(page, secrets["admin"])
    await assert_accessible(page)
    await page.get_by_role("link", name="Create a token").click()
    dialog = page.get_by_role("dialog")
    await assert_accessible(page)
    await dialog.get_by_label("Name").fill("ada")
    await dialog.get_by_role("radio", name="operator").check()
    await dialog.get_by_label("Reason").fill("she is on call")
    await dialog.get_by_role("button", name="Create the token").click()
    secret = await dialog.get_by_label("Secret").input_value()
    assert secret.startswith("tenax_")
    await assert_accessible(page)
    await dialog.get_by_role("link", name="I have it").click()
    row = page.get_by_role("row", name="ada")
    await expect(row).to_contain_text("operator")
    assert secret not in await page.content()

    async with browser.another() as hers:
        other = await hers.open(f"{server.url}/workflows")
        await sign_in(other, secret)
        await expect(other.get_by_text("There are no workflows yet")).to_be_visible()
        await expect(other.get_by_role("link", name="Tokens")).to_have_count(0)
        await row.get_by_role("link", name="Revoke").click()
        await dialog.get_by_label("Reason").fill("her shift is over")
        await dialog.get_by_role("button", name="Revoke the token").click()
        await expect(page.get_by_role("row", name="ada")).to_contain_text("revoked")
        await other.goto(f"{server.url}/audit")
        await expect(other.get_by_role("heading", name="Sign in")).to_be_visible()

    await page.set_viewport_size(PHONE)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.set_viewport_size({"width": 1280, "height": 800})
    await page.get_by_role("row", name="ada").get_by_role("link", name="Audit").click()
    for words in ("token_revoke", "her shift is over", "token_create", "she is on call"):
        await expect(page.get_by_role("region", name="Audit")).to_contain_text(words)
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    await page.goto(f"{server.url}/tokens")
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_only_admins_open_the_page(tokens):
    server, secrets = tokens
    for role in ("viewer", "operator", "worker"):
        with server.http(secrets[role]) as http:
            for path in ("/tokens", "/tokens/new", "/tokens/1/revoke"):
                assert http.get(path).status_code == 403, (role, path)
            assert (
                http.post("/tokens/new", data={"name": "x", "role": "admin", "reason": "y"}).status_code
                == 403
            )
            assert http.post("/tokens/1/revoke", data={"reason": "y"}).status_code == 403
    with server.http(secrets["admin"]) as http:
        assert [one["name"] for one in http.get("/v1/tokens").json() if one["revoked_at"]] == []
        assert "x" not in [one["name"] for one in http.get("/v1/tokens").json()]


def test_what_is_wrong_is_said(tokens):
    server, secrets = tokens
    with server.http(secrets["admin"]) as http:
        for form, said in (
            ({"name": "", "role": "viewer", "reason": "x"}, "a name is missing"),
            ({"name": "b", "role": "king", "reason": "x"}, "there is no role"),
            ({"name": "b", "role": "viewer", "reason": " "}, "a reason is missing"),
            ({"name": "a-viewer", "role": "viewer", "reason": "x"}, "there is a token named"),
        ):
            answer = http.post("/tokens/new", data=form)
            assert (answer.status_code in (400, 409), said in answer.text) == (True, True), form
        assert "there is no token 99" in http.get("/tokens/99/revoke").text


def test_the_form_warns_of_the_own_and_of_the_last_token(tokens):
    server, secrets = tokens
    with server.http(secrets["admin"]) as http:
        ids = {one["name"]: one["id"] for one in http.get("/v1/tokens").json()}
        form = http.get(f"/tokens/{ids['a-admin']}/revoke").text
        assert "the token that you are signed in with" in form
        assert "the last live token" not in form
        for name, number in ids.items():
            if name != "a-admin":
                assert http.post(f"/tokens/{number}/revoke", data={"reason": "x"}).is_redirect
        assert "the last live token" in http.get(f"/tokens/{ids['a-admin']}/revoke").text


def test_an_open_server_says_that_the_first_token_closes_it(server):
    with server.http() as http:
        assert "The first token that you create closes it" in http.get("/tokens").text
