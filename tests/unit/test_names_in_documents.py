"""What documents call by its name is there under that name: modules, commands, options, settings, files."""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import airflow_provider_ernest
from airflow_provider_ernest.cli.main import build_parser
from airflow_provider_ernest.command_line import COMMANDS
from airflow_provider_ernest.provider_info import get_provider_info

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "airflow_provider_ernest"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
DOCUMENTS.remove(ROOT / "CHANGELOG.md")  # what was once there under its name of then

OF_THE_PACKAGE = {path.stem for path in PACKAGE.iterdir()} - {"spark", "__init__"}
"""What a name in a document may begin with for short; properties of Spark begin with "spark.", too."""

OUR_FOLDERS = ("airflow_provider_ernest", "benchmarks", "constraints", "dags", "docs", "tests", ".ci")


def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    head, _, last = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ImportError:
        found = is_there(head) if head else False
        return found and last in _names_in(head)
    return True


def _names_in(name: str) -> set[str]:
    try:
        owner = importlib.import_module(name)
    except ImportError:
        head, _, last = name.rpartition(".")
        owner = getattr(importlib.import_module(head), last)
    return {*dir(owner), *getattr(owner, "__annotations__", {})}


def modules_named(text: str) -> Iterator[str]:
    for name in re.findall(r"\b(?:airflow_provider_ernest|benchmarks)(?:\.\w+)+", text):
        if not name.endswith(".md"):
            yield name.removesuffix(".py")
    for name in re.findall(r"`([a-z_]+(?:\.\w+)+)\b(?:`|\()", text):
        if name.partition(".")[0] in OF_THE_PACKAGE and not name.endswith(".py"):
            yield f"airflow_provider_ernest.{name}"


def files_named(text: str) -> Iterator[str]:
    for name in re.findall(r"`([\w.]+/[\w./-]*|[\w]+\.py)`", text):
        if name.partition("/")[0] in OUR_FOLDERS or ("/" not in name and Path(name).stem in OF_THE_PACKAGE):
            yield name


def commands_named(text: str) -> Iterator[list[str]]:
    """The words after ``ernest``, of code within lines and of blocks."""
    text = re.sub(r"\\\n\s*", " ", text)
    blocks = "\n".join(re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    lines = re.findall(r"^(?:[$] )?(?:airflow |[\w./]+/)?ernest ([a-z][^#|>&\n]*)", blocks, re.MULTILINE)
    for line in (*re.findall(r"`ernest ([a-z][^`,.…]*)`", text), *lines):
        yield shlex.split(line)


def unknown_keywords(text: str) -> list[str]:
    """Arguments, as in ``DesignBounds(rounds=2)``, that a public class does not take."""
    unknown = []
    for name, arguments in re.findall(r"\b([A-Z]\w+)\(([^()]*)\)", text):
        if name in airflow_provider_ernest.__all__:
            taken = inspect.signature(getattr(airflow_provider_ernest, name)).parameters
            is_open = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in taken.values())
            given = re.findall(r"(?:^|[,\s])(\w+)=(?!=)", arguments)
            unknown += [f"{name}({each}=" for each in given if not is_open and each not in taken]
    return unknown


def unknown_in_command(words: list[str]) -> list[str]:
    """Its commands and options that the program has not."""
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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_a_document_names_is_there(document: Path):
    text = document.read_text(encoding="utf-8")
    settings = get_provider_info()["config"]["ernest"]["options"]
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)

    unknown = [
        *(name for name in modules_named(text) if not is_there(name)),
        *(
            name
            for name in files_named(text)
            if not any((at / name).exists() for at in (ROOT, PACKAGE, document.parent))
        ),
        *(name for name in re.findall(r"AIRFLOW__ERNEST__([A-Z_]+)", text) if name.lower() not in settings),
        *(
            name
            for name in re.findall(r"(?:^|`)make ([a-z0-9-]+)", text, re.MULTILINE)
            if name not in targets
        ),
        *unknown_keywords(text),
        *(f"ernest {' '.join(words)}" for words in commands_named(text) if unknown_in_command(words)),
    ]

    assert not unknown


def test_what_is_not_there_is_found():
    assert not is_there("airflow_provider_ernest.model")
    assert not is_there("airflow_provider_ernest.prediction.extrapolation")
    assert is_there("airflow_provider_ernest.prediction.predict.extrapolation")
    assert list(modules_named("by `design.rounding` and benchmarks.house")) == [
        "benchmarks.house",
        "airflow_provider_ernest.design.rounding",
    ]
    assert unknown_in_command(["survey", "LOGS", "--prize", "0.2"]) == ["--prize"]
    assert unknown_keywords("`DesignBounds(rounds=2, most=3)`") == ["DesignBounds(most="]
    assert unknown_in_command(["survye", "LOGS"]) == ["survye"]
    assert [*commands_named("```\nernest fit a.csv \\\n  --job b\n```\n`ernest store list`")] == [
        ["store", "list"],
        ["fit", "a.csv", "--job", "b"],
    ]
