"""What benchmarks.house counts, on a house of a few lines."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.house import House, circles, code_lines, longest_chain, main

FILES = {
    "airflow_provider_ernest/__init__.py": '"""Nothing else."""\n',
    "airflow_provider_ernest/task_group.py": """
        from airflow_provider_ernest import settings
        from airflow_provider_ernest.steps.design import designed

        def group(bounds: settings.Bounds) -> object:
            return designed(limit=bounds.max_machines)
        """,
    "airflow_provider_ernest/settings.py": """
        from dataclasses import dataclass

        @dataclass
        class Bounds:
            \"\"\"Of the sample runs: max_machines in a text counts nowhere.\"\"\"

            max_machines: int
        """,
    "airflow_provider_ernest/steps/__init__.py": "",
    "airflow_provider_ernest/steps/design.py": """
        from typing import TYPE_CHECKING

        from .rounding import rounded

        if TYPE_CHECKING:
            from airflow_provider_ernest.settings import Bounds

        class Operator:
            def __init__(self, target_max_machines: int) -> None:
                self.target_max_machines = target_max_machines

        def designed(limit: int) -> int:
            return rounded(limit)
        """,
    "airflow_provider_ernest/steps/rounding.py": """
        def rounded(limit: int) -> int:
            from airflow_provider_ernest.steps import design

            return limit
        """,
    "airflow_provider_ernest/page.py": "max_machines = 3  # nothing that the task group reaches\n",
    "tests/test_it.py": "one = 1\ntwo = 2\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = text.splitlines(keepends=True)
        path.write_text("".join(line.removeprefix(" " * 8) for line in lines if line.strip() or "\n" in line))
    return tmp_path


def test_counts_modules_and_who_imports_them(checkout: Path) -> None:
    house = House(checkout)

    assert house.rows()["modules"] == "5"
    assert {
        name.rpartition(".")[2]: only.rpartition(".")[2] for name, only in house.single_importers().items()
    } == {
        "settings": "task_group",
        "rounding": "design",
    }
    assert house.rows()["modules with one importer (beside it)"] == "2 (2)"


def test_follows_chains_at_the_top_and_finds_circles_through_functions(checkout: Path) -> None:
    house = House(checkout)

    assert longest_chain(house.graph(at_top=True)) == 3, "task group, design, rounding"
    assert circles(house.graph(at_top=True)) == []
    (circle,) = circles(house.graph())
    assert {name.rpartition(".")[2] for name in circle} == {"design", "rounding"}
    assert longest_chain(house.graph()) == 3, "both members of the circle count"


def test_a_value_is_followed_by_its_name_from_the_task_group_on(checkout: Path) -> None:
    way = House(checkout).way("max_machines")

    assert {name.rpartition(".")[2] for name in way.modules} == {"task_group", "settings", "design"}
    assert {name.rpartition(".")[2] for name in way.classes} == {"Bounds", "Operator"}
    assert {name.rpartition(".")[2] for name in way.functions} == {"__init__"}


def test_lines_of_code_are_neither_blank_nor_comments_nor_docstrings() -> None:
    text = '''"""A module
of two lines."""

LIMIT = 3  # why
"""What is limited."""


def f() -> str:
    """Its docstring."""
    # a comment
    return """a text
    of two lines"""
'''
    assert code_lines(text) == 4


def test_an_earlier_revision_stands_beside_the_present_files(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git = ["git", "-C", str(checkout), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "First"], ["tag", "first"]):
        subprocess.run([*git, *command], check=True)
    (checkout / "airflow_provider_ernest" / "page.py").unlink()

    assert main(["--repo", str(checkout), "--before", "first"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "| | first | now |"
    assert "| modules | 5 | 4 |" in printed
    assert "| lines of tests | 2 | 2 |" in printed
