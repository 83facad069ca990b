"""What the documents name is there: commands and their options, settings, arguments, routes, programs."""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import airflow_provider_ernest
from airflow_provider_ernest.cli.command import build_parser
from airflow_provider_ernest.command_line import COMMANDS
from airflow_provider_ernest.provider_info import get_provider_info

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OPTIONS = get_provider_info()["config"]["ernest"]["options"]
DOCUMENTS = [
    *(path for path in sorted(ROOT.glob("*.md")) if path.name != "CHANGELOG.md"),
    *sorted(DOCS.rglob("*.md")),
]


def commands_named(text: str) -> Iterator[list[str]]:
    """The words after ``ernest``, of code within lines and of blocks."""
    text = re.sub(r"\\\n\s*", " ", text)
    blocks = "\n".join(re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    lines = re.findall(r"^(?:[$] )?(?:airflow |[\w./]+/)?ernest ([a-z][^#|>&\n]*)", blocks, re.MULTILINE)
    for line in (*re.findall(r"`ernest ([a-z][^`,.…]*)`", text), *lines):
        yield shlex.split(line)


def unknown_in_command(words: list[str]) -> list[str]:
    """Commands and options that the program does not have."""
    parser: argparse.ArgumentParser = build_parser(COMMANDS)
    unknown = []
    for word in words:
        below = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
        if below and word in below[0].choices:
            parser = below[0].choices[word]
        elif below and not word.startswith("-"):
            return [word]
        elif word.startswith("--") and word.partition("=")[0] not in parser._option_string_actions:
            unknown.append(word)
    return unknown


def unknown_arguments(text: str) -> Iterator[str]:
    """Arguments, as in ``DesignBounds(rounds=2)``, that a public class does not take."""
    for name, arguments in re.findall(r"\b([A-Z]\w+)\(([^()]*)\)", text):
        if name in airflow_provider_ernest.__all__:
            taken = inspect.signature(getattr(airflow_provider_ernest, name)).parameters
            if not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in taken.values()):
                given = re.findall(r"(?:^|[,\s])(\w+)=(?!=)", arguments)
                yield from (f"{name}({each}=" for each in given if each not in taken)


def unknown_names(text: str) -> Iterator[str]:
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for words in commands_named(text):
        if unknown_in_command(words):
            yield f"ernest {' '.join(words)}"
    yield from unknown_arguments(text)
    for name in re.findall(r"AIRFLOW__ERNEST__([A-Z_]+)", text):
        if name.lower() not in OPTIONS:
            yield name
    for target in re.findall(r"(?:^|`)make ([a-z0-9-]+)", text, re.MULTILINE):
        if target not in targets:
            yield f"make {target}"
    for module in re.findall(r"python -m (benchmarks(?:\.\w+)+)", text):
        if importlib.util.find_spec(module) is None:
            yield module


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_a_document_names_is_there(document: Path):
    assert not [*unknown_names(document.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    "text",
    [
        "```\nernest survey LOGS \\\n  --prize 0.2\n```",
        "`ernest survye LOGS`",
        "`DesignBounds(rounds=2, most=3)`",
        "AIRFLOW__ERNEST__SHOP",
        "`make coffee`",
        "`python -m benchmarks.nothing`",
    ],
)
def test_what_is_not_there_is_found(text: str):
    assert [*unknown_names(text)]


def test_every_setting_is_documented():
    page = (DOCS / "reference" / "configuration.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| `?([^|`]*)`? \|", page, re.MULTILINE))
    assert {name: default.strip() for name, default in rows.items()} == {
        name: option["default"] or "" for name, option in OPTIONS.items()
    }


def test_every_route_is_documented():
    page = (DOCS / "reference" / "json_api.md").read_text(encoding="utf-8")
    openapi = ROOT / "tests" / "golden" / "expected" / "interfaces" / "openapi.json"
    routes = json.loads(openapi.read_text(encoding="utf-8"))["paths"]
    assert set(re.findall(r"^\| `/ernest([^`]*)`", page, re.MULTILINE)) == set(routes)


README_DAGS = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize("source", README_DAGS, ids=["history", "sample runs"])
def test_a_dag_of_the_readme_is_whole_and_parses(source):
    names: dict[str, object] = {}
    exec(source, names)
    dag = names["production"].dag

    dag.validate()
    assert "ernest.choose_config" in dag.get_task("production").get_flat_relative_ids(upstream=True)
    assert len(source.splitlines()) <= 25
