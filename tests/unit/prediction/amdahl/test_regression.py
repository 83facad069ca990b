"""The extended Amdahl model fitted to all runs at once."""

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import FitError
from airflow_provider_ernest.prediction.amdahl import AmdahlRegression


def law(machines, scale, *, alpha=0.9):
    return (alpha / np.asarray(machines) + 1 - alpha) * (10 + 200 * np.asarray(scale))


RUNS = {"machines": [1, 2, 4, 8, 2, 8], "scale": [0.1, 0.1, 0.2, 0.2, 0.4, 0.4]}


@pytest.mark.parametrize("alpha", [0.0, 0.35, 0.973, 1.0])
def test_exact_runs_give_the_law_back(alpha):
    regression = AmdahlRegression().fit(**RUNS, seconds=law(**RUNS, alpha=alpha))

    assert regression.alpha_ == pytest.approx(alpha, abs=1e-5)
    np.testing.assert_allclose(
        regression.predict(machines=[16, 64], scale=1.0), law([16, 64], 1.0, alpha=alpha), rtol=1e-3
    )


def test_no_other_alpha_fits_noisy_runs_better():
    seconds = law(**RUNS) * np.random.default_rng(3).lognormal(0, 0.1, size=6)

    def error(regression):
        return np.sum((regression.predict(**RUNS) / seconds - 1) ** 2)

    best = AmdahlRegression().fit(**RUNS, seconds=seconds)
    for alpha in np.linspace(0, 1, 201):
        rows = (alpha / np.array(RUNS["machines"]) + 1 - alpha)[:, None] * np.column_stack(
            [np.ones(6), RUNS["scale"]]
        )
        coefficients = np.linalg.lstsq(rows / seconds[:, None], np.ones(6), rcond=None)[0]
        if coefficients.min() >= 0:
            assert error(best) <= np.sum((rows @ coefficients / seconds - 1) ** 2) * (1 + 1e-9)


def test_the_degree_is_lowered_where_all_runs_read_the_same():
    machines = np.array([1, 2, 4, 8])

    regression = AmdahlRegression().fit(machines=machines, scale=1.0, seconds=law(machines, 1.0))

    assert regression.coefficients_ == pytest.approx([210.0], rel=1e-6)
    assert regression.predict(machines=16, scale=1.0) == pytest.approx([law(16, 1.0)], rel=1e-6)


def test_runs_on_one_number_of_machines_do_not_tell_alpha():
    with pytest.raises(FitError, match="All runs used 4 machines"):
        AmdahlRegression().fit(machines=4, scale=[0.1, 0.2, 0.3], seconds=[1.0, 2.0, 3.0])
