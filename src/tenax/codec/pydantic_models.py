"""Encodes and rebuilds pydantic models. It never imports pydantic: a model brings its own methods."""

from __future__ import annotations

from typing import Any, TypeGuard

import orjson


def is_model(kind: object) -> TypeGuard[type]:
    """Returns whether a type is a pydantic model (of pydantic 2)."""
    return isinstance(kind, type) and hasattr(kind, "__pydantic_validator__") and hasattr(kind, "model_dump")


def dump_model(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True)


def load_model(kind: Any, value: Any) -> Any:
    """Rebuilds a model from JSON. Raises `ModelMisfit` for the first mistake."""
    try:
        return kind.model_validate_json(orjson.dumps(value))
    except ValueError as error:  # the ValidationError of pydantic is one
        raise ModelMisfit(error) from error


class ModelMisfit(ValueError):
    """A value does not fit a model. Holds the place below the model, and pydantic's message."""

    def __init__(self, error: ValueError) -> None:
        first: Any = next(iter(getattr(error, "errors", list)()), {})
        self.place = "".join(
            f"[{key}]" if isinstance(key, int) else f".{key}" for key in first.get("loc", ())
        )
        super().__init__(first.get("msg") or str(error))
