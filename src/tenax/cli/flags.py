"""Defines the flags that many commands share."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from tenax.credentials.passwords import without_password
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.settings import Settings

_WHERE = Group("Where", sort_key=90)

Json = Annotated[bool, Parameter(help="One JSON document on stdout.")]
"""The flag `--json`. Every command that shows something has it: `json: Json = False`."""
ExecutionId = Annotated[int, Parameter(name="ID", help="The number of an execution.")]
Inputs = Annotated[
    tuple[str, ...],
    Parameter(
        name="--input", help="One input as NAME=VALUE; VALUE is JSON if it parses, else text. Repeatable."
    ),
]
"""The flag `--input`: `inputs: Inputs = ()`. `tenax.cli.input.inputs.parse_inputs` reads its values."""

FilterText = Annotated[
    str,
    Parameter(
        name="--filter",
        help="A filter, such as 'status=failed workflow=sync-* since=2h', or @NAME for a saved one.",
    ),
]
"""The flag `--filter`. `tenax.cli.input.filters.check_filter` checks its value before anything is asked."""

Database = Annotated[
    str | None,
    Parameter(help="The URL of a PostgreSQL database; without it, the embedded one. [TENAX_DATABASE_URL]"),
]
Home = Annotated[str | None, Parameter(help="The folder of the embedded database. [TENAX_HOME]")]


@Parameter(name="*", group=_WHERE)
@dataclass(frozen=True, slots=True)
class DatabaseFlags:
    """Selects the database."""

    database: Database = None
    home: Home = None

    def settings(self) -> Settings:
        from tenax.settings import load_settings

        return load_settings({"database_url": self.database, "home": self.home})

    def command(self, *words: object) -> str:
        """Returns a command of `tenax` to be pasted. It has the same server and database as the command that prints it."""
        return _command(words, database=self.database, home=self.home)


@Parameter(name="*", group=_WHERE)
@dataclass(frozen=True, slots=True)
class TargetFlags:
    """Selects the server, or the database if no server is named."""

    server: Annotated[
        str | None,
        Parameter(help="The URL of a Tenax server; without it, the database itself. [TENAX_SERVER]"),
    ] = None
    token: Annotated[str | None, Parameter(help="The token to show to the server. [TENAX_TOKEN]")] = None
    database: Database = None
    home: Home = None

    def settings(self) -> Settings:
        """Returns the settings with these flags. `--database` overrides a server named in a setting."""
        from tenax.settings import load_settings

        if self.server and self.database:
            raise UsageError("--server and --database exclude each other", remedy="name one of them")
        settings = load_settings(
            {"server": self.server, "token": self.token, "database_url": self.database, "home": self.home}
        )
        return settings.model_copy(update={"server": None}) if self.database else settings

    def command(self, *words: object) -> str:
        """Returns a command of `tenax` to be pasted. It has the same server and database as the command that prints it."""
        return _command(words, server=self.server, database=self.database, home=self.home)


def worker_command(where: TargetFlags, *words: object) -> str:
    """Returns a `tenax worker` command for the server of another command. A worker takes no database."""
    return _command(("worker", *words), server=where.server)


def _command(words: Iterable[object], **given: str | None) -> str:
    """Returns a command with the given flags, without passwords: the database refuses a pasted command then. Settings of
    the environment or a file apply to the next command too."""
    flags = [
        part for name, value in given.items() if value for part in (f"--{name}", without_password(value))
    ]
    return shlex.join(["tenax", *map(str, words), *flags])


DEFAULT_TARGET = TargetFlags()
"""The default of a command's target: no flag was given."""
DEFAULT_DATABASE = DatabaseFlags()
