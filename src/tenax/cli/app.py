"""The table of commands. Each is named by where it is, and imported when it is called: `tenax --help` stays quick."""

from __future__ import annotations

from cyclopts import App, Group, Parameter

from tenax import __version__

app = App(
    name="tenax",
    help="Durable workflows and tasks on PostgreSQL, whose heart is the retry.",
    version=f"tenax {__version__}",
    help_format="plaintext",
    help_epilogue="Exit codes: 0 done; 1 the execution failed, or history breaks a law; 2 wrong usage or an invalid file; 3 cannot reach what it needs.",
    default_parameter=Parameter(negative=(), show_default=False),
    suppress_keyboard_interrupt=False,
)

app["--help"].group = app["--version"].group = Group("Flags", sort_key=6)

_RUN = Group("Run", sort_key=1)
_EXECUTIONS = Group("Executions", sort_key=2)
_DEFINITIONS = Group("Definitions and policies", sort_key=3)
_FLEET = Group("Workers and queues", sort_key=4)
_ADMINISTRATION = Group("Administration", sort_key=5)

_COMMANDS: tuple[tuple[str, str, Group, str], ...] = (
    ("run", "executions.run:run", _RUN, "Run a workflow file here and now, and show how it goes."),
    ("up", "fleet.serve:up", _RUN, "Start a server and workers, and keep them running."),
    ("server", "fleet.serve:server", _RUN, "Start a server."),
    ("worker", "fleet.serve:worker", _RUN, "Start a worker."),
    (
        "submit",
        "executions.submit:submit",
        _EXECUTIONS,
        "Start an execution of a workflow file, and return at once.",
    ),
    ("list", "executions.list_executions:list_", _EXECUTIONS, "List executions, the newest first."),
    (
        "show",
        "executions.show:show",
        _EXECUTIONS,
        "Show an execution: its steps, their attempts, its result.",
    ),
    ("events", "executions.history:events", _EXECUTIONS, "Print the events of an execution."),
    (
        "explain",
        "executions.history:explain",
        _EXECUTIONS,
        "Say in plain English why something was retried, or was not.",
    ),
    ("items", "executions.items:items", _EXECUTIONS, "List the items of a step's fan-out."),
    ("signal", "executions.waits:signal", _EXECUTIONS, "Send a signal to an execution."),
    ("approve", "executions.waits:approve", _EXECUTIONS, "Let a step go on that waits for an approval."),
    ("reject", "executions.waits:reject", _EXECUTIONS, "Refuse a step that waits for an approval: it fails."),
    (
        "pause",
        "executions.control:pause",
        _EXECUTIONS,
        "Let an execution start nothing more, until it is resumed.",
    ),
    ("resume", "executions.control:resume", _EXECUTIONS, "Let a paused execution go on."),
    ("cancel", "executions.control:cancel", _EXECUTIONS, "End an execution."),
    ("retry", "executions.control:retry", _EXECUTIONS, "Run what waits now; run a finished execution again."),
    ("validate", "definitions.validate:validate", _DEFINITIONS, "Check a workflow file."),
    (
        "delays",
        "definitions.delays:delays",
        _DEFINITIONS,
        "Print the attempts and delays of each step's policy.",
    ),
    (
        "graph",
        "definitions.graph:graph",
        _DEFINITIONS,
        "Draw the graph of a workflow file or of an execution.",
    ),
    (
        "decide",
        "definitions.decide:decide",
        _DEFINITIONS,
        "Ask the decision function: what if this failed so, now?",
    ),
    (
        "store",
        "definitions.stored:store",
        _DEFINITIONS,
        "Store a workflow file, for others to start it by its name.",
    ),
    ("workflows", "definitions.stored:workflows", _DEFINITIONS, "List the workflows that are stored."),
    (
        "verify",
        "admin.verify:verify",
        _ADMINISTRATION,
        "Check history: decisions, rows, and every rule they obey.",
    ),
    ("version", "admin.version:version", _ADMINISTRATION, "Print the version."),
)

for _name, _where, _group, _help in _COMMANDS:
    app.command(f"tenax.cli.commands.{_where}", name=_name, group=_group, help=_help)
# The groups below are small Apps of their own.
app.command(
    "tenax.cli.commands.fleet.workers:workers",
    name="workers",
    group=_FLEET,
    help="Workers: list them; show, pause, drain, resume one.",
)
app.command(
    "tenax.cli.commands.fleet.queues:queues",
    name="queues",
    group=_FLEET,
    help="Queues: list them; limit one.",
)
app.command(
    "tenax.cli.commands.admin.db:db",
    name="db",
    group=_ADMINISTRATION,
    help="The database: migrate, status, url.",
)
app.command(
    "tenax.cli.commands.admin.tokens:token",
    name="token",
    group=_ADMINISTRATION,
    help="Tokens: create, list, revoke.",
)

COMMAND_NAMES = (*(name for name, *_ in _COMMANDS), "workers", "queues", "db", "token")
