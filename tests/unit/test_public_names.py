"""What DAG files import from the package itself."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import airflow_provider_ernest as package
from airflow_provider_ernest.provider_info import get_provider_info


def test_all_names_can_be_imported():
    assert [name for name in package.__all__ if getattr(package, name).__name__ != name] == []


def test_a_name_that_is_none_is_refused_as_python_does():
    with pytest.raises(ImportError, match="cannot import name 'SparkJobb' from 'airflow_provider_ernest'"):
        exec("from airflow_provider_ernest import SparkJobb")


def test_completion_knows_the_names_before_they_are_imported():
    assert {*package.__all__, "__version__"} <= {*dir(package)}


def test_type_checkers_see_the_same_names_from_the_same_modules():
    body = ast.parse(Path(package.__file__).read_text(encoding="utf-8")).body
    (checked,) = (each.body for each in body if isinstance(each, ast.If))
    seen = {alias.name: each.module for each in checked for alias in each.names}

    assert sorted(package.__all__) == sorted(seen)
    assert [
        name for name in seen if getattr(import_module(seen[name]), name) is not getattr(package, name)
    ] == []


def test_all_operators_and_sensors_are_among_them():
    info = get_provider_info()
    modules = [
        import_module(name)
        for kind in ("operators", "sensors")
        for listed in info[kind]
        for name in listed["python-modules"]
    ]
    theirs = {
        name
        for module in modules
        for name, one in inspect.getmembers(module, inspect.isclass)
        if one.__module__ == module.__name__ and name.endswith(("Operator", "Sensor"))
    }
    assert theirs <= {*package.__all__}
