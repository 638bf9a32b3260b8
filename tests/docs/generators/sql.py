"""The tables of docs/sql.md, from the comments in sql/schema.sql and the published columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files

from generators.ops_columns import COLUMNS
from generators.tables import code, table

_COMMENT = re.compile(r"comment on (view|column|function) ops\.(.+?) is '((?:[^']|'')*)';")


def comments(kind: str) -> dict[str, str]:
    """Returns the comments on all views, columns or functions of the schema, by name."""
    schema = files("tenax").joinpath("sql", "schema.sql").read_text("utf-8")
    return {name: text.replace("''", "'") for found, name, text in _COMMENT.findall(schema) if found == kind}


def columns(view: str) -> str:
    """Builds a view's table. A column without a comment fails."""
    told = comments("column")
    return table(
        ("column", "type", "meaning"),
        [(code(name), type_, told[f"{view}.{name}"]) for name, type_ in COLUMNS[view].items()],
    )


def views() -> str:
    told = comments("view")
    return table(
        ("view", "what it shows"), [(f"[`{name}`](#{name})", told[name]) for name in sorted(COLUMNS)]
    )


def functions() -> str:
    return table(
        ("function", "what it tells"), [(code(name), text) for name, text in comments("function").items()]
    )


BLOCKS: Mapping[str, Callable[[], str]] = {
    "ops-views": views,
    "ops-functions": functions,
    **{f"ops-{name.replace('_', '-')}": partial(columns, name) for name in COLUMNS},
}
