"""Lists the commands. Each is imported only when it is called, so that `tenax --help` is quick."""

from __future__ import annotations

from cyclopts import App, Group, Parameter

from tenax import __version__

app = App(
    name="tenax",
    help="Durable workflows and tasks on PostgreSQL, whose heart is the retry.",
    version=f"tenax {__version__}",
    help_format="plaintext",
    help_epilogue="Exit codes: 0 success; 1 the execution failed, history breaks a law, or an alert fires; 2 wrong usage or an invalid file; 3 cannot reach a server or database.",
    default_parameter=Parameter(negative=(), show_default=False),
    suppress_keyboard_interrupt=False,
)

app["--help"].group = app["--version"].group = Group("Flags", sort_key=7)

_RUN = Group("Run", sort_key=1)
_EXECUTIONS = Group("Executions", sort_key=2)
_DEFINITIONS = Group("Definitions and policies", sort_key=3)
_FLEET = Group("Workers and queues", sort_key=4)
_METRICS = Group("Metrics", sort_key=5)
_ADMINISTRATION = Group("Administration", sort_key=6)

_COMMANDS: tuple[tuple[str, str, Group, str], ...] = (
    ("run", "executions.run:run", _RUN, "Run a workflow in this process, and show its progress."),
    ("up", "fleet.serve:up", _RUN, "Start a server and workers, and keep them running."),
    ("server", "fleet.serve:server", _RUN, "Start a server."),
    ("worker", "fleet.serve:worker", _RUN, "Start a worker."),
    (
        "submit",
        "executions.submit:submit",
        _EXECUTIONS,
        "Start an execution of a workflow, or many, and return at once.",
    ),
    ("list", "executions.list_executions:list_", _EXECUTIONS, "List executions, the newest first."),
    (
        "show",
        "executions.show:show",
        _EXECUTIONS,
        "Show an execution with its steps, their attempts and its result.",
    ),
    ("timeline", "executions.timeline_file:timeline", _EXECUTIONS, "Draw an execution over time as SVG."),
    ("events", "executions.history:events", _EXECUTIONS, "Print the events of an execution."),
    (
        "explain",
        "executions.history:explain",
        _EXECUTIONS,
        "Explain why something waits, was retried, failed or gets no work.",
    ),
    (
        "logs",
        "executions.attempt_logs:logs",
        _EXECUTIONS,
        "Print what the attempts of an execution have printed.",
    ),
    ("items", "executions.items:items", _EXECUTIONS, "List the items of a step's fan-out."),
    ("signal", "executions.waits:signal", _EXECUTIONS, "Send a signal to an execution."),
    ("approve", "executions.waits:approve", _EXECUTIONS, "Approve a step that waits for an approval."),
    (
        "reject",
        "executions.waits:reject",
        _EXECUTIONS,
        "Reject a step that waits for an approval, so that it fails.",
    ),
    (
        "pause",
        "operate.control:pause",
        _EXECUTIONS,
        "Pause an execution: it starts no more work until it is resumed.",
    ),
    ("resume", "operate.control:resume", _EXECUTIONS, "Resume a paused execution."),
    ("cancel", "operate.control:cancel", _EXECUTIONS, "End an execution."),
    (
        "retry",
        "operate.actions:retry",
        _EXECUTIONS,
        "Run waiting retries now, or a failed execution again.",
    ),
    ("reset", "operate.actions:reset", _EXECUTIONS, "Count attempts from 0 again."),
    ("resolve", "operate.actions:resolve", _EXECUTIONS, "Mark a step as done by hand."),
    ("complete", "operate.actions:complete", _EXECUTIONS, "Complete a step with a result."),
    ("fail", "operate.actions:fail", _EXECUTIONS, "Fail a step without a retry."),
    (
        "reschedule",
        "operate.actions:reschedule",
        _EXECUTIONS,
        "Give waiting retries another policy.",
    ),
    ("validate", "definitions.validate:validate", _DEFINITIONS, "Check a workflow file."),
    (
        "lint",
        "definitions.lint:lint",
        _DEFINITIONS,
        "Find likely mistakes in workflow files that are valid.",
    ),
    (
        "import",
        "definitions.import_files:import_files",
        _DEFINITIONS,
        "Translate files of other systems into workflow files.",
    ),
    (
        "schema",
        "definitions.schema:schema",
        _DEFINITIONS,
        "Print the JSON Schema of workflow files, or of action files, for editors.",
    ),
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
        "Print what a policy would decide about an outcome.",
    ),
    (
        "store",
        "definitions.stored:store",
        _DEFINITIONS,
        "Store a workflow file, so that it can be started by name.",
    ),
    ("top", "metrics.top:top", _METRICS, "Show throughput, retries, queues, workers and failures live."),
    (
        "stats",
        "metrics.stats:stats",
        _METRICS,
        "Show how often retries succeeded, and the time that they cost.",
    ),
    ("alerts", "metrics.alerts:alerts", _METRICS, "Show the alerts. Exit code 1 if one of them fires."),
    ("monitoring", "metrics.monitoring:monitoring", _METRICS, "Print a file for Prometheus or Grafana."),
    (
        "audit",
        "admin.audit:audit",
        _ADMINISTRATION,
        "List who did what, to what, when and why.",
    ),
    (
        "verify",
        "admin.verify:verify",
        _ADMINISTRATION,
        "Check the recorded history against all laws.",
    ),
    ("version", "admin.version:version", _ADMINISTRATION, "Print the version."),
)

for _name, _where, _group, _help in _COMMANDS:
    app.command(f"tenax.cli.commands.{_where}", name=_name, group=_group, help=_help)
# Each of the groups below is an App with subcommands.
app.command(
    "tenax.cli.commands.operate.dead_letters:dead_letters",
    name="dead-letters",
    group=_EXECUTIONS,
    help="List work that has failed for good, or show, redrive or discard it.",
)
app.command(
    "tenax.cli.commands.executions.agents:agent",
    name="agent",
    group=_EXECUTIONS,
    help="Run an AgentTask file, or print the status of an agent.",
)
app.command(
    "tenax.cli.commands.operate.filters:filters",
    name="filters",
    group=_EXECUTIONS,
    help="List the saved filters, or save or remove one.",
)
app.command(
    "tenax.cli.commands.operate.schedules:schedules",
    name="schedules",
    group=_EXECUTIONS,
    help="List schedules, or show, create, pause, resume, run or delete one.",
)
app.command(
    "tenax.cli.commands.operate.bulk:bulk",
    name="bulk",
    group=_EXECUTIONS,
    help="Act on all executions that a filter selects, or look after such jobs.",
)
app.command(
    "tenax.cli.commands.definitions.packs:pack",
    name="pack",
    group=_DEFINITIONS,
    help="Install packs of actions, or list, show or remove them.",
)
app.command(
    "tenax.cli.commands.definitions.pack_actions:action",
    name="action",
    group=_DEFINITIONS,
    help="List or show the actions of packs, or run one.",
)
app.command(
    "tenax.cli.commands.fleet.workers:workers",
    name="workers",
    group=_FLEET,
    help="List workers, or show, pause, drain, resume or release one.",
)
app.command(
    "tenax.cli.commands.fleet.queues:queues",
    name="queues",
    group=_FLEET,
    help="List queues, or limit, pause or resume one.",
)
app.command(
    "tenax.cli.commands.definitions.stored:workflows",
    name="workflows",
    group=_DEFINITIONS,
    help="List the stored workflows, or pause or resume one.",
)
app.command(
    "tenax.cli.commands.admin.db:db",
    name="db",
    group=_ADMINISTRATION,
    help="Migrate the database, or print its status or URL.",
)
app.command(
    "tenax.cli.commands.admin.tokens:token",
    name="token",
    group=_ADMINISTRATION,
    help="Create, list or revoke tokens.",
)

COMMAND_NAMES = (
    *(name for name, *_ in _COMMANDS),
    "dead-letters",
    "agent",
    "filters",
    "schedules",
    "bulk",
    "pack",
    "action",
    "workers",
    "queues",
    "workflows",
    "db",
    "token",
)
