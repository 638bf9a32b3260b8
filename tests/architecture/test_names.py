"""Tests that no two classes of different meaning have one name."""

import ast
from collections import defaultdict
from pathlib import Path

import tenax

SOURCE = Path(tenax.__file__).parent
SAME_THING = {
    "Event": "an event as it is shown, and as the log stores it",
    "Retry": "the body of a request for a retry, and the outcome by which a task asks for one",
    "Rule": "a rule of a policy as Python code writes it, and the rule as it is resolved",
    "Step": "a step as it is shown, its definition, and the step of a workflow that is built in Python",
    "TreeBudget": "the budget of a tree as it is shown, and as a decision gets it",
    "Worker": "a worker as it is shown, and the worker itself",
    "Workflow": "the body of a request that stores a workflow, its definition, and one that is built in Python",
}
"""The names of several classes, each with the reason."""


def test_classes_of_different_meaning_have_different_names():
    places = defaultdict(list)
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(file.relative_to(SOURCE)))
    assert {name: found for name, found in places.items() if len(found) > 1 and name not in SAME_THING} == {}
