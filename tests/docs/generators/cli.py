"""Makes tables of what people and programs call: commands, settings, routes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

from cyclopts import App
from fastapi import FastAPI

from generators.tables import code, codes, table
from tenax.cli.app import COMMAND_NAMES, app
from tenax.server.app import API
from tenax.server.schema.openapi import describe
from tenax.settings.docs import describe_settings
from tenax.store.fleet.tokens import Role
from tenax.web.auth import CALLBACKS, is_allowed, is_public_path

GROUPS = (
    "dead-letters",
    "agent",
    "filters",
    "bulk",
    "pack",
    "action",
    "workers",
    "queues",
    "db",
    "token",
)
_WHERE = ("--server", "--token", "--database", "--home")
_VARIABLE = re.compile(r"\[(TENAX_[A-Z_]+)")


def _commands() -> Iterator[tuple[str, App]]:
    for name in COMMAND_NAMES:
        if name not in GROUPS:
            yield name, app[name]
            continue
        if app[name].default_command is not None:
            yield name, app[name]
        for below in app[name]:
            if not below.startswith("-"):
                yield f"{name} {below}", app[name][below]


def commands() -> str:
    return "\n\n".join(_described(name, command) for name, command in _commands())


def _described(name: str, command: App) -> str:
    rows, where = [], []
    usage = [f"tenax {name}"]
    for argument in command.assemble_argument_collection():
        if not argument.show:
            continue
        if argument.name in _WHERE and name != "worker":
            where.append(argument.name)
            continue
        if not argument.name.startswith("-"):
            usage.append(_placed(argument))
        rows.append((code(argument.name), _words(argument)))
    words = getattr(command.default_command, "__doc__", None) if name in GROUPS else command.help
    lines = [f"### `{' '.join(usage)}`", "", str(words).splitlines()[0]]
    if rows:
        lines += ["", table(("argument or option", ""), rows)]
    if where:
        lines += ["", f"Where: {codes(where)}."]
    return "\n".join(lines)


def _placed(argument: Any) -> str:
    many = "..." if argument.field_info.kind.name == "VAR_POSITIONAL" else ""
    return f"{argument.name}{many}" if argument.required else f"[{argument.name}{many}]"


def _words(argument: Any) -> str:
    choices = argument.get_choices()
    words = str(argument.parameter.help)
    if choices:
        words += f" One of {codes(choices)}."
    return f"{words} **Required.**" if argument.required else words


def settings() -> str:
    flags = _flags()
    rows = [
        (code(s.name), code(s.variable), codes(flags.get(s.variable, ()), none=""), s.default, s.doc)
        for s in describe_settings()
    ]
    return table(("in `tenax.toml`", "variable", "option", "default", "meaning"), rows)


def _flags() -> dict[str, list[str]]:
    """Returns the options that set a setting. They name its variable in their help."""
    found: dict[str, list[str]] = {}
    for _, command in _commands():
        for argument in command.assemble_argument_collection():
            if match := _VARIABLE.search(str(argument.parameter.help)):
                known = found.setdefault(match[1], [])
                if argument.name not in known:
                    known.append(argument.name)
    return found


def routes() -> str:
    """Returns the routes as `/openapi.json` describes them."""
    api = FastAPI()
    for module in API:
        api.include_router(module.router)
    rows = []
    for path, operations in describe(api)["paths"].items():
        for method, operation in operations.items():
            words = f"{operation['summary']}. {operation['description']}"
            rows.append((code(f"{method.upper()} {path}"), _roles(method.upper(), path), words))
    return table(("route", "roles", ""), rows)


def _roles(method: str, path: str) -> str:
    if path.startswith(CALLBACKS):
        return "whoever has the receipt, without a token"
    if is_public_path(path):
        return "anyone, without a token"
    return ", ".join(role for role in get_args(Role) if is_allowed(role, method, path))


BLOCKS = {"commands": commands, "settings": settings, "routes": routes}
