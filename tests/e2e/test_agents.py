"""Agents and budgets over crashes: what was used is counted once, whatever is killed."""

from __future__ import annotations

from pathlib import Path

from support.attack.chaos import Chaos, until_all_ended
from support.waiting import eventually

from tenax.model.wire import Submission

LEAF = """
name: leaf
workflow:
  - step: think
    type: agent
    prompt: think
    command:
      - python3
      - -c
      - |
        import json, os, time
        usage = os.fdopen(int(os.environ["TENAX_USAGE_FD"]), "w", buffering=1)
        for n in range(1, 6):
            print(json.dumps({"tokens": 10 * n, "cost_usd": 0.01 * n}), file=usage)
            time.sleep(0.2)
        stated = {"status": "completed", "usage": {"tokens": 60, "cost_usd": 0.06}}
        with open(os.environ["TENAX_RESULT_FILE"], "w") as file:
            json.dump(stated, file)
    retry: {max_attempts: 5, initial_delay: 100ms, infra_attempts: 9}
"""
MIDDLE = """
name: middle
workflow:
  - {step: leaves, type: workflow, file: leaf.yaml, for_each: [0, 1, 2], parallelism: 3}
"""
ROOT = """
name: root
budget: {cost_usd: 100}
workflow:
  - {step: middles, type: workflow, file: middle.yaml, for_each: [0, 1], parallelism: 2}
"""


def test_sums_over_three_levels_hold_after_worker_and_server_are_killed(
    tmp_path: Path, open_folder: Path
) -> None:
    with Chaos(tmp_path, open_folder, 1, lease="2s", heartbeat="300ms", drain="500ms") as house:
        house.open()
        with house.client() as client:
            source = Submission(source=ROOT, files={"middle.yaml": MIDDLE, "leaf.yaml": LEAF})
            root = client.submit(source).id
        told = "select count(*) from tenax.attempt_usage"
        for _ in range(2):
            eventually(lambda: house.query(told)[0] > 0, timeout=60)
            house.kill_worker()
            house.kill_server()
        assert until_all_ended(house, {"root": root}) == {root: "completed"}
        report = house.verify()
        assert report is not None
        assert not report["violations"], report["violations"][:20]
        [spent] = house.query(f"select spent_usd from tenax.budget where execution_id = {root}")
        [used] = house.query(
            "select sum((data #>> '{usage,cost_usd}')::float8) from tenax.event"
            " where type in ('action_completed', 'action_error', 'lease_expired') and step = 'think'"
        )
        [charged] = house.query(
            "select coalesce(sum((data ->> 'cost_usd')::float8), 0) from tenax.event"
            " where type = 'attempt_charged'"
        )
        [decided] = house.query(
            "select sum(coalesce((data #>> '{decision,after,cost}')::float8, 0)"
            "         - coalesce((data #>> '{decision,before,cost}')::float8, 0))"
            "  from tenax.event where step = 'think' and data ? 'decision'"
        )
        assert abs(spent - decided - charged) < 1e-6, "what was decided on is charged once"
        # An attempt that died before it told anything is charged the highest price that was seen.
        assert spent >= used + charged - 1e-6
        assert used >= 0.36 - 1e-6
