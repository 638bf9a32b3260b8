"""What the source of a module shows of its names, without importing it."""

from __future__ import annotations

import pytest

from tenax.cli.input.module_names import names_of_source

EVERYTHING = """
import os.path, json as j
from tenax import task, TaskContext as Context

LIMIT: int = 3
first, (second, *rest) = 1, (2, 3)

@task
def pay(order): return [local for local in order]

@task(name="orders:refund")
async def give_back(order): inner = 1

class Shop:
    def sell(self): ...

if LIMIT:
    def conditional(): ...
else:
    other = pay

try:
    import fast
except ImportError as problem:
    fast = None

with open("x") as handle, handle:
    while (line := handle.readline()):
        pass

match LIMIT:
    case {"a": found, **others}: ...
    case [*many] | many: ...

def later():
    global made_later
    made_later = 1
    hidden = 2
"""


def test_every_way_to_bind_a_name():
    names = names_of_source(EVERYTHING.encode())
    assert names is not None
    assert names.all >= {
        "os", "j", "task", "Context", "LIMIT", "first", "second", "rest", "pay", "give_back", "Shop", "conditional",
        "other", "fast", "problem", "handle", "line", "found", "others", "many", "later", "made_later",
    }  # fmt: skip
    assert not names.all & {"sell", "inner", "hidden", "order", "json"}
    assert names.functions == {"pay", "give_back", "Shop", "conditional", "later"}
    assert names.tasks == {"orders:refund"}


@pytest.mark.parametrize(
    "source",
    [
        "from shop import *",
        "def __getattr__(name): ...",
        "__getattr__, __dir__ = attach(__name__)",
        "globals()['pay'] = print",
        "def make():\n    globals().update(pay=print)",
        "exec('def pay(): ...')",
        "import sys\nsys.modules[__name__] = object()",
        "from sys import modules\nmodules[__name__].pay = print",
        "import shop\nsetattr(shop, 'pay', print)",
        "vars()['pay'] = print",
        "import shop\nshop.__dict__['pay'] = print",
        "import builtins\nbuiltins.exec('pay = 1')",
        "from tenax import task\nfor n in 'ab':\n    task(name=f'shop:{n}')(print)",
        "from tenax import task as t\nt(**{'name': 'shop:pay'})(print)",
        "from tenax.sdk.task import REGISTRY\nREGISTRY.add(1)",
        "def pay(:",
        "pay = '\0'",
        "# coding: no-such-coding\n",
        "(" * 10_000,
    ],
)
def test_nothing_is_said_of_a_module_that_does_not_show_all_of_its_names(source):
    assert names_of_source(source.encode()) is None


def test_a_warning_about_the_source_is_not_shown(recwarn):
    assert names_of_source(b'pattern = "\\d"\nif 1 is 1: pass') is not None
    assert not recwarn.list
