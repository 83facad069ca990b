"""Non-negative least squares against scikit-learn, and where scipy's active set goes in circles."""

import numpy as np
import pytest
from scipy.optimize import nnls

from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.regression import non_negative_least_squares

# Runs that once made scipy's active set method give up.
CIRCLING = {
    "machines": [16.0, 15.0, 16.0, 4.0, 4.0, 16.0, 10.0, 1.0],
    "scale": [0.1, 0.1, 0.09, 0.1, 0.09, 0.02, 0.01, 0.01],
    "seconds": [
        9.844374494612902,
        10.662471650839773,
        9.299953657195656,
        19.731823828172,
        16.709849359112567,
        6.837657313720578,
        5.529025905171084,
        7.276133178557691,
    ],
}


def is_optimal(rows, values, coefficients):
    """Karush, Kuhn and Tucker: no step that keeps the coefficients non-negative brings it closer."""
    lengths = np.linalg.norm(rows, axis=0)
    gradient = (rows / lengths).T @ (values - rows @ coefficients) / np.linalg.norm(values)
    used = coefficients * lengths > 1e-9 * np.linalg.norm(values)
    return gradient.max() < 1e-6 and np.abs(gradient[used]).max(initial=0.0) < 1e-6


def test_a_column_of_zeros_and_columns_that_are_the_same():
    rows = np.array([[1.0, 0.0, 2.0, 2.0], [1.0, 0.0, 3.0, 3.0], [1.0, 0.0, 7.0, 7.0]])

    found = non_negative_least_squares(rows, rows @ np.array([2.0, 0.0, 1.0, 0.0]))

    assert np.all(np.isfinite(found))
    assert found.min() >= 0
    np.testing.assert_allclose(rows @ found, [4.0, 5.0, 9.0], rtol=1e-9)


@pytest.fixture
def cycling_nnls(monkeypatch):
    """An active set method that always gives up."""

    def give_up(*_, **__):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr("airflow_provider_ernest.prediction.regression.nnls", give_up)


@pytest.mark.usefixtures("cycling_nnls")
@pytest.mark.parametrize("seed", range(5))
def test_where_the_active_set_method_gives_up_another_finds_the_same(seed):
    generator = np.random.default_rng(seed)
    rows = generator.uniform(0, 1, size=(12, 5))
    values = rows @ generator.normal(0.5, 1.0, size=5) + generator.normal(0, 0.3, size=12)

    expected, _ = nnls(rows, values)
    found = non_negative_least_squares(rows, values)

    np.testing.assert_allclose(found, expected, atol=1e-6 * expected.max())
    assert found.min() >= 0


def test_runs_that_made_scipy_go_in_circles_can_be_fitted():
    averaging = TermAveraging().fit(**CIRCLING)

    predicted = averaging.predict(machines=CIRCLING["machines"], scale=CIRCLING["scale"])
    np.testing.assert_allclose(predicted, CIRCLING["seconds"], rtol=0.3)


@pytest.mark.parametrize("seed", range(10))
def test_what_is_found_is_the_optimum(seed):
    generator = np.random.default_rng(seed)
    rows = 10.0 ** generator.uniform(-6, 6, size=(8, 6))
    values = np.ones(8)

    assert is_optimal(rows, values, non_negative_least_squares(rows, values))
