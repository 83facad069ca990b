"""Closed forms and draws against the sum over a fine grid; see `grid`."""

from dataclasses import replace

import numpy as np
import pytest

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.prediction.averaging import TermAveraging

from .grid import grid_posterior
from .jobs import runs_of

MACHINES = np.array([2.0, 3.0, 4.0, 8.0, 2.0])
SCALE = np.array([0.1, 0.1, 0.1, 0.1, 0.02])

SIMPLE = AveragingPrior(
    driver_share=0.0,
    noise=(0.08,),
    noise_weights=(1.0,),
    discrepancy=(0.0,),
    discrepancy_weights=(1.0,),
    memory_cut=(),
    plateau=0.0,
    plateau_observed=0.0,
    other_shape=0.0,
)
QUIET = replace(SIMPLE, noise=(0.04,))
UNKNOWN_DRIVER = replace(QUIET, driver_share=0.5)
SMOOTH_DEVIATIONS = replace(QUIET, discrepancy=(0.15,))

CASES = {
    "both terms clear": (SIMPLE, {"1": 2.0, "scale/machines": 100.0}),
    "one term in doubt": (SIMPLE, {"scale/machines": 100.0, "log(machines)": 0.15}),
    "one term small": (QUIET, {"scale/machines": 100.0, "log(machines)": 0.3}),
    "two ways to be constant": (SIMPLE, {"1": 5.0, "scale": 3.0}),
    "does it spread": (QUIET, {"scale/machines": 100.0, "scale": 2.0}),
    "where is the driver": (UNKNOWN_DRIVER, {"1": 4.0, "scale/machines": 40.0}),
    "deviating smoothly": (SMOOTH_DEVIATIONS, {"1": 2.0, "scale/machines": 100.0}),
}


@pytest.mark.parametrize("target", [(16.0, 1.0), (4.0, 0.05)], ids=["beyond", "within"])
@pytest.mark.parametrize("case", CASES)
def test_the_averaging_agrees_with_a_sum_over_a_grid(case, target):
    prior, job = CASES[case]
    runs = runs_of(job, machines=MACHINES, scale=SCALE, noise=prior.noise[0], seed=0)
    oracle = grid_posterior(tuple(job), prior, **runs, target=target)

    averaging = TermAveraging(terms=tuple(job), prior=prior).fit(**runs)

    np.testing.assert_allclose(averaging.probabilities_, oracle.probabilities @ oracle.included, atol=0.06)
    expected = oracle.probabilities @ oracle.coefficients
    spread = np.sqrt(oracle.probabilities @ (oracle.coefficients - expected) ** 2)
    np.testing.assert_allclose((averaging.coefficients_ - expected) / spread, 0.0, atol=0.3)
    assert averaging.driver_share_ == pytest.approx(float(oracle.probabilities @ oracle.driver), abs=0.06)
    machines, scale = target
    (predicted,) = averaging.predict(machines=machines, scale=scale)
    # The closed form is one to first order, which is why the smoothly deviating job is off by most.
    assert oracle.single_run_below(predicted) == pytest.approx(0.5, abs=0.06)
    for level in (0.5, 0.8, 0.95):
        (low,), (high,) = averaging.interval(machines=machines, scale=scale, level=level)
        assert oracle.single_run_below(low) == pytest.approx(0.5 - level / 2, abs=0.06)
        assert oracle.single_run_below(high) == pytest.approx(0.5 + level / 2, abs=0.06)
