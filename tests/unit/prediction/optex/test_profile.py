"""The closed form of OptEx: its phases, their sum, and what they grow with."""

import math

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.optex import JobProfile, phases, predict

# Tinit and Tprep are those of the paper's Table II; the other numbers are round ones of our own.
PROFILE = JobProfile(
    initialisation_seconds=20.0,
    preparation_seconds=13.0,
    baseline_variable_sharing_seconds=0.5,
    variable_sharing_coefficient=0.2,
    baseline_communication_seconds=60.0,
    communication_coefficient=1.5,
    unit_task_seconds=(4.0, 30.0, 6.0),
    baseline_unit_tasks=3,
    baseline_scale=0.25,
)


def profile_with(**changes):
    fields = {name: getattr(PROFILE, name) for name in PROFILE.__dataclass_fields__}
    return JobProfile(**{**fields, **changes})


def test_the_phases_by_hand():
    # C = 0.1 s, B = 40 s, A = 360 s for the whole input.
    of_run = phases(PROFILE, machines=8, iterations=5, scale=1.0)

    assert of_run.initialisation_seconds == 20.0
    assert of_run.preparation_seconds == 13.0
    assert of_run.variable_sharing_seconds == pytest.approx(8 * 5 * 0.1)
    assert of_run.computation_seconds == pytest.approx(5 * 40 / 8)
    assert of_run.communication_seconds == pytest.approx(360 / 8)
    assert of_run.total_seconds == pytest.approx(20 + 13 + 4 + 25 + 45)


def test_the_time_falls_with_the_machines_and_rises_again():
    machines = np.arange(1, 401)
    seconds = predict(PROFILE, machines=machines, iterations=10)
    lowest = math.sqrt((10 * 40 + 360) / (10 * 0.1))

    at = int(machines[np.argmin(seconds)])

    assert at in (math.floor(lowest), math.ceil(lowest))
    assert np.all(np.diff(seconds[:at]) < 0)
    assert np.all(np.diff(seconds[at:]) > 0)


def test_faster_machines_shorten_what_spreads_and_nothing_else():
    usual = phases(PROFILE, machines=4)
    fast = phases(PROFILE, machines=4, total_speed=8.0)

    assert fast.computation_seconds == pytest.approx(usual.computation_seconds / 2)
    assert fast.communication_seconds == pytest.approx(usual.communication_seconds / 2)
    assert fast.variable_sharing_seconds == usual.variable_sharing_seconds
    assert fast.initialisation_seconds == usual.initialisation_seconds


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"initialisation_seconds": -1.0}, r"initialisation_seconds=-1\.0"),
        ({"preparation_seconds": math.nan}, "preparation_seconds=nan"),
        ({"variable_sharing_coefficient": math.inf}, "variable_sharing_coefficient=inf"),
        ({"unit_task_seconds": (1.0, -2.0, 3.0)}, r"unit_task_seconds\[1\]=-2\.0"),
        ({"baseline_scale": 0.0}, r"baseline_scale=0\.0"),
        ({"baseline_unit_tasks": 4}, "baseline_unit_tasks=4 is not the number of unit_task_seconds, 3"),
    ],
)
def test_profiles_that_cannot_be(changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        profile_with(**changes)


@pytest.mark.parametrize(
    ("run", "named"),
    [
        ({"machines": 0}, "machines=0"),
        ({"machines": 2, "iterations": 0}, "iterations=0"),
        ({"machines": 2, "scale": math.nan}, "scale=nan"),
        ({"machines": 2, "total_speed": 0.0}, r"total_speed=0\.0"),
    ],
)
def test_runs_that_cannot_be(run, named):
    with pytest.raises(InvalidParameterError, match=named):
        phases(PROFILE, **run)
