"""`POST /v1/import`: a file of another system becomes workflow files, with a report."""

from __future__ import annotations

ACTION = "ref: core.flaky\nrunner_type: shell\nentry_point: flaky.sh\nmax_retries: 3\ncolour: red\n"


def test_a_file_is_translated_with_its_report(server):
    with server.http() as http:
        answer = http.post("/v1/import", json={"source": ACTION, "filename": "flaky.yaml"})
        assert answer.status_code == 200, answer.text
        [workflow] = answer.json()["workflows"]
        assert (workflow["name"], workflow["system"]) == ("core.flaky", "attune")
        assert "max_attempts: 4" in workflow["text"]
        dropped = [entry for entry in answer.json()["report"] if entry["kind"] == "dropped"]
        assert [(entry["file"], entry["line"], entry["path"]) for entry in dropped] == [
            ("flaky.yaml", 5, "colour")
        ]
        assert http.post("/v1/workflows", json={"source": workflow["text"]}).status_code == 201


def test_a_file_that_cannot_be_read_is_refused_with_its_place(server):
    with server.http() as http:
        answer = http.post("/v1/import", json={"source": "StartsAt: A\nState: {}\n", "filename": "m.yaml"})
        assert answer.status_code == 422
        [error] = answer.json()["errors"]
        assert (error["file"], error["line"]) == ("m.yaml", 1)
        assert "Step Functions" in error["message"]
        wrong = http.post("/v1/import", json={"source": ACTION, "system": "argos"})
        assert wrong.status_code == 400
        assert "did you mean `argo`?" in wrong.json()["title"]


def test_an_import_is_bounded_like_a_definition(server):
    with server.http() as http:
        answer = http.post("/v1/import", json={"source": ACTION + "# padding\n" * 450_000})
        assert answer.status_code == 422
        assert "max_definition" in answer.json()["errors"][0]["message"]
