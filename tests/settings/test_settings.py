"""Tests settings: their sources, their order, and the messages about wrong values."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

import pytest

from tenax.errors import Unreachable, UsageError
from tenax.model.definition.types import RUNTIMES
from tenax.model.durations import parse_duration
from tenax.model.fleet.health import HealthTerms
from tenax.settings import Settings, load_settings
from tenax.settings.checks import mistyped_variables
from tenax.settings.docs import describe_settings

NAMES = [row.name for row in describe_settings()]


def load(
    tmp_path: Path, *, env=None, flags=None, near: str | None = None, far: str | None = None
) -> Settings:
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    if near is not None:
        (folder / "tenax.toml").write_text(near)
    if far is not None:
        (home / "tenax.toml").write_text(far)
    return load_settings(flags, env={"TENAX_HOME": str(home), **(env or {})}, cwd=folder)


def test_the_defaults(tmp_path):
    settings = load(tmp_path)
    assert (settings.host, settings.port) == ("127.0.0.1", 8520)
    assert (settings.lease, settings.heartbeat, settings.timeout_grace) == (30.0, 10.0, 1.0)
    assert (settings.max_body, settings.sweep, settings.drain) == (16_000_000, 30.0, 30.0)
    assert (settings.workers, settings.slots, settings.queues, dict(settings.labels)) == (
        2,
        10,
        ("default",),
        {},
    )
    assert settings.retries_enabled is True
    assert settings.retry is settings.database_url is settings.server is settings.token is None
    assert settings.callback_url is None
    assert settings.worker_wait is settings.unhealthy_silence is None
    assert (settings.poison_after, settings.drain_after, settings.max_hold) == (3, 5, 86_400.0)
    assert dict(settings.sources) == {"home": f"TENAX_HOME={tmp_path / 'home'}"}


def test_each_source_beats_the_one_before(tmp_path):
    far, near, env, flags = "port = 1", "port = 2", {"TENAX_PORT": "3"}, {"port": 4}
    assert load(tmp_path, far=far).port == 1
    assert load(tmp_path, far=far, near=near).port == 2
    assert load(tmp_path, far=far, near=near, env=env).port == 3
    assert load(tmp_path, far=far, near=near, env=env, flags=flags).port == 4


def test_both_files_count_key_by_key(tmp_path):
    settings = load(tmp_path, far="port = 1\nslots = 7", near="port = 2")
    assert (settings.port, settings.slots) == (2, 7)


def test_what_is_not_given_is_not_a_source(tmp_path):
    assert load(tmp_path, near="port = 2", env={"TENAX_PORT": ""}, flags={"port": None}).port == 2


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("lease", "3s", 3.0),
        ("lease", "1.5m", 90.0),
        ("lease", "45", 45.0),
        ("heartbeat", "250ms", 0.25),
        ("timeout_grace", "0", 0.0),
        ("max_body", "512KiB", 524_288),
        ("max_body", "1mb", 1_000_000),
        ("max_body", "100", 100),
        ("queues", "fast, slow", ("fast", "slow")),
        ("runtimes", "process, http,process", ("process", "http")),
        ("labels", "gpu=yes,zone=a", {"gpu": "yes", "zone": "a"}),
        ("retries_enabled", "off", False),
        ("retry", '{"max_attempts": 5}', {"max_attempts": 5}),
        ("retry", "3", 3),
        ("retry", "false", False),
        ("server", "https://tenax.example/", "https://tenax.example"),
        ("callback_url", "https://tenax.example/hooks/", "https://tenax.example/hooks"),
        ("log_level", "DEBUG", "debug"),
        ("workers", "0", 0),
        ("worker_wait", "10m", 600.0),
        ("ageing", "0", 0.0),
        ("poison_after", "0", 0),
        ("drain_after", "0", 0),
        ("max_hold", "2d", 172_800.0),
        ("unhealthy_silence", "15s", 15.0),
        ("degraded_failures", "1", 1),
        ("degraded_rate", "1%", 0.01),
        ("degraded_rate", "12.5 %", 0.125),
        ("unhealthy_rate", "0.9", 0.9),
        ("unhealthy_rate", "1", 1.0),
        ("unhealthy_rate", "100%", 1.0),
        ("health_min_runs", "1", 1),
        ("probing", "no", False),
        ("overload_lag", "250ms", 0.25),
    ],
)
def test_values_written_as_text(tmp_path, name, text, value):
    assert getattr(load(tmp_path, env={f"TENAX_{name.upper()}": text}), name) == value


def test_a_share_in_a_file_is_a_number_or_a_text(tmp_path):
    settings = load(tmp_path, near='degraded_rate = 0.25\nunhealthy_rate = "75%"')
    assert (settings.degraded_rate, settings.unhealthy_rate) == (0.25, 0.75)
    with pytest.raises(
        UsageError, match=r"tenax\.toml: degraded_rate = True: expected a share above 0 and up to 1"
    ):
        load(tmp_path, near="degraded_rate = true")


def test_values_of_a_file_have_types(tmp_path):
    text = 'lease = 5\nheartbeat = "1s"\nqueues = ["a", "b"]\nretries_enabled = false\n[labels]\ngpu = "yes"\n[retry]\nmax_attempts = 4\n'
    settings = load(tmp_path, near=text)
    assert (settings.lease, settings.heartbeat, settings.queues) == (5.0, 1.0, ("a", "b"))
    assert (settings.retries_enabled, settings.labels, settings.retry) == (
        False,
        {"gpu": "yes"},
        {"max_attempts": 4},
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lease", "abc"),
        ("lease", "0"),
        ("lease", "-5s"),
        ("port", "65536"),
        ("port", "8.5"),
        ("slots", "0"),
        ("max_body", "0"),
        ("max_body", "lots"),
        ("max_body", "9" * 400),
        ("max_body", "1" + "0" * 18 + "GB"),
        ("labels", "gpu"),
        ("queues", "a,,b"),
        ("runtimes", "http,,python"),
        ("retries_enabled", "perhaps"),
        ("retry", "{"),
        ("retry", '"often"'),
        ("retry", "[" * 100_000),
        ("server", "tenax.example"),
        ("callback_url", "tenax.example"),
        ("callback_url", "https://tenax.example/?from=callee"),
        ("log_level", "loud"),
        ("worker_wait", "0"),
        ("ageing", "-1"),
        ("poison_after", "-1"),
        ("drain_after", "some"),
        ("max_hold", "0"),
        ("unhealthy_silence", "0"),
        ("degraded_failures", "0"),
        ("unhealthy_depth", "0"),
        ("degraded_rate", "0"),
        ("degraded_rate", "0%"),
        ("degraded_rate", "-30%"),
        ("degraded_rate", "30"),
        ("degraded_rate", "a third"),
        ("unhealthy_rate", "1.01"),
        ("unhealthy_rate", "101%"),
        ("health_window", "0"),
        ("health_min_runs", "0"),
        ("probing", "sometimes"),
        ("probe_after", "0"),
        ("overload_lag", "0"),
    ],
)
def test_a_wrong_value_names_its_variable(tmp_path, name, text):
    with pytest.raises(UsageError) as caught:
        load(tmp_path, env={f"TENAX_{name.upper()}": text})
    assert caught.value.message.startswith(f"TENAX_{name.upper()}={text}: expected ")


def test_a_wrong_value_names_its_flag_or_its_file(tmp_path):
    with pytest.raises(UsageError, match=r"^--log-level loud: expected one of debug, info"):
        load(tmp_path, flags={"log_level": "loud"})
    with pytest.raises(UsageError, match=r"work/tenax\.toml: lease = True: expected a duration"):
        load(tmp_path, near="lease = true")


@pytest.mark.parametrize("text", ["mysql://x", "localhost/tenax"])
def test_a_wrong_database_url_is_not_printed(tmp_path, text):
    with pytest.raises(UsageError) as caught:
        load(tmp_path, env={"TENAX_DATABASE_URL": text})
    assert text not in caught.value.message
    assert caught.value.message.startswith(
        "TENAX_DATABASE_URL=...: expected an address such as postgresql://"
    )


def test_secrets_stay_out_of_the_repr(tmp_path):
    settings = load(tmp_path, env={"TENAX_TOKEN": "hush", "TENAX_DATABASE_URL": "postgresql://u:hush@h/d"})
    assert "hush" not in repr(settings)
    assert "hush" not in str(dict(settings.sources))


def test_an_unknown_key_is_told_the_nearest_one(tmp_path):
    with pytest.raises(UsageError, match=r"unknown setting 'heartbeet'; did you mean 'heartbeat'\?"):
        load(tmp_path, near="heartbeet = 3")


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    with pytest.raises(UsageError) as caught:
        load(
            tmp_path,
            near='heartbeet = 3\nlease = "abc"\nsweep = 0\nport = 2',
            far="slots = 0\nworker = 1",
            env={"TENAX_DRAIN": "long"},
        )
    lines = caught.value.message.splitlines()
    assert len(lines) == 6
    for words in (
        "work/tenax.toml: unknown setting 'heartbeet'; did you mean 'heartbeat'?",
        "work/tenax.toml: lease = 'abc': expected a duration",
        "work/tenax.toml: sweep = 0: expected a duration above zero",
        "home/tenax.toml: slots = 0: expected a whole number",
        "home/tenax.toml: unknown setting 'worker'; did you mean 'workers'?",
        "TENAX_DRAIN=long: expected a duration",
    ):
        assert any(words in line for line in lines), words


def test_a_wrong_home_does_not_hide_the_rest(tmp_path):
    with pytest.raises(UsageError) as caught:
        load_settings(env={}, cwd=_with_file(tmp_path, "home = 3\nport = -1"))
    assert [line.partition(": ")[2] for line in caught.value.message.splitlines()] == [
        "home = 3: expected a text",
        "port = -1: expected a whole number from 0 to 65535",
    ]


def _with_file(folder: Path, text: str) -> Path:
    (folder / "tenax.toml").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("TENAX_LEAS", "TENAX_LEASE"),
        ("TENAX_QUEUE", "TENAX_QUEUES"),
        ("TENAX_DATABASE", "TENAX_DATABASE_URL"),
        ("TENAX_Port", "TENAX_PORT"),
    ],
)
def test_a_mistyped_variable_brings_one_warning(tmp_path, caplog, variable, meant):
    assert dict(mistyped_variables({variable: "3"}, NAMES)) == {variable: meant}
    own = f"{variable}_"  # a warning is given once in a process: other tests must not have had it
    for _ in range(2):
        load(tmp_path, env={own: "3"})
    assert [record.getMessage() for record in caplog.records] == [
        f"{own} is not a setting; did you mean {meant}?"
    ]


def test_variables_that_are_not_ours_pass_in_silence():
    names = (
        "DEBUG TEST_RUN EXECUTION_ID STEP ATTEMPT RECEIPT PARAMS_FILE RESULT_FILE SUPERVISOR_PID READY_PIPE"
    )
    others = [f"TENAX_{name}" for name in names.split()]
    known = [row.variable for row in describe_settings()]
    silent = [*others, *known, "TENAX_SECRET_DATABASE_URL", "MY_LEASE", "TENAX_", "TENAX_COLOUR_OF_THE_SKY"]
    assert dict(mistyped_variables(dict.fromkeys(silent, "1"), NAMES)) == {}


def test_a_file_that_is_not_toml(tmp_path):
    with pytest.raises(UsageError, match=r"work/tenax\.toml: not valid TOML: .*line 1"):
        load(tmp_path, near="lease 3")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(tmp_path):
    load(tmp_path, near="port = 1")
    (tmp_path / "work" / "tenax.toml").chmod(0)
    with pytest.raises(Unreachable, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize(
    "env",
    [
        {"TENAX_HEARTBEAT": "30s"},
        {"TENAX_LEASE": "10s", "TENAX_HEARTBEAT": "10s"},
        {"TENAX_LEASE": "3s", "TENAX_HEARTBEAT": "4s"},
    ],
)
def test_a_heartbeat_must_be_shorter_than_the_lease(tmp_path, env):
    with pytest.raises(UsageError, match=r"^TENAX_\w+=\w+: heartbeat \(\w+\) must be less than lease"):
        load(tmp_path, env=env)


@pytest.mark.parametrize("env", [{"TENAX_MAX_BODY": "200MB"}, {"TENAX_BODY_MEMORY": "31MB"}])
def test_the_largest_body_must_find_room(tmp_path, env):
    with pytest.raises(UsageError, match=r"^TENAX_\w+=\w+: body_memory .* must be at least twice max_body"):
        load(tmp_path, env=env)
    assert load(tmp_path, env={"TENAX_BODY_MEMORY": "32MB"}).body_memory == 32_000_000


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (
            {"TENAX_UNHEALTHY_FAILURES": "2"},
            "TENAX_UNHEALTHY_FAILURES=2: unhealthy_failures (2) must not be less than degraded_failures (3)",
        ),
        (
            {"TENAX_DEGRADED_DEPTH": "101"},
            "TENAX_DEGRADED_DEPTH=101: unhealthy_depth (100) must not be less than degraded_depth (101)",
        ),
        (
            {"TENAX_DEGRADED_RATE": "50%", "TENAX_UNHEALTHY_RATE": "40%"},
            "TENAX_UNHEALTHY_RATE=40%: unhealthy_rate (0.4) must not be less than degraded_rate (0.5)",
        ),
    ],
)
def test_unhealthy_is_no_better_than_degraded(tmp_path, env, words):
    with pytest.raises(UsageError) as caught:
        load(tmp_path, env=env)
    assert caught.value.message == words
    assert "set both TENAX_DEGRADED_" in caught.value.remedy


def test_a_lease_too_short_for_any_heartbeat_is_refused_with_the_one_that_follows_from_it(tmp_path):
    with pytest.raises(
        UsageError, match=r"heartbeat, which follows from TENAX_LEASE=.*: expected a duration above zero"
    ):
        load_settings({"home": tmp_path}, env={"TENAX_LEASE": f"0.{'0' * 323}5"})


def test_unhealthy_may_begin_where_degraded_does(tmp_path):
    settings = load(tmp_path, near="degraded_failures = 4\nunhealthy_failures = 4\nunhealthy_rate = 0.3")
    assert (settings.degraded_failures, settings.unhealthy_failures) == (4, 4)
    assert (settings.degraded_rate, settings.unhealthy_rate) == (0.3, 0.3)


@pytest.mark.parametrize(
    "env",
    [
        {"TENAX_UNHEALTHY_SILENCE": "10s"},
        {"TENAX_UNHEALTHY_SILENCE": "3s", "TENAX_HEARTBEAT": "4s"},
    ],
)
def test_a_worker_is_not_unhealthy_between_two_heartbeats(tmp_path, env):
    expected = r"^TENAX_UNHEALTHY_SILENCE=\w+: unhealthy_silence \(\w+\) must be more than heartbeat"
    with pytest.raises(UsageError, match=expected):
        load(tmp_path, env=env)
    assert load(tmp_path, env={**env, "TENAX_UNHEALTHY_SILENCE": "11s"}).unhealthy_silence == 11.0


@pytest.mark.parametrize(("lease", "heartbeat"), [("3s", 1.0), ("30s", 10.0), ("10m", 10.0)])
def test_a_short_lease_alone_brings_its_heartbeat(tmp_path, lease, heartbeat):
    assert load(tmp_path, env={"TENAX_LEASE": lease}).heartbeat == heartbeat


def test_home_is_taken_from_where_it_was_written(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    assert load_settings(env={"TENAX_HOME": "data"}, cwd=work).home == work / "data"
    (work / "tenax.toml").write_text('home = "../elsewhere"')
    assert load_settings(env={}, cwd=work).home == tmp_path / "elsewhere"


def test_a_file_found_through_home_cannot_move_it(tmp_path):
    with pytest.raises(UsageError, match="found through `home`"):
        load(tmp_path, far='home = "/elsewhere"')


def test_the_default_home(tmp_path):
    found = load_settings(env={"XDG_DATA_HOME": str(tmp_path), "HOME": "/h"}, cwd=tmp_path).home
    assert found == (Path("/var/lib/tenax") if os.geteuid() == 0 else tmp_path / "tenax")


def test_the_thresholds_are_those_that_workers_are_judged_by(tmp_path):
    """The model, which knows no settings, has the same defaults under nearly the same names."""
    settings = load(tmp_path)
    renamed = {"window": "health_window", "min_runs": "health_min_runs"}
    for term in fields(HealthTerms):
        own = getattr(settings, renamed.get(term.name, term.name))
        assert (settings.lease if own is None else own) == term.default, term.name


def test_runtimes_are_those_that_a_worker_has_and_all_by_default(tmp_path):
    assert load(tmp_path).runtimes == RUNTIMES
    assert load(tmp_path, flags={"runtimes": ("http,python", "http")}).runtimes == ("http", "python")
    assert load(tmp_path, near='runtimes = ["process"]').runtimes == ("process",)
    with pytest.raises(UsageError, match=r"runtimes = \[\]: expected at least one of python, http, process"):
        load(tmp_path, near="runtimes = []")


def test_the_table_for_the_docs_has_every_setting():
    table = describe_settings()
    about_them = ("sources", "from_folder")
    assert [row.name for row in table] == [name for name in Settings.model_fields if name not in about_them]
    assert all(row.doc and row.default for row in table)
    by_name = {row.name: row for row in table}
    assert (by_name["database_url"].flag, by_name["lease"].variable) == ("--database", "TENAX_LEASE")


def test_the_defaults_shown_in_the_docs_are_the_defaults(tmp_path):
    """Where the docs show a default in words, reading those words must give it."""
    defaults = load(tmp_path)
    for row in describe_settings():
        if row.default.startswith(("none", "the embedded", "the lease", "its host", "/var/lib")):
            continue
        read = load(tmp_path, env={row.variable: row.default})
        assert getattr(read, row.name) == getattr(defaults, row.name)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"labels": "gpu"}, "--label gpu: expected labels such as gpu=yes,zone=a: 'gpu' has no `=`"),
        ({"labels": "=x"}, "--label =x: expected labels such as gpu=yes,zone=a: '=x' has no name before the `=`"),
        ({"labels": "gpu=yes,gpu=no"}, "--label gpu=yes,gpu=no: `gpu` is said twice, as 'yes' and as 'no'"),
        ({"runtimes": ("http,proces",)}, "--runtime http,proces: 'proces' is none of python, http, process, agent, action; did you mean 'process'?"),
        ({"runtimes": ("java",)}, "--runtime java: 'java' is none of python, http, process, agent, action"),
        ({"worker_name": ""}, "--name '': expected a text"),
        ({"queues": ("a", "b d")}, "--queue a,b d: 'b d' is not a name: use letters, digits, _ and - (not first)"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_flags_of_a_worker(tmp_path, flags, message):
    with pytest.raises(UsageError) as caught:
        load(tmp_path, flags=flags)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("1m30s", 90.0), ("1h 30m", 5400.0), ("250ms", 0.25), ("700 ms", 0.7), ("0.5", 0.5), (" 2d ", 172800.0)],
)
def test_durations_are_written_as_in_workflow_files(tmp_path, written, seconds):
    assert load(tmp_path, near=f'lease = "{written}"').lease == seconds
    assert parse_duration(written) == seconds


@pytest.mark.parametrize("written", ["1m30", "-5s", "1w", "", "200000000m", "1m30s x"])
def test_and_refused_as_there(tmp_path, written):
    with pytest.raises(ValueError, match=r"."):
        parse_duration(written)
    with pytest.raises(UsageError, match=r"lease = .*: expected a duration"):
        load(tmp_path, near=f'lease = "{written}"')


@pytest.mark.parametrize(
    ("name", "beyond", "message", "within"),
    [
        ("aside_memory", "100MB", "expected a size of at least 256MB", "256MB"),
        ("max_definition", "9MB", "expected a size of at most 8MB", "8MB"),
    ],
)
def test_sizes_that_have_bounds(tmp_path, name, beyond, message, within):
    with pytest.raises(UsageError, match=message):
        load(tmp_path, near=f'{name} = "{beyond}"')
    assert getattr(load(tmp_path, near=f'{name} = "{within}"'), name) == int(within[:-2]) * 10**6
