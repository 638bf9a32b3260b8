"""The pages of one execution by HTTP: what they show, where their parts lead, and how large they may become."""

from __future__ import annotations

import html
import json
import re

import pytest
from support.worker_requests import report_on

STEPS = """
name: sync-orders
version: "2.4"
input:
  customer: {type: string, default: acme}
workflow:
  - {step: fetch, type: python, task: t, retry: {max_attempts: 3, initial_delay: 1h, max_delay: 1h, jitter: 0, vary: [{args: {model: small}}]}}
  - {step: approve, type: wait, deadline: 1h}
  - {step: store, type: python, task: t, needs: [fetch, approve]}
"""
FAN_OUT = """
name: pictures
workflow:
  - {step: render, type: python, task: t, for_each: %s, parallelism: 200, tolerate: 100%%, retry: {max_attempts: 1}}
"""
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def read(server):
    """Returns the text of a page, which must be there."""

    def get(path: str, status: int = 200) -> str:
        with server.http() as http:
            answer = http.get(path)
        assert answer.status_code == status, answer.text[:2000]
        return answer.text

    return get


def said(page: str) -> str:
    """Returns the words of a page."""
    return " ".join(html.unescape(re.sub(r"<(script|style|title)\b.*?</\1>|<[^>]*>", " ", page)).split())


def links(page: str) -> set[str]:
    return {html.unescape(one) for one in re.findall(r'href="([^"]*)"', page)}


def test_the_overview_says_why_it_stands_and_leads_to_its_parts(hand, read):
    id_ = hand.submit(STEPS, key="order-7")
    hand.fail("the shop is closed")
    page = read(f"/executions/{id_}")
    words = said(page)
    assert "waits for a person's approval" in words
    assert "order-7" in words
    assert re.search("Attempt 2 of fetch starts", words)
    assert page.count("tx-timeline") == page.count("tx-graph") == 1
    here = f"/executions/{id_}"
    assert {
        f"{here}/attempts",
        f"{here}/events",
        f"{here}/decisions",
        f"{here}/data",
        f"{here}/steps/fetch",
    } <= links(page)
    assert f"{here}/steps/fetch#attempt-1" in links(page)  # the bar of the timeline
    assert f"{here}/actions/cancel" in links(page)


def test_an_execution_that_is_not_there_is_an_error_page(read):
    assert "there is no execution 4711" in said(read("/executions/4711", 404))
    assert "there is no execution 4711" in said(read("/executions/4711/attempts", 404))


def test_the_step_tells_its_policy_and_each_attempt(hand, read):
    id_ = hand.submit(STEPS)
    hand.fail("the shop is closed")
    words = said(read(f"/executions/{id_}/steps/fetch"))
    assert "3 attempts, exponential backoff from 1h by 2, at most 1h, jitter none" in words
    assert "transient connection_failed" in words
    assert "the shop is closed" in words
    assert re.search("Retried after 1h ?: nothing stands against it", words)
    assert f"/executions/{id_}/decisions?step=fetch&attempt=1" in links(
        read(f"/executions/{id_}/steps/fetch")
    )
    assert re.search(r'Changed by vary 1: \{"args": \{"model": "small"\}\}', words)
    assert "hand" in words
    assert "no step 'fetsh'; did you mean" in said(read(f"/executions/{id_}/steps/fetsh", 404))


def test_texts_of_users_are_only_text(hand, read):
    id_ = hand.submit(STEPS, input={"customer": HOSTILE})
    hand.fail(HOSTILE * 30)
    for path in ("", "/attempts", "/steps/fetch", "/data", "/steps"):
        assert HOSTILE not in read(f"/executions/{id_}{path}")


def test_evidence_is_folded(hand, read):
    id_ = hand.submit(STEPS)
    facts = {
        "exception": "ConnectionError",
        "message": "m" * 100_000,
        "traceback": "Traceback:\n deep",
        "stderr_tail": "oh",
    }
    hand._post("report", [report_on(hand.take(), {"status": "failed", "facts": facts})])
    page = read(f"/executions/{id_}/steps/fetch")
    assert {"stderr", "Traceback"} <= set(re.findall(r"<summary>(\w+)", page))
    assert len(page) < 300_000
    assert len(read(f"/executions/{id_}")) < 60_000


def test_attempts_are_listed_the_newest_first_and_page_by_page(hand, read):
    source = "name: x\nworkflow: [{step: a, type: python, task: t, retry: {max_attempts: unlimited, backoff: none}}]"
    id_ = hand.submit(source)
    for n in range(60):
        hand.fail(f"failure number {n + 1}")
    newest = read(f"/executions/{id_}/attempts")
    numbers = [int(n) for n in re.findall(r"failure number (\d+)", said(newest))]
    assert numbers == list(range(60, 10, -1))
    [older] = [link for link in links(newest) if "before=" in link]
    assert [int(n) for n in re.findall(r"failure number (\d+)", said(read(older)))] == list(range(10, 0, -1))
    of_step = said(read(f"/executions/{id_}/steps/a?before=11"))
    assert re.findall(r"failure number (\d+)", of_step)[-1] == "1"


def test_the_data_are_shown_downloaded_and_written_as_commands(server, hand, read):
    id_ = hand.submit(STEPS, input={"customer": "it's"})
    words = said(read(f"/executions/{id_}/data"))
    assert '"customer": "it\'s"' in words
    assert f"tenax show {id_} --server {server.url}" in words
    with server.http() as http:
        answer = http.get(f"/executions/{id_}.json")
        as_api = http.get(f"/v1/executions/{id_}").json()
    assert answer.headers["content-disposition"] == f'attachment; filename="execution-{id_}.json"'
    assert {**answer.json(), "now": None} == {**as_api, "now": None}


def test_a_stored_workflow_can_be_submitted_again_by_its_name(server, hand, read):
    with server.http() as http:
        http.post("/v1/workflows", json={"source": STEPS})
        id_ = http.post(
            "/v1/executions", json={"workflow": "sync-orders", "input": {"customer": "it's"}}
        ).json()["id"]
    words = said(read(f"/executions/{id_}/data"))
    assert """tenax submit sync-orders --input 'customer="it'"'"'s"' --server""" in words
    [body] = re.findall(r"""-d '(\{"workflow": .*?\}\})' http""", words)
    assert json.loads(body.replace("""'"'"'""", "'")) == {
        "workflow": "sync-orders",
        "input": {"customer": "it's"},
    }


def test_an_ended_execution_that_is_not_stored_can_be_run_again(hand, read):
    id_ = hand.submit()
    assert "--new" not in said(read(f"/executions/{id_}/data"))
    hand.succeed({"rows": 3})
    words = said(read(f"/executions/{id_}/data"))
    assert '"rows": 3' in words
    assert f"tenax retry {id_} --new" in words


def test_the_failed_items_of_a_fan_out_are_one_click_away(hand, read):
    id_ = hand.submit(FAN_OUT % list(range(120)))
    for n in range(60):
        hand.fail() if n % 20 == 3 else hand.succeed({"n": n})
    overview = read(f"/executions/{id_}")
    assert f"/executions/{id_}/steps/render/items/3" in links(overview)
    step = read(f"/executions/{id_}/steps/render")
    failed = f"/executions/{id_}/steps/render/items?state=failed"
    assert failed in links(step)
    words = said(read(failed))
    assert words.count("connection reset by peer") == 3
    item = said(read(f"/executions/{id_}/steps/render/items/3"))
    assert "Item 3 of step render failed" in item
    assert "Not retried: max_attempts counted attempts are used up" in item
    assert "has no item 400" in said(read(f"/executions/{id_}/steps/render/items/400", 404))


def test_items_are_read_page_by_page(hand, read):
    id_ = hand.submit(FAN_OUT % list(range(120)))
    first = read(f"/executions/{id_}/steps/render/items")
    [following] = [link for link in links(first) if "after=49" in link]
    assert f"/executions/{id_}/steps/render/items/50" in links(read(following))
    assert "No item fits" in said(read(f"/executions/{id_}/steps/render/items?state=failed"))
    assert "is one item" in said(read(f"/executions/{hand.submit()}/steps/fetch/items", 409))


def test_a_child_and_its_parent_lead_to_each_other(hand, read):
    child = "name: small\nworkflow: [{step: a, type: python, task: t}]\n"
    parent = "name: big\nbudget: {cost_usd: 2}\nworkflow: [{step: run, type: workflow, file: small.yaml}]\n"
    id_ = hand.submit(parent, files={"small.yaml": child})
    hand.succeed({"rows": 1})
    page = read(f"/executions/{id_}")
    assert "tx-budget-bar" in page
    [other] = {int(one) for one in re.findall(r'href="/executions/(\d+)"', page)} - {id_}
    family = said(page).partition("Children")[2]
    assert f"small {other}" in family
    assert {f"/executions/{id_}", f"/executions/{id_}/steps/run"} <= links(read(f"/executions/{other}"))
    assert f"/executions/{other}" in links(read(f"/executions/{id_}/steps/run"))


def test_a_compensation_shows_its_state_and_attempts(hand, read):
    undo = "{type: python, task: undo}"
    steps = f"[{{step: book, type: python, task: t, compensate: {undo}}}, {{step: pay, type: python, task: t, needs: [book]}}]"
    id_ = hand.submit(f"name: trip\nworkflow: {steps}\n")
    hand.succeed("booked")
    hand.fail("no money")
    assert "compensation running" in said(read(f"/executions/{id_}"))
    hand.succeed("undone")
    page = read(f"/executions/{id_}/steps/book")
    assert "Compensation completed" in said(page)
    assert 'id="compensation"' in page
    assert "book compensation 1 succeeded" in said(read(f"/executions/{id_}/attempts"))
    link = f"/executions/{id_}/steps/book#compensation"
    assert link in links(read(f"/executions/{id_}/attempts"))


def test_a_paused_execution_names_who_paused_it(server, hand, read):
    id_ = hand.submit()
    with server.http() as http:
        http.post(f"/v1/executions/{id_}/pause", json={"reason": "wait for the bank"})
    for path in ("", "/attempts"):
        assert "wait for the bank" in said(read(f"/executions/{id_}{path}"))


def test_many_steps_are_bounded_and_found_by_their_state(hand, read):
    steps = [{"step": f"s{n}", "type": "python", "task": "t"} for n in range(1200)]
    id_ = hand.submit(json.dumps({"name": "wide", "workflow": steps}))
    hand.fail("boom")
    page = read(f"/executions/{id_}")
    assert len(page) < 300_000
    assert "30 of 1,200 steps" in said(page)
    [failed] = [link for link in links(page) if link.endswith("steps?state=failed")]
    assert "boom" in said(read(failed))
    cancelled = read(f"/executions/{id_}/steps?state=cancelled")
    [following] = [link for link in links(cancelled) if "after=100" in link]
    assert "101 to 200 of 1,19" in said(read(following))


def test_a_viewer_sees_no_buttons(tokens):
    server, secrets = tokens
    with server.http(secrets["operator"]) as http:
        id_ = http.post("/v1/executions", json={"source": STEPS}).json()["id"]
        assert "/cancel" in http.get(f"/executions/{id_}").text
    with server.http(secrets["viewer"]) as http:
        answer = http.get(f"/executions/{id_}")
    assert answer.status_code == 200
    assert "/cancel" not in answer.text
