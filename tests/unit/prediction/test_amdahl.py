"""The extended Amdahl model, against batch least squares and points that follow the law."""

import json

import numpy as np
import pytest

from airflow_provider_ernest.documents.models import AmdahlState
from airflow_provider_ernest.exceptions import (
    FitError,
    InvalidParameterError,
    TooFewObservationsError,
)
from airflow_provider_ernest.prediction.amdahl import ExtendedAmdahl


def law(x, processors, *, coefficients=(10.0, 20.0), alpha=0.9):
    sequential = np.polynomial.polynomial.polyval(x, coefficients)
    return (alpha / processors + 1 - alpha) * sequential


def learnt(points, *, degree=1):
    """A model of points (x, processors, seconds)."""
    model = ExtendedAmdahl(degree=degree)
    for x, processors, seconds in points:
        model.add(x=float(x), processors=processors, seconds=float(seconds))
    return model


def points_of_law(xs, processors, **law_of):
    return [(x, p, law(x, p, **law_of)) for x in xs for p in processors]


def noisy_polynomial(*, degree, most, seed, count=200):
    generator = np.random.default_rng(seed)
    xs = generator.uniform(most * 1e-6, most, size=count)
    coefficients = generator.uniform(1, 10, size=degree + 1) / most ** np.arange(degree + 1)
    return xs, np.polynomial.polynomial.polyval(xs, coefficients) * generator.lognormal(0, 0.1, size=count)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("most", [1.0, 37.0, 1e6])
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_the_batch_least_squares_of_all_points(degree, most, seed):
    xs, seconds = noisy_polynomial(degree=degree, most=most, seed=seed)
    oracle = np.polyfit(xs, seconds, degree)

    model = learnt([(x, 1, t) for x, t in zip(xs, seconds, strict=True)], degree=degree)

    asked = np.linspace(most / 100, most, 50)
    np.testing.assert_allclose(model.predict(x=asked, processors=1), np.polyval(oracle, asked), rtol=1e-9)
    # In seconds at the largest x, for coefficients of different powers have different units.
    in_seconds = most ** np.arange(degree + 1)
    largest = np.abs(oracle[::-1] * in_seconds).max()
    np.testing.assert_allclose(
        model.coefficients * in_seconds, oracle[::-1] * in_seconds, rtol=0, atol=1e-9 * largest
    )


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.95, 1.0])
def test_alpha_and_unseen_points_are_recovered(alpha):
    coefficients = (3.0, 0.5, 0.02)
    model = learnt(
        points_of_law([1.0, 5.0, 20.0, 50.0], [1, 2, 8], coefficients=coefficients, alpha=alpha), degree=2
    )

    assert model.alpha == pytest.approx(alpha, abs=1e-9)
    assert model.predict(x=[30.0, 80.0], processors=[4, 64]) == pytest.approx(
        [
            law(30.0, 4, coefficients=coefficients, alpha=alpha),
            law(80.0, 64, coefficients=coefficients, alpha=alpha),
        ]
    )


@pytest.mark.parametrize("base", [2, 3, 6])
def test_without_points_on_one_processor_the_lowest_count_stands_in(base):
    model = learnt(points_of_law([1.0, 5.0, 20.0], [base, 12]))

    assert model.alpha == pytest.approx(0.9)
    assert model.predict(x=10.0, processors=[1, base, 40]) == pytest.approx(
        [law(10.0, 1), law(10.0, base), law(10.0, 40)]
    )


def test_alpha_averages_the_highest_points_and_ignores_lower_ones():
    sequential = points_of_law([1.0, 5.0, 20.0], [1])
    highest = law(20.0, 16)

    model = learnt(
        [
            *sequential,
            (20.0, 16, 0.9 * highest),
            (20.0, 8, 999.0),
            (5.0, 16, 999.0),
            (20.0, 16, 1.1 * highest),
        ]
    )

    assert model.alpha == pytest.approx(0.9)
    assert model.state.highest_points == 2


def test_a_model_goes_on_where_it_was_stored():
    points = points_of_law([1.0, 700.0, 2.0, 31.0], [1, 4, 16])
    points = [(x, p, t * factor) for (x, p, t), factor in zip(points, np.linspace(0.9, 1.1, 12), strict=True)]
    whole, first = learnt(points), learnt(points[:5])

    stored = json.loads(json.dumps(first.state.to_dict()))
    second = ExtendedAmdahl(degree=1, state=AmdahlState.from_dict(stored))
    for x, processors, seconds in points[5:]:
        second.add(x=float(x), processors=processors, seconds=float(seconds))

    assert second.state == whole.state


@pytest.mark.parametrize(
    ("points", "degree", "processors", "error", "says"),
    [
        (
            [(2.0, 1, 5.0), (2.0, 1, 5.1), (4.0, 1, 7.0), (9.0, 4, 1.0)],
            2,
            1,
            TooFewObservationsError,
            r"2 different predictor values on 1 processors .* which needs 3",
        ),
        (points_of_law([1.0, 5.0], [1]), 1, [1, 4], FitError, "All points were on 1 processors"),
        ([(10.0, 1, 1.0), (20.0, 1, 21.0)], 1, 1, FitError, "gives -17 s at x=1"),
    ],
    ids=["few values", "one count", "below zero"],
)
def test_points_that_do_not_tell_a_time(points, degree, processors, error, says):
    with pytest.raises(error, match=says):
        learnt(points, degree=degree).predict(x=1.0, processors=processors)


@pytest.mark.parametrize(
    ("point", "named"),
    [
        ({"x": 0.0}, r"x=0\.0"),
        ({"processors": 1.5}, r"processors=1\.5"),
        ({"seconds": float("inf")}, "seconds=inf"),
    ],
)
def test_points_that_cannot_be_leave_the_model_as_it_was(point, named):
    model = learnt(points_of_law([1.0, 5.0], [1, 4]))
    before = model.state

    with pytest.raises(InvalidParameterError, match=named):
        model.add(**{"x": 1.0, "processors": 1, "seconds": 1.0, **point})

    assert model.state == before
