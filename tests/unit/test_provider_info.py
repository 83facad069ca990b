"""What Airflow reads of the provider must name all that is there."""

import importlib
import inspect
import pkgutil

import pytest
from airflow.sdk import BaseOperator
from airflow.triggers.base import BaseTrigger

from airflow_provider_ernest import operators, triggers
from airflow_provider_ernest.provider_info import get_provider_info


def modules_with(package, base):
    found = []
    for module_info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(module_info.name)
        classes = inspect.getmembers(module, inspect.isclass)
        if any(issubclass(one, base) and one.__module__ == module.__name__ for _, one in classes):
            found.append(module.__name__)
    return found


@pytest.mark.parametrize(
    ("key", "package", "base"), [("operators", operators, BaseOperator), ("triggers", triggers, BaseTrigger)]
)
def test_every_class_is_listed(key, package, base):
    (listed,) = get_provider_info()[key]
    assert sorted(listed["python-modules"]) == sorted(modules_with(package, base))
