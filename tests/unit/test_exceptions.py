"""Errors go from process to process, as those of Airflow's task runner do: copies tell the same."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_ernest import exceptions
from airflow_provider_ernest.exceptions import ErnestError, InfeasibleGoalError, InvalidParameterError

ARGUMENTS: dict[type[ErnestError], Callable[[], ErnestError]] = {
    InvalidParameterError: lambda: InvalidParameterError("scale", [7], "is too large", remedy="Take 1."),
    InfeasibleGoalError: lambda: InfeasibleGoalError(
        "No configuration is as fast.",
        remedy="Wait longer.",
        most_probable={"executors": 4},
        earliest_deadline={"limit": 41.5},
        least_budget=None,
    ),
}
ERRORS = [
    each
    for _, each in inspect.getmembers(exceptions, inspect.isclass)
    if issubclass(each, BaseException) and each.__module__ == exceptions.__name__
]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))]
)
@pytest.mark.parametrize("kind", ERRORS)
def test_a_copy_of_an_error_tells_the_same(kind: type[ErnestError], copied: Callable[[Any], Any]):
    error = ARGUMENTS.get(kind, lambda: kind("It is at s3://me:secret@bucket.", remedy="Mend it."))()

    same = copied(error)

    assert type(same) is kind
    assert str(same) == str(error)
    assert vars(same) == vars(error)
    assert "secret" not in str(same)
