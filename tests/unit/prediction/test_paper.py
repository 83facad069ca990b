"""The published jobs that the method stands for (Table 1), from small samples to 45 and 64 machines.

By the paper's own recipe: an A-optimal design for its four terms, and its regression.
"""

import numpy as np
import pytest

from airflow_provider_ernest.design.candidates import enumerate_candidates
from airflow_provider_ernest.design.plan import plan_design
from airflow_provider_ernest.prediction.predict import predict_seconds
from airflow_provider_ernest.prediction.terms import ERNEST
from airflow_provider_ernest.prediction.training import train
from benchmarks.table1 import TABLE_1, seconds_of
from tests.examples import observe

TARGETS = [45, 64]


@pytest.fixture(scope="module")
def design():
    """Samples of 1 to 10 % of the data on 1 to 16 machines: eight runs."""
    return plan_design(
        candidates=enumerate_candidates(max_executors=16, min_scale=0.01, max_scale=0.1, partitions=1000),
        criterion="A",
        terms=ERNEST,
    )


def model_from(design, job, *, noise, generator, method="relative"):
    executors = [run.executors for run in design.experiments]
    scale = [run.scale for run in design.experiments]
    seconds = seconds_of(job, executors=executors, scale=scale)
    seconds *= 1 + noise * generator.standard_normal(len(executors))
    return train(observe(executors=executors, scale=scale, seconds=seconds), job=job, method=method)


def errors_percent(design, job, *, noise, generator, method="relative"):
    """Of the predictions for 45 and 64 machines on all of the data."""
    model = model_from(design, job, noise=noise, generator=generator, method=method)
    predicted = predict_seconds(model, executors=TARGETS, scale=1.0)
    return 100 * np.abs(predicted / seconds_of(job, executors=TARGETS, scale=1.0) - 1)


@pytest.mark.parametrize("method", ["relative", "classic"])
@pytest.mark.parametrize("job", TABLE_1)
def test_exact_runs_of_the_design_recover_the_published_coefficients(design, job, method):
    model = model_from(design, job, noise=0.0, generator=np.random.default_rng(0), method=method)

    fitted = {term.name: term.coefficient for term in model.terms}
    assert set(fitted) == set(ERNEST)
    assert fitted == pytest.approx(TABLE_1[job], rel=1e-6, abs=1e-6)
    assert model.validation.max_error_percent < 1e-4


def test_eight_noisy_runs_predict_45_and_64_machines(design):
    """With noise of 5 % and 30 draws a job: typically within a few per cent, seldom beyond 20 %.

    Not always: over 200 draws, 3 % of the predictions are off by more than 20 %. So the promise is on
    the distribution, for each job and for all of them.
    """
    assert len(design.experiments) == 8
    errors = {
        job: np.array(
            [
                errors_percent(design, job, noise=0.05, generator=np.random.default_rng([seed, index]))
                for seed in range(30)
            ]
        )
        for index, job in enumerate(TABLE_1)
    }

    for job, of_job in errors.items():
        assert np.median(of_job) < 10, job
        assert np.percentile(of_job, 80) < 20, job
    everything = np.concatenate([of_job.ravel() for of_job in errors.values()])
    assert everything.mean() < 9
    assert np.mean(everything > 20) < 0.06
