"""The mutants of benchmarks.mutation, and what becomes of them where tests look and where none does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.mutation.areas import AREAS
from benchmarks.mutation.mutants import mutants_of

ROOT = Path(__file__).parents[3]

CODE = '''"""A module."""

import time

LIMIT = 3


def affordable(price: float, name: str = "small") -> bool:
    """Whether it costs at most 3."""
    if price < 0 and name:
        raise ValueError(f"{price} is less than 0")
    return price <= LIMIT


def unseen() -> int:
    return 1


def halvings(number: int) -> int:
    count = 0
    while number > 0:
        number //= 2
        count += 1
    return count


def restock(stock: int) -> None:
    while stock < 0:
        time.sleep(600)


def doubled(number: int) -> int:
    """
    >>> doubled(2)
    4
    """
    return number * 2
'''

TESTS = """
from airflow_provider_ernest.shop import affordable, halvings, restock

def test_cheap():
    assert affordable(1.0)

def test_dear():
    assert not affordable(9.0)

def test_halvings():
    assert halvings(9) == 4

def test_restock():
    restock(0)

def test_that_fails_without_a_mutant():
    assert affordable(9.0)
"""

RUN = """
import json, sys
from pathlib import Path
from benchmarks.mutation import running
from benchmarks.mutation.mutants import mutants_of

root, path = Path(sys.argv[1]), "airflow_provider_ernest/shop.py"
running.LEAST_LIMIT = 0.5
text = (root / path).read_text()
known = running.learn(root, [path], ["tests"], limit_seconds=60)
outcomes = {}
for mutant in mutants_of(path, text):
    tests = known.tests(path, mutant.function)
    outcome = running.outcome_of(root, path, mutant.applied(text), tests)
    outcomes[mutant.difference(text)] = outcome.name
print(json.dumps(outcomes))
"""


def changed(text: str) -> set[str]:
    """The lines that all mutants of a text put into it."""
    return {
        line[1:].strip()
        for mutant in mutants_of("a.py", text)
        for line in mutant.difference(text).splitlines()
        if line.startswith("+")
    }


def test_conditions_numbers_and_refusals_are_changed() -> None:
    assert changed(CODE) == {
        "LIMIT = 4",
        "def affordable(price: float, name: str = 'XXsmall') -> bool:",
        "if (not (price < 0 and name)):",
        "if (price < 0 or name):",
        "if (price <= 0) and name:",
        "if price < 1 and name:",
        "pass",
        "return (price < LIMIT)",
        "return 2",
        "count = 1",
        "while (number >= 0):",
        "while number > 1:",
        "number /= 2",
        "while (stock <= 0):",
        "while stock < 1:",
        "time.sleep(601)",
        "number //= 3",
        "count -= 1",
        "count += 2",
        "return (number / 2)",
        "return number * 3",
    }


@pytest.mark.parametrize(
    "text",
    [
        'log.info("found", 3)\n',
        'warnings.warn("slow", stacklevel=2)\n',
        "def f(x: Literal['a'] | None) -> list[1]:\n    ...\n",
        "if TYPE_CHECKING:\n    limit = 3\n",
        '__all__ = ["a"]\n',
        'print(f"{x + 1} machines")\n',
        'title = f"{x + 1} machines"\n',
        'title = "a text for people"\n',
        "x = count('machines', machines)\n",
        "x = count('target_machines', machines)\n",
        "x = zip(a, b, strict=True)\n",
        "@cache(maxsize=3)\ndef f(): ...\n",
    ],
)
def test_what_no_run_depends_on_is_left_alone(text: str) -> None:
    assert changed(text) == set()


def test_letters_of_more_than_one_byte_do_not_move_a_change() -> None:
    text = 'x = "µµ ß"; y = a + b  # µ\n'
    (mutant,) = mutants_of("a.py", text)
    assert mutant.applied(text) == 'x = "µµ ß"; y = (a - b)  # µ\n'


def test_mutants_die_where_a_test_looks_and_the_files_stay_as_they_are(tmp_path: Path) -> None:
    package = tmp_path / "airflow_provider_ernest"
    (tmp_path / "tests").mkdir()
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "shop.py").write_text(CODE)
    (tmp_path / "tests" / "test_shop.py").write_text(TESTS)

    ran = subprocess.run(
        [sys.executable, "-c", RUN, tmp_path],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert ran.returncode == 0, ran.stderr
    outcomes = {
        change.splitlines()[-1].lstrip("+ "): outcome for change, outcome in json.loads(ran.stdout).items()
    }
    assert outcomes["if (not (price < 0 and name)):"] == "KILLED"
    assert outcomes["return (price < LIMIT)"] == "SURVIVED", "nobody asks for what costs 3"
    assert outcomes["return 2"] == "NOT_RUN"
    assert outcomes["LIMIT = 4"] == "SURVIVED"
    assert outcomes["return number * 3"] == "KILLED", "by a doctest"
    assert outcomes["while (number >= 0):"] == "TIMED_OUT", "it never ends"
    assert outcomes["while (stock <= 0):"] == "TIMED_OUT", "it sleeps"
    assert (package / "shop.py").read_text() == CODE


@pytest.mark.parametrize("name", AREAS)
def test_areas_name_files_that_are_there(name: str) -> None:
    paths = [*AREAS[name].code, *AREAS[name].tests]
    assert [path for path in paths if not (ROOT / path).exists()] == []
