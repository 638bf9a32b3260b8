"""Tests that the API does what its description says, for requests that schemathesis generates."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from support.profiles import examples

EXAMPLES = 12
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# Revoking the token that the test itself shows would end the test, not the server.
EXCLUDED = {"/v1/tokens/{token_id}/revoke"}


@schemathesis.serializer("application/x-tar")
def as_it_is(_context: Any, value: Any) -> bytes:
    """The archive of a pack: any bytes."""
    return value.encode("utf-8", "replace") if isinstance(value, str) else bytes(value)


def in_a_hurry(case: Any) -> None:
    """The same requests, but none that parks. A wait that is wrong stays as it is."""
    if case.operation.path.endswith("/lease") and isinstance(case.body, dict):
        case.body.setdefault("wait", 0)
    for part in (case.body, case.query):
        if isinstance(part, dict) and isinstance(part.get("wait"), int | float) and 0 < part["wait"] <= 60:
            part["wait"] = 0


def can_be_wrong(operation: Any) -> bool:
    return bool(list(operation.iter_parameters()) or len(operation.body))


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_the_api_is_as_it_is_described(server, mode: GenerationMode) -> None:
    token = server.token("admin")
    headers = {"authorization": f"Bearer {token}"}
    with server.http(token) as http:
        http.post(
            "/v1/executions", json={"source": "name: x\nworkflow: [{step: a, type: python, task: t}]\n"}
        )
        schema = schemathesis.openapi.from_dict(http.get("/openapi.json").json())
    tried = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path in EXCLUDED or (mode is GenerationMode.NEGATIVE and not can_be_wrong(operation)):
            continue

        @settings(
            max_examples=examples(EXAMPLES),
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def try_operation(case: Any) -> None:
            nonlocal tried
            in_a_hurry(case)
            answer = case.call(base_url=server.url, headers=headers)
            case.validate_response(answer, checks=CHECKS, headers=headers)
            tried += 1

        try_operation()
    assert tried > 100
