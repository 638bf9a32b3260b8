"""`POST /v1/lint`: a workflow file is looked over, and nothing is stored."""

from __future__ import annotations

WRONG = "name: a\nworkflow:\n  - {step: b, type: http, url: 'http://a.test', retry: {retryable: false, max_attempts: 5}}\n"


def test_findings_are_answered(server):
    with server.http() as http:
        answer = http.post("/v1/lint", json={"source": WRONG, "filename": "a.yaml"})
        assert answer.status_code == 200, answer.text
        report = answer.json()
        assert (report["errors"], report["warnings"]) == (1, 0)
        [found] = report["findings"]
        assert (found["code"], found["file"], found["line"]) == ("TX101", "a.yaml", 3)
        assert http.get("/v1/workflows").json() == []


def test_an_invalid_file_has_its_errors(server):
    with server.http() as http:
        report = http.post("/v1/lint", json={"source": "name: a\nworkflow: []\n"}).json()
        assert {one["code"] for one in report["findings"]} == {"TX000"}


def test_a_lint_is_bounded_like_a_definition(server):
    with server.http() as http:
        answer = http.post("/v1/lint", json={"source": WRONG + "# padding\n" * 450_000})
        assert answer.status_code == 422
        assert "max_definition" in answer.json()["errors"][0]["message"]
