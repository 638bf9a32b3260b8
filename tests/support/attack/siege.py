"""A siege: honest work goes on while attacks are made on the server. What each attack costs the server is measured.

As a program (`siege.py URL TOKEN OTHERS_TOKEN SEED [KIND ...]`) it makes attacks, in a random order, until it is ended. It writes a line for each.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from support.attack.attacks import ATTACKS, Attack, Target
from support.processes import Household
from support.waiting import eventually
from tenax.model.wire import Submission

RATE = 10
"""Honest submissions per second."""
ATTACKERS = 4
"""Attacks that run at the same time."""
HONEST = """
name: honest
workflow:
  - step: a
    type: python
    task: honest:once
    args: {attempt: "{{ attempt }}"}
    retry: {max_attempts: 3, initial_delay: 500ms, jitter: 0}
"""
TASK = """
def once(attempt):
    if attempt == 1:
        raise RuntimeError("not yet")
    return attempt
"""
LATENESS = """
select extract(epoch from s.at - (r.data ->> 'available_at')::timestamptz)::double precision
  from tenax.event r
  join tenax.event s on s.execution_id = r.execution_id and s.type = 'action_started' and s.attempt = r.attempt + 1
 where r.type = 'step_retry' and r.execution_id = any($1::bigint[])
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Holds the outcome of an attack, and what it cost the server."""

    kind: str
    name: str
    outcome: str
    harmless: bool
    seconds: float
    megabytes: float = 0.0
    """The most memory of the server during the attack, above its memory before."""
    held: float = 0.0
    """The longest time for which the event loop's thread computed without a break, in seconds. 0 if it was no new maximum."""


class Siege(Household):
    """Runs a server, an honest worker, and attackers with tokens. Unfinished requests have three seconds."""

    def __init__(self, folder: Path, home: Path) -> None:
        super().__init__(folder, home, head_timeout="3s", body_timeout="3s")
        (folder / "honest.py").write_text(TASK)
        self.process = self.server()
        self.attackers: subprocess.Popen[str] | None = None
        made = [
            self.run("token", "create", name, "--role", role, "--json")
            for name, role in (("attacker", "admin"), ("other", "worker"))
        ]
        self.tokens = [json.loads(one.stdout)["token"] for one in made]
        self.target = Target(self.url, *self.tokens)

    def __exit__(self, *_: object) -> None:
        self.target.close()
        super().__exit__()

    def measured(self) -> dict[str, float]:
        found: dict[str, float] = self.target.strange.get("/healthz?verbose").json()["measured"]
        return found

    def memory(self, what: str = "VmRSS") -> float:
        """Returns the megabytes of the server and of the processes that work for it."""
        pids = [self.process.pid, *_children(self.process.pid)]
        return sum(_megabytes(pid, what) for pid in pids)

    def cost_of(self, attack: Attack) -> Cost:
        """Makes one attack, alone."""
        busiest, before = self.measured()["loop_hold_busiest_seconds"], self.memory()
        for pid in (self.process.pid, *_children(self.process.pid)):
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # the maximum is measured again
        made = _made(attack, self.target)
        grown = self.memory("VmHWM") - before
        self.pause(0.05)  # waits until the watchdog has checked the loop
        held = self.measured()["loop_hold_busiest_seconds"]
        held = held if held > busiest else 0.0
        return Cost(**asdict(made) | {"megabytes": max(0.0, grown), "held": held})

    @staticmethod
    def pause(seconds: float) -> None:
        """Lets the siege go on for a while."""
        threading.Event().wait(seconds)

    @contextmanager
    def feeding(self, submitted: list[int]) -> Iterator[None]:
        """Submits honest work at a steady rate, and notes its executions."""
        over = threading.Event()

        def fill_slots() -> None:
            due = time.monotonic()
            with self.client() as client:
                while not over.wait(max(0.0, due - time.monotonic())):
                    submitted.extend(answer.id for answer in client.submit_many([Submission(source=HONEST)]))
                    due += 1 / RATE

        thread = threading.Thread(target=fill_slots)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    @contextmanager
    def attacked(self, made: list[Cost], seed: int, *kinds: str) -> Iterator[None]:
        """Runs all attacks repeatedly, several at a time. They have a low priority, because they are not what is measured."""
        process = self.attackers = _started_last(
            [sys.executable, __file__, self.url, *self.tokens, str(seed), *kinds],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )

        def read() -> None:
            assert process.stdout is not None
            made.extend(Cost(**json.loads(line)) for line in process.stdout)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield
            assert process.poll() is None, "the attacking process has ended"
        finally:
            process.terminate()
            process.wait()
            reader.join()

    @contextmanager
    def busy_machine(self) -> Iterator[None]:
        """Keeps every processor busy, as the attackers do, with processes that do nothing to the server."""
        burning = [_started_last([sys.executable, "-c", "while True: pass"]) for _ in range(ATTACKERS)]
        try:
            yield
        finally:
            for process in burning:
                process.kill()
                process.wait()

    def processor(self) -> dict[str, float]:
        """Returns the seconds of processor time that each part has used, and those for which the event loop's thread waited for a processor."""
        aside = _children(self.process.pid)
        used = _thread_seconds(self.process.pid)
        loop, waited = used.pop(self.process.pid)
        everything = {
            "event loop": loop,
            "threads of the server": sum(seconds for seconds, _ in used.values()),
            "processes aside": sum(_seconds(pid) for pid in aside),
            "PostgreSQL": sum(map(_seconds, _family(self.postmaster()))),
            "workers": sum(_seconds(one.pid) for one in self.started if one is not self.process),
            "event loop waited": waited,
        }
        if self.attackers is not None:
            everything["attackers"] = _seconds(self.attackers.pid)
        return everything

    def until_ended(self, submitted: list[int]) -> Counter[str]:
        """Waits for the end of honest work. Returns how many executions ended in each state."""

        def states() -> Counter[str]:
            return Counter(
                self.query("select state from tenax.execution where id = any($1::bigint[])", submitted)
            )

        eventually(lambda: set(states()) <= {"completed", "failed", "cancelled"}, timeout=120)
        return states()

    def lateness(self, submitted: list[int]) -> list[float]:
        return sorted(self.query(LATENESS, submitted))


def _made(attack: Attack, target: Target) -> Cost:
    began = time.monotonic()
    try:
        outcome = attack.make(target)
    except Exception as error:  # noqa: BLE001 - an attack that is not answered as expected is told of, with the others
        outcome = f"{type(error).__name__}: {error}"[:300]
    # Beside other attacks, large bodies may find no room.
    harmless = outcome in attack.harmless or outcome.replace("503", "").strip() in (*attack.harmless, "")
    return Cost(attack.kind, attack.name, outcome, harmless, time.monotonic() - began)


def percentile(values: list[float], percent: float) -> float:
    """Returns the percentile by nearest rank."""
    return values[max(0, math.ceil(len(values) * percent / 100) - 1)]


def table(costs: list[Cost]) -> str:
    """Returns the costs as a table for the docs."""
    lines = ["| kind | attack | outcome | seconds | memory, MB |", "|---|---|---|---|---|"]
    lines += [f"| {c.kind} | {c.name} | {c.outcome} | {c.seconds:.2f} | {c.megabytes:.0f} |" for c in costs]
    return "\n".join(lines)


def _children(parent: int) -> list[int]:
    found = []
    with suppress(FileNotFoundError):
        for thread in Path(f"/proc/{parent}/task").iterdir():
            found += [int(pid) for pid in (thread / "children").read_text().split()]
    return found


def _started_last(command: list[str], env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Starts a process that gets the processor only when no other process wants it.

    Linux shares the processor between sessions first (autogroup), and then between the processes of a session. So `nice` alone does nothing
    against the processes of another session.
    """
    process = subprocess.Popen(
        ["nice", "-n", "19", *command], stdout=subprocess.PIPE, text=True, env=env, start_new_session=True
    )
    with suppress(FileNotFoundError):
        Path(f"/proc/{process.pid}/autogroup").write_text("19")
    return process


def _family(parent: int) -> list[int]:
    return [parent, *(pid for child in _children(parent) for pid in _family(child))]


def _seconds(pid: int) -> float:
    """Returns the processor time of a process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _thread_seconds(pid: int) -> dict[int, tuple[float, float]]:
    """Returns for each thread of a process the seconds that it ran, and those that it waited for a processor."""
    found = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        ran, waited, _ = (thread / "schedstat").read_text().split()
        found[int(thread.name)] = int(ran) / 1e9, int(waited) / 1e9
    return found


def _megabytes(pid: int, name: str) -> float:
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / 1024
    return 0.0


def _attack_on(url: str, token: str, others_token: str, seed: str, *kinds: str) -> None:
    some = [one for one in ATTACKS if not kinds or one.kind in kinds]
    one_line_at_a_time = threading.Lock()

    def go_on(number: int) -> None:
        dice, target = random.Random(f"{seed}-{number}"), Target(url, token, others_token)
        while True:
            for attack in dice.sample(some, len(some)):
                line = json.dumps(asdict(_made(attack, target)))
                with one_line_at_a_time:
                    print(line, flush=True)

    threads = [threading.Thread(target=go_on, args=(n,)) for n in range(ATTACKERS)]
    for thread in threads:
        thread.start()


if __name__ == "__main__":
    _attack_on(*sys.argv[1:])
