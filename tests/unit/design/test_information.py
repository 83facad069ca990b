"""The information matrix and the criterion that designs minimise."""

import numpy as np

from airflow_provider_ernest.design.criteria import information_matrix, normalised


def test_information_adds_up_over_repetitions_and_observed_runs():
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    observed = np.array([[5.0, 6.0]])

    information = information_matrix(rows, np.array([2, 1]), observed)

    expected = (
        2 * np.outer(rows[0], rows[0]) + np.outer(rows[1], rows[1]) + np.outer(observed[0], observed[0])
    )
    np.testing.assert_allclose(information, expected)


def test_the_unit_of_a_term_does_not_matter_once_normalised():
    rows = np.random.default_rng(1).random((30, 3)) + 0.1
    observed = rows[:2]
    units = np.array([1.0, 1000.0, 0.001])

    once, observed_once = normalised(rows, observed)
    again, observed_again = normalised(rows * units, observed * units)

    np.testing.assert_allclose(once, again)
    np.testing.assert_allclose(observed_once, observed_again)
    np.testing.assert_allclose(once.mean(axis=0), 1.0)


def test_a_term_that_is_zero_everywhere_stays_zero():
    rows, observed = normalised(np.array([[0.0, 1.0], [0.0, 3.0]]), None)

    assert rows[:, 0].tolist() == [0.0, 0.0]
    assert observed.shape == (0, 2)
