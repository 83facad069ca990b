"""What Airflow reads of the provider must name all that is there."""

import importlib
import inspect
import json
import pkgutil
from pathlib import Path

import airflow
import pytest
from airflow.sdk import BaseOperator, BaseOperatorLink, BaseSensorOperator
from airflow.triggers.base import BaseTrigger

from airflow_provider_ernest import links, operators, sensors, triggers
from airflow_provider_ernest.provider_info import get_provider_info


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
