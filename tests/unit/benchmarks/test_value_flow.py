"""A number that a user states, followed through a package of a few lines."""

from __future__ import annotations

import pytest

from benchmarks.value_flow import ANSWER, Flow, flow_of

FILES = {
    "__init__.py": "",
    "settings.py": """
from dataclasses import dataclass

@dataclass(frozen=True)
class SizingGoal:
    max_machines: int
    deadline: float

@dataclass(frozen=True)
class Limits:
    max_machines: int

@dataclass(frozen=True)
class Prediction:
    seconds: float
""",
    "predict.py": """
from typing import TypedDict, Unpack
from shop.settings import Limits, Prediction

class Columns(TypedDict):
    machines: int

def columns_of(limits: Limits) -> Columns:
    return Columns(machines=limits.max_machines)

def seconds_of(**columns: Unpack[Columns]) -> float:
    return 1 / columns["machines"]

def predict(limits: Limits) -> Prediction:
    return Prediction(seconds=seconds_of(**columns_of(limits)))
""",
    "checks.py": """
def checked(value: int) -> int:
    return max(value, 1)
""",
    "group.py": """
from dataclasses import asdict
from shop.operator import Operator
from shop.settings import Limits, SizingGoal

def chain(goal: SizingGoal, limits: Limits) -> list[Operator]:
    of_production = Operator(max_machines=goal.max_machines, wait=goal.deadline)
    return [of_production, Operator(**asdict(limits), wait=1.0)]
""",
    "operator.py": """
from functools import partial
from shop.checks import checked
from shop.sizing import Layout, sized

class Operator:
    def __init__(self, *, max_machines: int, wait: float) -> None:
        self.max_machines = max_machines
        self.wait = checked(int(wait))

    def execute(self) -> dict[str, dict[str, str]]:
        counts = [count for count in range(checked(self.max_machines))]
        layout_of = partial(Layout, counts[-1])
        return {"spark_conf": sized(layout_of())}
""",
    "sizing.py": """
class Layout:
    def __init__(self, machines: int) -> None:
        self.machines = machines

def sized(layout: Layout) -> dict[str, str]:
    return {"spark.cores.max": str(layout.machines)}
""",
}


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Flow:
    root = tmp_path_factory.mktemp("checkout")
    (root / "shop").mkdir()
    for name, text in FILES.items():
        (root / "shop" / name).write_text(text)
    return flow_of(root, "shop", properties="spark_conf", inside="shop.operator")


def test_a_value_is_followed_from_field_to_field(flow: Flow) -> None:
    way = flow.way("SizingGoal", "max_machines")

    assert [str(place) for place, _ in way if place.kind != ANSWER] == [
        "shop.settings: SizingGoal.max_machines",
        "shop.operator: Operator.__init__ max_machines",
        "shop.operator: Operator.max_machines",
        "shop.operator: Operator.execute count:12",
        "shop.operator: Operator.execute counts:12",
        "shop.sizing: Layout.__init__ machines",
        "shop.sizing: Layout.machines",
        "shop.sizing: sized()",
    ]
    assert dict(way)[way[1][0]] == "shop.group", "the module that hands it on is one of those to open"


def test_settings_that_are_unpacked_are_followed_by_name(flow: Flow) -> None:
    assert flow.way("Limits", "max_machines")


def test_columns_that_are_unpacked_are_followed(flow: Flow) -> None:
    assert flow.way("Limits", "max_machines", to=("Prediction", "seconds"))


def test_a_value_leaves_a_function_to_the_call_by_which_it_came(flow: Flow) -> None:
    # Both go through checked(), and only one of the two into the properties.
    assert flow.way("SizingGoal", "deadline") == []
    assert flow.way("SizingGoal", "deadline", to=("Operator", "wait"))
