"""The criteria against their definitions, and exchanges against doing them."""

import math

import numpy as np
import pytest

from airflow_provider_ernest.design.problem import Criterion
from airflow_provider_ernest.settings.bounds import CRITERIA

TARGET_ROWS = np.random.default_rng(7).random((5, 4))


def criterion(name):
    return Criterion.named(name, terms=4, target_rows=TARGET_ROWS)


def random_information(generator, runs=9):
    rows = generator.random((runs, 4)) + 0.1
    return rows, rows.T @ rows


@pytest.mark.parametrize("seed", range(5))
def test_the_values_are_those_of_the_definitions(seed):
    _, information = random_information(np.random.default_rng(seed))
    covariance = np.linalg.inv(information)

    assert criterion("A").value(information) == pytest.approx(np.trace(covariance))
    assert criterion("D").value(information) == pytest.approx(np.linalg.det(covariance) ** (1 / 4))
    of_predictions = [row @ covariance @ row for row in TARGET_ROWS]
    assert criterion("I").value(information) == pytest.approx(np.mean(of_predictions))


@pytest.mark.parametrize("name", CRITERIA)
def test_a_singular_matrix_is_infinitely_bad(name):
    assert criterion(name).value(np.diag([1.0, 1.0, 1.0, 0.0])) == math.inf
    assert criterion(name).value(np.zeros((4, 4))) == math.inf


@pytest.mark.parametrize("name", ["A", "D", "I"])
def test_the_gain_of_each_exchange_is_what_the_exchange_brings(name):
    generator = np.random.default_rng(5)
    rows, information = random_information(generator)
    entering = np.vstack([generator.random((6, 4)), rows[:1]])
    leaving = np.vstack([np.zeros(4), rows])
    function = criterion(name)

    gains = function.gains_of_swapping(np.linalg.inv(information), entering, leaving)

    for i, comes in enumerate(entering):
        for j, goes in enumerate(leaving):
            after = information + np.outer(comes, comes) - np.outer(goes, goes)
            if name == "D":
                expected = np.linalg.det(after) / np.linalg.det(information) - 1
            else:
                expected = function.value(information) - function.value(after)
            assert gains[i, j] == pytest.approx(expected, rel=1e-6, abs=1e-9)
