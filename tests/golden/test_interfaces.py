"""What DAG files may import, and which parameters with which defaults that has."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from typing import Any

import pytest

from tests.golden.dag_runs import api_server
from tests.golden.names import PACKAGE, PUBLIC, ROOT, public

IMPORT = re.compile(rf"^ *from ({PACKAGE}[\w.]*) import (?:\(([^)]*)\)|([^\n(]+))", re.MULTILINE)


def imported() -> dict[tuple[str, str], set[str]]:
    """What documentation and example DAGs import, as module and name, and the files that do."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("dags/**/*.py")]):
        for module, several, one in IMPORT.findall(path.read_text()):
            for name in re.split(r"[,\s]+", re.sub("#.*", "", several or one).strip(", \n")):
                found.setdefault((module, name), set()).add(str(path.relative_to(ROOT)))
    return found


@pytest.mark.parametrize(("module", "name"), sorted(imported()))
def test_what_documentation_and_examples_import_is_there(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name)


def test_what_documentation_and_examples_import(golden: Any) -> None:
    lines = [f"from {module} import {name}" for module, name in sorted(imported())]
    golden("interfaces/imports.txt", "\n".join(lines))


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_parameters(golden: Any, name: str) -> None:
    golden(f"interfaces/{name}.txt", "\n".join([f"{name}(", *_parameters(public(name)), ")", *_fields(name)]))


def test_the_pages_describe_their_json(golden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with api_server([], monkeypatch) as client:
        described = client.get("/openapi.json").json()
    described["info"]["version"] = "<version>"
    golden("interfaces/openapi.json", described)


def _parameters(called: Any) -> list[str]:
    stated = inspect.signature(called.__init__ if inspect.isclass(called) else called).parameters
    return [f"    {_parameter(each)}" for each in stated.values() if each.name != "self"]


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    text = f"{stars.get(parameter.kind, '')}{parameter.name}"
    if parameter.default is inspect.Parameter.empty:
        return text
    return f"{text} = {_default(parameter.default)}"


def _default(value: Any) -> str:
    if "HAS_DEFAULT_FACTORY" in repr(type(value)):
        return "(made anew)"
    if dataclasses.is_dataclass(value):
        return f"{type(value).__name__}()"  # the fields have defaults of their own
    # What stands for nothing stated has neither a name nor a text.
    return "(nothing stated)" if type(value) is object else repr(value)


def _fields(name: str) -> list[str]:
    """What may be a template in an operator, but for what a stock operator has."""
    lines = getattr(public(name), "__mro__", ())
    stock = [each for each in lines if not each.__module__.startswith(PACKAGE)]
    fields = {*getattr(public(name), "template_fields", ())}.difference(
        *(getattr(each, "template_fields", ()) for each in stock)
    )
    return ["", "templates:", *(f"    {field}" for field in sorted(fields))] if fields else []
