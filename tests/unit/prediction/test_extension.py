"""Terms are added where runs demand them, and only there."""

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.terms import ERNEST
from airflow_provider_ernest.prediction.training import extend_terms
from tests.examples import observe

MACHINES = [1, 1, 2, 2, 3, 4, 4, 6, 8, 8]
SCALE = [0.02, 0.1, 0.05, 0.2, 0.1, 0.05, 0.3, 0.2, 0.1, 0.3]
SPREAD = 5.0 + 100.0 * np.array(SCALE) / MACHINES


def observed(seconds, *, noise=0.0):
    factors = np.exp(noise * np.random.default_rng(3).standard_normal(len(seconds)))
    return observe(machines=MACHINES, scale=SCALE, seconds=seconds * factors)


def test_a_term_that_the_job_has_is_added():
    seconds = SPREAD + 3000.0 * np.array(SCALE) ** 2 / MACHINES

    assert extend_terms(observed(seconds), above_percent=5.0) == (*ERNEST, "scale^2/machines")


def test_as_many_are_added_as_the_job_has():
    seconds = observed(10.0 + 200.0 * np.array(SCALE) / MACHINES + 0.5 * np.array(MACHINES))

    found = extend_terms(
        seconds, terms=("1",), extensions=("scale", "machines", "scale/machines"), above_percent=1.0
    )

    assert set(found) == {"1", "scale/machines", "machines"}


def test_a_formula_of_the_users_is_added():
    spilled = 900.0 * np.maximum(np.array(SCALE) / MACHINES - 0.04, 0.0)
    own = "max(scale/machines - 0.04, 0)"

    assert extend_terms(observed(SPREAD + spilled), extensions=["sqrt(machines)", own], above_percent=5) == (
        *ERNEST,
        own,
    )


@pytest.mark.parametrize("method", ["relative", "classic"])
def test_a_job_that_the_terms_describe_keeps_them(method):
    assert extend_terms(observed(SPREAD), above_percent=5.0, method=method) == ERNEST


def test_no_more_terms_are_added_than_the_runs_determine():
    few = observed(SPREAD + 3000.0 * np.array(SCALE) ** 2 / MACHINES)[:5]

    assert len(extend_terms(few, terms=("1", "scale/machines"), above_percent=0.1)) <= 3


def test_averaging_is_told_to_name_the_terms():
    with pytest.raises(InvalidParameterError, match="weighs all its terms by itself"):
        extend_terms(observed(SPREAD), method="averaging")
