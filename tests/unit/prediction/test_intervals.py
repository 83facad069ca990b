"""Quantiles of mixtures against their exact distribution, and intervals that are widened."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from airflow_provider_ernest.prediction.regression import (
    Widening,
    mixture_probabilities,
    mixture_quantiles,
    two_sided,
)


def exact_quantile(means, standard_deviations, weights, probability):
    def missing(value):
        return float(weights @ norm.cdf(value, means, standard_deviations)) - probability

    return brentq(missing, means.min() - 50, means.max() + 50, xtol=1e-12)


@pytest.mark.parametrize("probability", [0.005, 0.025, 0.1, 0.5, 0.9, 0.975, 0.995])
def test_the_quantiles_of_a_mixture(probability):
    generator = np.random.default_rng(0)
    means = np.column_stack([generator.normal(3.0, 0.2, 50), generator.choice([0.0, 5.0], 50)])
    standard_deviations = generator.uniform(0.01, 0.5, size=(50, 2))
    weights = generator.dirichlet(np.full(50, 0.5))

    found = mixture_quantiles(means, standard_deviations, (probability,), weights=weights)

    jobs = zip(means.T, standard_deviations.T, strict=True)
    expected = [exact_quantile(*of_job, weights, probability) for of_job in jobs]
    np.testing.assert_allclose(found, [expected], atol=1e-8)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.99, 0.999])
def test_equal_components_give_their_own_quantiles_however_rare(level):
    found = mixture_quantiles(
        np.full((7, 3), 2.0), np.full((7, 3), 0.04), two_sided(level), weights=np.full(7, 1 / 7)
    )

    expected = norm.ppf(two_sided(level), 2.0, 0.04)
    np.testing.assert_allclose(found, np.repeat(expected[:, None], 3, axis=1), atol=1e-9)


def test_widened_to_a_least_spread_with_the_probability_of_the_level():
    seconds = np.array([100.0])
    bounds = (np.array([99.0]), np.array([300.0]))
    for level in (0.8, 0.95):
        wider = Widening(factors=np.ones(1), least_log_spreads=np.array([0.2]))

        low, high = wider.interval(seconds, bounds, level=level)

        distance = norm.ppf(0.5 + level / 2) * 0.2
        assert low == pytest.approx([100 * math.exp(-distance)])
        # The side that is wide enough already stays as it is.
        assert high == pytest.approx([300.0])


def test_the_probabilities_of_a_mixture_undo_its_quantiles():
    generator = np.random.default_rng(1)
    means, standard_deviations = generator.normal(3.0, 0.5, (50, 4)), generator.uniform(0.01, 0.5, (50, 4))
    wanted, weights = (0.02, 0.3, 0.5, 0.97), generator.dirichlet(np.ones(50))

    quantiles = mixture_quantiles(means, standard_deviations, wanted, weights=weights)

    for probability, values in zip(wanted, quantiles, strict=True):
        found = mixture_probabilities(means, standard_deviations, values, weights=weights)
        np.testing.assert_allclose(found, probability, atol=1e-8)


@pytest.mark.parametrize("level", [0.2, 0.8, 0.95])
@pytest.mark.parametrize(("factor", "least"), [(1.0, 0.0), (2.5, 0.0), (1.0, 0.3), (1.5, 0.3), (1.0, 0.01)])
def test_the_probability_within_a_widened_bound_is_that_of_the_bound(level, factor, least):
    """Runs of 100 s with a log-spread of 0.1."""
    seconds = np.array([100.0])
    wider = Widening(factors=np.array([factor]), least_log_spreads=np.array([least]))
    below, above = (np.exp(norm.ppf(side, math.log(100.0), 0.1)) for side in two_sided(level))

    low, high = wider.interval(seconds, (np.array([below]), np.array([above])), level=level)

    def narrow(limits):
        return norm.cdf(np.log(limits), math.log(100.0), 0.1)

    for bound, probability in zip((low, high), two_sided(level), strict=True):
        assert wider.probability_within(seconds, bound, narrow) == pytest.approx(probability)


def test_no_time_is_never_enough_and_endless_time_always():
    wider = Widening(factors=np.ones(2), least_log_spreads=np.array([0.0, 0.3]))

    def narrow(limits):
        return norm.cdf(np.log(limits), math.log(100.0), 0.1)

    for limit, probability in ((0.0, 0.0), (math.inf, 1.0)):
        found = wider.probability_within(np.full(2, 100.0), np.full(2, limit), narrow)
        np.testing.assert_array_equal(found, probability)
