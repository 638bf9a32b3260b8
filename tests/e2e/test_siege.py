"""Attacks a real server. Each attack is refused or harmless, delays nobody, and costs little memory.

`make siege` attacks for longer, and prints what each attack cost: TENAX_SIEGE_SECONDS.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.attack.attacks import ATTACKS, Attack
from support.attack.loop_holds import LIMIT, MARGIN
from support.attack.siege import Cost, Siege, percentile, table
from support.profiles import is_full

SECONDS = float(os.environ.get("TENAX_SIEGE_SECONDS") or (5 if is_full() else 2))
MOST_MEMORY = 400.0
"""Megabytes above what the server had before, for one attack: several bodies of the largest size, read and stored."""
GROWTH = 200.0
"""Megabytes by which the memory of a besieged server may differ between two moments: it must not grow with time."""


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory, open_folder_of_module: Path) -> Iterator[Siege]:
    with Siege(tmp_path_factory.mktemp("siege"), open_folder_of_module) as made:
        yield made


@pytest.fixture(scope="module")
def costs() -> Iterator[list[Cost]]:
    made: list[Cost] = []
    yield made
    print("\n" + table(made))


def _holds(siege: Siege) -> list[str]:
    """Returns the lines in which the server said what held its event loop."""
    return [line[:500] for line in siege.words(siege.process).splitlines() if "was held" in line]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: f"{one.kind}: {one.name}")
def test_an_attack_is_harmless(siege: Siege, costs: list[Cost], attack: Attack) -> None:
    cost = siege.cost_of(attack)
    costs.append(cost)
    assert cost.harmless, cost.outcome
    assert cost.held <= LIMIT * MARGIN, f"it held the event loop: {_holds(siege)[-1:]}"
    assert cost.megabytes <= MOST_MEMORY
    assert siege.process.poll() is None
    assert siege.target.strange.get("/readyz").status_code == 200


def test_honest_work_goes_on_under_siege(siege: Siege) -> None:
    siege.worker("--name", "honest", "--slots", "20")
    calm: list[int] = []
    with siege.feeding(calm):
        siege.pause(min(SECONDS, 60))
    assert siege.until_ended(calm) == {"completed": len(calm)}
    busy: list[int] = []
    with siege.busy_machine(), siege.feeding(busy):
        siege.pause(min(SECONDS, 60))
    assert siege.until_ended(busy) == {"completed": len(busy)}
    made: list[Cost] = []
    besieged: list[int] = []
    memory: list[float] = []
    with siege.attacked(made, seed=1):
        before = siege.processor()
        with siege.feeding(besieged):
            for _ in range(10):
                siege.pause(SECONDS / 10)
                memory.append(siege.memory())
        after = siege.processor()
    assert siege.until_ended(besieged) == {"completed": len(besieged)}
    for name, ids in (("calm", calm), ("busy machine", busy), ("besieged", besieged)):
        values = siege.lateness(ids)
        at = ", ".join(f"p{percent} {1000 * percentile(values, percent):.1f} ms" for percent in (50, 90, 99))
        print(f"{name}: {len(values)} retries, {at}")
    used = ", ".join(f"{part} {(after[part] - before[part]) / SECONDS:.2f}" for part in after)
    print(f"processor time, of {os.cpu_count()} processors: {used}")
    print(
        f"attacks: {len(made)}; memory of the server, MB: {', '.join(f'{one:.0f}' for one in memory)}; {siege.measured()}"
    )
    print("\n".join(_holds(siege)))
    assert {(cost.name, cost.outcome) for cost in made if not cost.harmless} == set()
    assert max(memory[5:]) <= max(memory[:5]) + GROWTH
    report = siege.verify()
    assert report is not None
    assert report["violations"] == []
    print(f"verified: {report['checked']}")
