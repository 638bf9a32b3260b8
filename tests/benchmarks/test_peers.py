"""Tests the peers of the bench without running any: no network, no timing."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks import herd, retries, throughput
from benchmarks.children import Child, ChildFailed
from benchmarks.peers import environments
from benchmarks.peers.environments import (
    CannotBeMade,
    candidates,
    cause_in,
    first_that_answers,
    is_up_to_date,
)
from benchmarks.peers.registry import PEERS, Peer, ready
from benchmarks.peers.rounds import last_words, played
from benchmarks.stats import Tail

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "peers"
NAMES = [peer.name for peer in PEERS]


def program(path: Path, body: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


# Which Python


def test_this_python_is_taken_where_it_is_new_enough():
    assert environments.find_python((3, 11)) == sys.executable


def test_a_python_that_refuses_to_run_or_is_too_old_is_passed_over(tmp_path):
    shim = program(tmp_path / "shim", "echo 'pyenv: python3.13: command not found' >&2; exit 127")
    old = program(tmp_path / "old", "echo 3 11")
    new = program(tmp_path / "new", "echo 3 12")
    gone = str(tmp_path / "gone")
    assert first_that_answers([gone, shim, old, new], (3, 12)) == new
    assert first_that_answers([gone, shim, old], (3, 12)) is None


def test_the_newest_python_is_tried_first_wherever_it_is(tmp_path, monkeypatch):
    on_path = program(tmp_path / "bin" / "python3.13", "")
    program(tmp_path / "bin" / "python3.11", "")
    of_pyenv = [
        program(tmp_path / ".pyenv" / "versions" / f"{version}.1" / "bin" / f"python{version}", "")
        for version in ("3.14", "3.12")
    ]
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert list(candidates((3, 12))) == [of_pyenv[0], on_path, of_pyenv[1]]


# Environments


@pytest.fixture
def base(tmp_path, monkeypatch):
    """A Python that makes environments whose pip does nothing; each one it made is a line of `made`."""
    inner = "#!/bin/sh\\nexit 0\\n"
    body = f'echo "$3" >> {tmp_path}/made; mkdir -p "$3/bin"; printf \'{inner}\' > "$3/bin/python"; chmod +x "$3/bin/python"'
    python = program(tmp_path / "base", body)
    monkeypatch.setattr(environments, "find_python", lambda _least: python)
    return python


def test_an_environment_is_made_once_and_again_when_its_requirements_change(tmp_path, base):
    requirements = tmp_path / "some.txt"
    made = tmp_path / "made"
    said: list[str] = []
    for text, times in (("a==1", 1), ("a==1", 1), ("a==2", 2)):
        requirements.write_text(text)
        python = environments.python_of("some", requirements, (3, 11), said.append, tmp_path / "home")
        assert python == tmp_path / "home" / "some" / "bin" / "python"
        assert len(made.read_text().splitlines()) == times
    assert said == ["making the environment of some ..."] * 2


def test_a_stamp_is_worth_nothing_without_the_python_it_is_of(tmp_path, base):
    requirements = tmp_path / "some.txt"
    requirements.write_text("a==1")
    python = environments.python_of("some", requirements, (3, 11), print, tmp_path / "home")
    stamp = environments.stamp_of("a==1", base)
    assert is_up_to_date(python.parents[1], stamp)
    assert not is_up_to_date(python.parents[1], environments.stamp_of("a==1", "another"))
    python.unlink()
    assert not is_up_to_date(python.parents[1], stamp)


def test_an_environment_that_cannot_be_made_says_where_and_why_and_leaves_no_stamp(tmp_path, monkeypatch):
    python = program(tmp_path / "base", "echo 'ERROR: no network' >&2; echo more >&2; exit 1")
    monkeypatch.setattr(environments, "find_python", lambda _least: python)
    requirements = tmp_path / "some.txt"
    requirements.write_text("a==1")
    with pytest.raises(CannotBeMade, match=re.escape(f"{tmp_path}/home/some: ERROR: no network")):
        environments.python_of("some", requirements, (3, 11), print, tmp_path / "home")
    assert not (tmp_path / "home" / "some" / environments.STAMP).exists()


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("WARNING: a\nERROR: first\nERROR: second\nnotice\n", "ERROR: first"),
        ("one\ntwo\n\n", "two"),
        ("", "it said nothing"),
    ],
)
def test_the_cause_is_one_line(words, cause):
    assert cause_in(words) == cause


def test_peers_that_cannot_run_here_are_left_out_each_with_a_line():
    said: list[str] = []
    peers = [
        Peer("oban", share=1, python=(3, 99)),
        Peer("celery", share=1, program="no-such-program"),
    ]
    assert asyncio.run(ready(peers, said.append)) == []
    assert re.fullmatch(
        r"oban is left out: .*oban: it needs Python 3\.99 or newer, and there is none .*", said[0]
    )
    assert said[1] == "celery is left out: no-such-program: it is not on PATH"
    assert len(said) == 2


# What is pinned


@pytest.mark.parametrize("peer", PEERS, ids=NAMES)
def test_the_requirements_of_a_peer_are_pinned_by_hash_and_name_no_host(peer):
    text = peer.requirements.read_text()
    assert "--hash=sha256:" in text
    assert not re.search(r"https?://|--index-url|--extra-index", text)
    assert re.fullmatch(r"[\d.]+", peer.version)
    assert peer.note(2_000) == f"{peer.version}, 2,000 jobs"


def test_make_lock_compiles_the_requirements_of_every_peer_for_its_python():
    [line] = re.findall(r"for peer in (.*); do", (ROOT / "Makefile").read_text())
    assert line.split() == [f"{peer.name}:{peer.python[0]}.{peer.python[1]}" for peer in PEERS]


def test_a_peer_that_is_not_pinned_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        _ = Peer("nobody", share=1).version


# The scripts


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
    return found


@pytest.mark.parametrize("peer", PEERS, ids=NAMES)
def test_a_script_has_its_verbs_and_knows_of_the_bench_only_the_gate_and_the_kit(peer):
    tree = ast.parse(peer.script.read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {"fill", "work", "watcher"} <= functions
    assert peer.script.read_text().rstrip().splitlines()[-1].startswith("    run(fill, work, watcher, (")
    ours = {name for name in imports(peer.script) if name.split(".")[0] in ("tenax", "benchmarks")}
    assert ours == {"benchmarks.gate", "benchmarks.peers.kit"}


@pytest.mark.parametrize(
    "path", [FOLDER / "kit.py", ROOT / "benchmarks" / "gate.py"], ids=lambda path: path.name
)
def test_what_scripts_share_needs_nothing_but_the_standard_library(path):
    others = {name.split(".")[0] for name in imports(path)} - sys.stdlib_module_names
    assert others <= {"benchmarks"}


SCRIPT = """
import signal
from benchmarks.peers.kit import run, NotYet

def fill(kind, jobs):
    print("filling", kind, jobs)

def work(kind, record):
    for failures, due in ((0, None), (1, 0.0), (2, 0.0)):
        try:
            record.attempted(7, failures, due)
        except NotYet:
            print("failed")
    print(kind, "ready", flush=True)
    while True:
        signal.pause()

def watcher():
    seen = iter([(True, 0), (False, 3)])
    return lambda: next(seen)

run(fill, work, watcher, ("noop", "fails"))
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)

    def start(*arguments):
        return subprocess.Popen(
            [sys.executable, path, *arguments], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    return start


def test_a_script_says_its_result_in_its_last_line(script):
    filled, _ = script("fill", "noop", "5").communicate()
    assert filled.splitlines()[0] == "filling noop 5"
    assert json.loads(filled.splitlines()[-1]) == {"filled": 5}
    watched, _ = script("watch").communicate()
    assert json.loads(watched.splitlines()[-1])["succeeded"] == 3


def test_a_worker_says_at_sigterm_what_it_ran(script):
    worker = script("work", "fails")
    assert worker.stdout is not None
    lines = [worker.stdout.readline() for _ in range(3)]
    assert lines == ["failed\n", "failed\n", "fails ready\n"]
    worker.send_signal(signal.SIGTERM)
    words, _ = worker.communicate()
    record = json.loads(words.splitlines()[-1])
    assert worker.returncode == 0
    assert record["jobs"] == [7, 7, 7]
    assert len(record["late"]) == 2
    assert 0 < record["first"] <= record["last"]


def test_a_kind_that_a_script_does_not_have_is_refused_with_those_it_has(script):
    refused = script("fill", "scheduled", "5")
    _, words = refused.communicate()
    assert refused.returncode == 2
    assert "'scheduled'" in words
    assert "noop" in words


# What is made of the results


def child(tmp_path, words, code=0):
    path = tmp_path / "words"
    path.write_text(words)
    return Child("peer", SimpleNamespace(returncode=code, pid=1), path)


def test_the_result_is_the_last_line_whatever_was_written_before(tmp_path):
    assert last_words(child(tmp_path, 'a warning\n{"not": "this"}\n\n{"ended": 1}\n')) == {"ended": 1}


@pytest.mark.parametrize("words", ["", "Traceback\n", '{"ended": 1}\nand more\n', "[1]\n"])
def test_a_last_line_that_is_no_result_is_an_error_that_shows_it(tmp_path, words):
    with pytest.raises(ChildFailed, match="its last line is no result") as error:
        last_words(child(tmp_path, words))
    assert words in str(error.value)


def record(*jobs, first=10.0, last=11.0, late=()):
    nothing = not jobs
    return {
        "jobs": jobs,
        "first": None if nothing else first,
        "last": None if nothing else last,
        "late": late,
    }


def test_a_round_is_from_the_first_start_to_the_end_in_all_processes():
    found = played(
        "peer",
        {"ended": 14.0, "succeeded": 2},
        [record(1, 2, 1, first=10.5, late=[0.1]), record(2, 1, 2, last=12.0, late=[0.2, 0.3]), record()],
        jobs=2,
        attempts=3,
    )
    assert (found.first, found.last, found.ended, found.seconds) == (10.0, 12.0, 14.0, 4.0)
    assert found.late == [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("records", "succeeded", "words"),
    [
        ([record(1, 2)], 3, "of 3 jobs 2 ran, 0 of them not 1 times"),
        ([record(1, 2), record(2, 3)], 3, "of 3 jobs 3 ran, 1 of them not 1 times"),
        ([record(1, 2, 3)], 2, "and 2 succeeded"),
        ([record(1, 1)], 3, "of 3 jobs 1 ran, 1 of them not 1 times"),
    ],
    ids=["lost", "doubled", "not succeeded", "one for another"],
)
def test_a_round_in_which_a_job_was_lost_or_doubled_is_an_error(records, succeeded, words):
    with pytest.raises(ChildFailed, match=words):
        played("peer", {"ended": 14.0, "succeeded": succeeded}, records, jobs=3, attempts=1)


def named(figures):
    return {figure.name: figure for figure in figures}


def test_a_peer_that_is_left_out_has_no_ratio():
    rates = {"raw limit": [40.0], "in-process": [20.0], "over HTTP": [10.0]}
    without = named(throughput._figures(rates, {}))
    assert "in-process / pgqueuer" not in without
    assert without["in-process / raw limit"].value == 0.5
    beside = named(throughput._figures({**rates, "pgqueuer": [10.0]}, {"pgqueuer": "1.6.0, 3 jobs"}))
    assert beside["in-process / pgqueuer"].reached is True
    assert beside["pgqueuer"].note == "1.6.0, 3 jobs"


def test_retries_are_held_against_the_fastest_peer():
    late = Tail(1.0, 2.0, 3.0, 4)
    ours = {name: [retries.Burst(1000.0, late)] for name in ("in-process", "over HTTP")}
    notes = dict.fromkeys((*ours, "slow", "fast"), "")
    assert "in-process / the fastest peer" not in named(retries._figures(ours, notes))
    peers = {name: [retries.Burst(rate, late)] for name, rate in (("slow", 100.0), ("fast", 250.0))}
    found = named(retries._figures({**ours, **peers}, notes))["in-process / the fastest peer"]
    assert (found.value, found.note, found.reached) == (4.0, "fast", False)


def test_a_herd_is_held_against_that_of_pgqueuer():
    new = Tail(1.0, 300.0, 400.0, 4)
    herds = {"in-process": [herd.Herd(8.0, new)], "over HTTP": [herd.Herd(10.0, new)]}
    alone = named(herd._figures(herds, 100))
    assert "in-process / pgqueuer" not in alone
    assert alone["new work at 20/s meanwhile, in-process, p99"].reached is False
    beside = named(herd._figures({**herds, "pgqueuer": [herd.Herd(10.0)]}, 100))
    assert beside["in-process / pgqueuer"].reached is True
