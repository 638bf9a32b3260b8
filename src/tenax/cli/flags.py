"""Flags that many commands share."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

from cyclopts import Group, Parameter

from tenax.errors import UsageError
from tenax.settings import Settings, load_settings

_WHERE = Group("Where", sort_key=90)

Json = Annotated[bool, Parameter(help="One JSON document on stdout.")]
"""`json: Json = False`: every command that shows something has it."""
ExecutionId = Annotated[int, Parameter(name="ID", help="The number of an execution.")]
Inputs = Annotated[
    tuple[str, ...],
    Parameter(
        name="--input", help="One input as NAME=VALUE; VALUE is JSON if it parses, else text. Repeatable."
    ),
]
"""`inputs: Inputs = ()`, to be read by `tenax.cli.input.inputs.parse_inputs`."""

Database = Annotated[
    str | None, Parameter(help="The URL of a PostgreSQL; none: the embedded one. [TENAX_DATABASE_URL]")
]
Home = Annotated[str | None, Parameter(help="The folder of the embedded database. [TENAX_HOME]")]


@Parameter(name="*", group=_WHERE)
@dataclass(frozen=True, slots=True)
class DatabaseFlags:
    """Which database."""

    database: Database = None
    home: Home = None

    def settings(self) -> Settings:
        return load_settings({"database_url": self.database, "home": self.home})

    def command(self, *words: object) -> str:
        """A command of `tenax` to be pasted: it goes to the same place as the one that prints it."""
        return _command(words, database=self.database, home=self.home)


@Parameter(name="*", group=_WHERE)
@dataclass(frozen=True, slots=True)
class TargetFlags:
    """Which server, or, where none is named, which database."""

    server: Annotated[
        str | None, Parameter(help="The URL of a Tenax server; none: the database itself. [TENAX_SERVER]")
    ] = None
    token: Annotated[str | None, Parameter(help="The token to show to the server. [TENAX_TOKEN]")] = None
    database: Database = None
    home: Home = None

    def settings(self) -> Settings:
        """The settings with these flags. `--database` beats a server named elsewhere: it is the nearer wanted."""
        if self.server and self.database:
            raise UsageError("--server and --database exclude each other", remedy="name one of them")
        settings = load_settings(
            {"server": self.server, "token": self.token, "database_url": self.database, "home": self.home}
        )
        return replace(settings, server=None) if self.database else settings

    def command(self, *words: object) -> str:
        """A command of `tenax` to be pasted: it goes to the same place as the one that prints it."""
        return _command(words, server=self.server, database=self.database, home=self.home)


def worker_command(where: TargetFlags, *words: object) -> str:
    """`tenax worker` for the server of another command. It knows servers only, never their database."""
    return _command(("worker", *words), server=where.server)


def _command(words: Iterable[object], **given: str | None) -> str:
    """Only flags of the command line are repeated: what the environment or a file says holds for the next command too."""
    flags = [
        part for name, value in given.items() if value for part in (f"--{name}", _without_password(value))
    ]
    return shlex.join(["tenax", *map(str, words), *flags])


def _without_password(value: str) -> str:
    """What is printed may be kept in a log. Pasted as it is, the command is refused; it does not go elsewhere."""
    hidden = re.sub(r"(://[^/@:]*):[^/@]*@", r"\1:***@", value)
    return re.sub(r"([?&]password=)[^&]*", r"\1***", hidden)


DEFAULT_TARGET = TargetFlags()
"""The default of `where: TargetFlags`: nothing said on the command line."""
DEFAULT_DATABASE = DatabaseFlags()
