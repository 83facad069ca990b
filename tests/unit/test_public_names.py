"""What DAG files import from the package itself, and what Airflow reads of the provider."""

import ast
import importlib
import inspect
import json
import pkgutil
from importlib import import_module
from pathlib import Path

import airflow
import pytest
from airflow.sdk import BaseOperator, BaseOperatorLink, BaseSensorOperator
from airflow.triggers.base import BaseTrigger

import airflow_provider_ernest as package
from airflow_provider_ernest import links, operators, sensors, triggers
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


def classes_of(package, base):
    """Of each class of that kind its module and its name."""
    found = []
    for module_info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(module_info.name)
        classes = inspect.getmembers(module, inspect.isclass)
        found += [
            (module.__name__, name)
            for name, one in classes
            if issubclass(one, base) and one.__module__ == module.__name__
        ]
    return found


@pytest.mark.parametrize(
    ("key", "package", "base"),
    [
        ("operators", operators, BaseOperator),
        ("sensors", sensors, BaseSensorOperator),
        ("triggers", triggers, BaseTrigger),
    ],
)
def test_every_class_is_listed(key, package, base):
    (listed,) = get_provider_info()[key]
    assert sorted(listed["python-modules"]) == sorted({module for module, _ in classes_of(package, base)})


def test_every_link_is_listed_by_its_class():
    listed = get_provider_info()["extra-links"]
    assert sorted(listed) == sorted(
        f"{module}.{name}" for module, name in classes_of(links, BaseOperatorLink)
    )


def test_airflow_accepts_what_the_provider_tells_of_itself():
    """Airflow checks the same when it starts, and leaves out a provider that does not fit."""
    import jsonschema

    schema = Path(airflow.__file__).parent / "provider_info.schema.json"
    jsonschema.validate(get_provider_info(), json.loads(schema.read_text(encoding="utf-8")))
