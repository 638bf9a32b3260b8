"""The description of the API (OpenAPI), made from the adapters that read and write its bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from tenax.server.auth import is_public
from tenax.server.problems import MEDIA_TYPE
from tenax.server.schema.responses import PROBLEM

_REFERENCE = "#/components/schemas/{model}"
_definitions: dict[str, Any] = {}


def described(
    answer: TypeAdapter[Any] | None,
    *,
    body: TypeAdapter[Any] | None = None,
    media_types: Sequence[str] = ("application/json",),
    optional: bool = False,
    status: int = 200,
) -> dict[str, Any]:
    """The arguments of a route that say what it takes and gives. `optional`: it may be called without a body."""
    given: dict[str, Any] = {"description": "Done"}
    if answer is not None:
        given["content"] = {"application/json": {"schema": _schema(answer, "serialization")}}
    problem = {
        "description": "A problem",
        "content": {MEDIA_TYPE: {"schema": _schema(PROBLEM, "serialization")}},
    }
    route: dict[str, Any] = {"status_code": status, "responses": {status: given, "default": problem}}
    if body is not None:
        content = {media_type: {"schema": _schema(body, "validation")} for media_type in media_types}
        route["openapi_extra"] = {"requestBody": {"required": not optional, "content": content}}
    return route


def describe(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        components = schema.setdefault("components", {})
        components["schemas"] = {**components.get("schemas", {}), **_definitions}
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, operations in schema["paths"].items():
            for operation in operations.values():
                operation["security"] = [] if is_public(path) else [{"token": []}]
        app.openapi_schema = schema
    return app.openapi_schema


def _schema(adapter: TypeAdapter[Any], mode: Any) -> dict[str, Any]:
    schema = adapter.json_schema(mode=mode, ref_template=_REFERENCE)
    _definitions.update(schema.pop("$defs", {}))
    title = schema.get("title")
    if schema.get("type") != "object" or title is None:
        return schema
    _definitions[title] = schema
    return {"$ref": _REFERENCE.format(model=title)}
