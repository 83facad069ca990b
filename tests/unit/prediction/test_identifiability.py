"""Runs that cannot tell terms apart are recognised, and the advice given makes them do so."""

import numpy as np
import pytest

from airflow_provider_ernest.prediction.regression import runs_to_add, undetermined_terms
from airflow_provider_ernest.prediction.terms import ERNEST, basis


def undetermined(machines, scale, terms=ERNEST):
    return undetermined_terms(basis(terms, machines=machines, scale=scale), terms)


def test_varied_runs_determine_all_terms():
    assert undetermined([1, 2, 4, 8, 8], [0.1, 0.1, 0.1, 0.1, 0.05]) == ()


def test_on_two_machine_counts_three_terms_look_alike():
    machines, scale = np.array([1, 1, 4, 4, 4.0]), np.array([0.01, 0.1, 0.01, 0.1, 0.05])

    assert undetermined(machines, scale) == ("1", "log(machines)", "machines")
    assert "at least 3 different numbers of machines (now: 1, 4)" in runs_to_add(
        ("1", "log(machines)", "machines"), machines=machines, scale=scale
    )


def test_where_samples_grow_with_the_machines_spread_work_looks_fixed():
    machines = np.array([1, 2, 4, 8, 16.0])
    scale = machines / 100

    assert undetermined(machines, scale) == ("1", "scale/machines")
    advice = runs_to_add(("1", "scale/machines"), machines=machines, scale=scale)
    assert "independently" in advice


@pytest.mark.parametrize("counts", [[1, 2], [3], [2, 40]])
def test_following_the_advice_helps(counts):
    machines, scale = (grid.ravel() for grid in np.meshgrid(np.array(counts, float), [0.01, 0.05, 0.1]))
    open_terms = undetermined(machines, scale)
    assert open_terms
    assert "at least 3" in runs_to_add(open_terms, machines=machines, scale=scale)

    more = [count + 5 for count in range(3 - len(counts))]
    assert undetermined([*machines, *more], [*scale, *([0.1] * len(more))]) == ()
