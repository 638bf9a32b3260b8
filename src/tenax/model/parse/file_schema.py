"""Makes the JSON Schemas of workflow files and action files from their declarations, for editors and other tools that check files."""

from __future__ import annotations

import re
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from tenax.model.parse.action_file import ActionFile
from tenax.model.parse.shape import Shape
from tenax.model.parse.workflow_file import WorkflowFile

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class _Generator(GenerateJsonSchema):
    """Leaves out what pydantic adds by itself: null for optional keys, and the titles of the classes."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        if made.get("default", ...) in (None, [], {}, ""):
            del made["default"]
        return made

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 -- pydantic's own method
        return False


def file_schema() -> dict[str, Any]:
    """Returns the schema, in JSON Schema 2020-12. It describes the shape of a file, but cannot describe its graph and templates."""
    return _described(WorkflowFile, "Tenax workflow file")


def action_schema() -> dict[str, Any]:
    """Returns the schema of the action files of packs."""
    return _described(ActionFile, "Tenax action file")


def _described(shape: type[Shape], title: str) -> dict[str, Any]:
    made = shape.model_json_schema(schema_generator=_Generator)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **_without_links(made),
    }


def _without_links(schema: Any) -> Any:
    """Removes links from descriptions. They lead to pages of the docs, which an editor cannot open."""
    if isinstance(schema, list):
        return [_without_links(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _without_links(part) for key, part in schema.items()}
    if isinstance(plain.get("title"), str):
        del plain["title"]
    if isinstance(plain.get("description"), str):
        plain["description"] = _LINK.sub(r"\1", plain["description"])
    return plain
