"""Describes the API (OpenAPI). FastAPI describes the routes, and msgspec the bodies of requests and answers."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from tenax.server.problems import MEDIA_TYPE
from tenax.server.schema.body import Body
from tenax.server.schema.responses import Problem
from tenax.web.auth import is_public_path

_TYPE = "x-tenax-type"
"""The key that marks where a schema belongs. Its value is the number of the type, until all types are described together."""
_types: list[Any] = []
_BYTES = {"type": "string", "format": "binary"}


def described(
    answer: Any,
    *,
    body: Body[Any] | None = None,
    media_types: Sequence[str] = ("application/json",),
    raw: str | None = None,
    raw_answer: str | None = None,
    optional: bool = False,
    status: int = 200,
) -> dict[str, Any]:
    """Returns the arguments of a route that describe its body and its answer. `optional` allows a request without a body.

    `raw` is the media type of a body of bytes, and `raw_answer` that of such an answer.
    """
    given: dict[str, Any] = {"description": "Done"}
    if answer is not None:
        given["content"] = _content(answer)
    if raw_answer is not None:
        given["content"] = {raw_answer: {"schema": _BYTES}}
    problem = {"description": "A problem", "content": _content(Problem, MEDIA_TYPE)}
    route: dict[str, Any] = {"status_code": status, "responses": {status: given, "default": problem}}
    if body is not None:
        route["openapi_extra"] = {
            "requestBody": {"required": not optional, "content": _content(body.type, *media_types)}
        }
    if raw is not None:
        route["openapi_extra"] = {"requestBody": {"required": True, "content": {raw: {"schema": _BYTES}}}}
    return route


def describe(app: FastAPI) -> dict[str, Any]:
    """Returns the description of the app. It is built at the first call."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        components = schema.setdefault("components", {})
        components["schemas"] = {**components.get("schemas", {}), **_fill_in(schema)}
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, operations in schema["paths"].items():
            for operation in operations.values():
                operation["security"] = [] if is_public_path(path) else [{"token": []}]
                operation.update(_words(operation["description"]))
        app.openapi_schema = schema
    return app.openapi_schema


def _words(docstring: str) -> dict[str, str]:
    """Returns the summary and the description of an operation, from the docstring of its route."""
    summary, _, description = docstring.partition("\n\n")
    return {
        "summary": " ".join(summary.split()).removesuffix("."),
        "description": " ".join(description.split()),
    }


def _content(type_: Any, *media_types: str) -> dict[str, Any]:
    _types.append(type_)
    mark = {_TYPE: len(_types) - 1}
    return {media_type: {"schema": mark} for media_type in media_types or ("application/json",)}


def _fill_in(schema: dict[str, Any]) -> dict[str, Any]:
    """Puts the schemas in their places. Returns by name the schemas to which several places refer."""
    places = list(_places(schema["paths"]))
    schemas, components = msgspec.json.schema_components(
        [_types[place["schema"][_TYPE]] for place in places], ref_template="#/components/schemas/{name}"
    )
    for place, found in zip(places, schemas, strict=True):
        place["schema"] = found
    for one in components.values():
        if "description" in one:
            one["description"] = cleandoc(one["description"])
    return components


def _places(part: Any) -> list[dict[str, Any]]:
    """Returns the media types whose schemas are still marks."""
    if not isinstance(part, dict):
        return []
    if isinstance(part.get("schema"), dict) and _TYPE in part["schema"]:
        return [part]
    return [place for one in part.values() for place in _places(one)]
