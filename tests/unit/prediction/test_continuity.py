"""The same runs give the same answer on every processor, though these round differently.

Other times in the twelfth digit stand for another processor: they differ by more than any of them rounds.
Times that the terms describe exactly are the hard case: only rounding would tell the hypotheses apart.
"""

import numpy as np
import pytest

from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.predict import ModelForecast, predict_interval, predict_seconds
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings.bounds import METHODS

DESIGNS = {
    "of many loads": [
        (8, 0.1), (8, 0.095), (7, 0.1), (8, 0.04375), (5, 0.02875), (1, 0.1), (4, 0.02), (1, 0.01)
    ],
    "of one scale": [(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0), (6, 1.0), (8, 1.0)],
    "repeated": [(1, 0.1), (1, 0.1), (2, 0.1), (4, 0.1), (4, 0.1), (8, 0.1), (2, 0.05), (8, 0.02)],
    "of four": [(2, 0.05), (4, 0.1), (8, 0.1), (4, 0.02)],
}  # fmt: skip
JOBS = {
    "with an overhead": lambda executors, scale: 7.0 + 1500.0 * scale / executors + executors,
    "that spreads": lambda executors, scale: 1200.0 * scale / executors,
    "that stops to gain": lambda executors, scale: 10.0 + 1200.0 * scale / np.minimum(executors, 4.0),
    "that takes as long": lambda executors, scale: 30.0 + 0.0 * executors,
}
ASKED = {"executors": np.array([1.0, 4.0, 16.0, 64.0]), "scale": np.ones(4)}


def figures(executors, scale, seconds, method):
    """What a user sees of the model that is trained by these runs."""
    model = train(
        [
            Observation(index=index, executors=int(of), scale=read, seconds=taken, startup_seconds=0.0)
            for index, (of, read, taken) in enumerate(zip(executors, scale, seconds, strict=True))
        ],
        job="nightly",
        method=method,
    )
    return np.concatenate(
        [
            predict_seconds(model, **ASKED),
            *(bound for level in (0.8, 0.95) for bound in predict_interval(model, level=level, **ASKED)),
            [fold.predicted_seconds for fold in model.validation.folds],
            # Shares, of which a millionth is a millionth of the whole.
            1.0 + ModelForecast(model, **ASKED).probability_within([900.0, 400.0, 130.0, 70.0]),
            [1.0 + term.probability for term in model.terms],
            [1.0 + model.noise, 1.0 + model.driver_share],
        ]
    )


@pytest.mark.parametrize("noise", [0.0, 0.05], ids=["exact", "noisy"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("design", DESIGNS)
def test_rounding_moves_no_figure(design, job, method, noise):
    executors, scale = np.array(DESIGNS[design]).T
    generator = np.random.default_rng(0)
    seconds = JOBS[job](executors, scale) * np.exp(noise * generator.standard_normal(len(executors)))
    rounded = seconds * (1.0 + 1e-12 * generator.choice([-1.0, 1.0], len(seconds)))

    seen, elsewhere = (figures(executors, scale, each, method) for each in (seconds, rounded))

    np.testing.assert_allclose(elsewhere, seen, rtol=1e-6)


def test_little_noise_moves_figures_by_little():
    """Nor does anything jump where times differ by more than rounding."""
    executors, scale = np.array(DESIGNS["of many loads"]).T
    seconds = JOBS["with an overhead"](executors, scale) * (1.0 + 0.03 * np.sin(np.arange(len(executors))))

    seen = figures(executors, scale, seconds, "averaging")

    for step in range(1, 21):
        nearby = seconds * (1.0 + step * 1e-7 * np.cos(np.arange(len(seconds))))
        np.testing.assert_allclose(figures(executors, scale, nearby, "averaging"), seen, rtol=step * 3e-4)
