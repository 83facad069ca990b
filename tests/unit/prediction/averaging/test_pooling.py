"""What the jobs of a deployment have in common is learned from all of them."""

from dataclasses import replace

import numpy as np
import pytest

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.prior import pooled_prior
from airflow_provider_ernest.prediction.terms import DICTIONARY
from tests.examples import observe

from .jobs import MACHINES, PLAIN, runs_of, seconds_of


def deployment(job, *, count=8, noise=0.03, **fields):
    """Runs of jobs of one kind but of different size."""
    generator = np.random.default_rng(11)
    return [
        observe(
            **runs_of(
                {name: seconds * generator.uniform(0.3, 3.0) for name, seconds in job.items()},
                noise=noise,
                seed=[number, 23],
                **fields,
            )
        )
        for number in range(count)
    ]


def believed(prior):
    return {name: prior.belief_in(name).probability for name in DICTIONARY}


def test_what_is_learned_helps_a_job_of_which_little_is_known():
    """Four runs do not tell where the driver is; the other jobs of the deployment do."""
    prior = pooled_prior(deployment(PLAIN, driver_executors=1, count=12))
    assert prior.driver_share > 0.75
    few = [0, 1, 4, 6]
    errors = {"alone": [], "pooled": []}
    for seed in range(12):
        runs = runs_of(PLAIN, driver_executors=1, noise=0.03, seed=[seed, 5])
        runs = {name: column[few] for name, column in runs.items()}
        target = {"executors": 3, "scale": 0.3}
        truth = seconds_of(PLAIN, **target, driver_executors=1)
        for name, believed_before in (("alone", None), ("pooled", prior)):
            averaging = TermAveraging(prior=believed_before).fit(**runs)
            errors[name].append(abs(float((averaging.predict(**target) / truth)[0]) - 1))

    assert np.mean(errors["pooled"]) < np.mean(errors["alone"])


def test_terms_that_the_jobs_have_become_more_probable_and_others_less():
    before = believed(AveragingPrior())

    after = believed(pooled_prior(deployment({"1": 10.0, "scale": 100.0, "scale/executors": 200.0})))
    assert after["scale"] > before["scale"] + 0.3
    assert after["scale/executors"] > before["scale/executors"] - 0.1

    after = believed(pooled_prior(deployment(PLAIN)))
    assert after["scale"] < before["scale"]
    assert after["log(executors)"] < before["log(executors)"]


def test_jobs_that_follow_their_terms_leave_less_room_for_deviations():
    def deviating(prior):
        weights = np.array(prior.discrepancy_weights) / sum(prior.discrepancy_weights)
        return float(weights[np.array(prior.discrepancy) > 0].sum())

    follows = deployment(PLAIN, noise=0.01)
    strays = [
        [
            replace(run, seconds=run.seconds * (1.0 + 0.3 * np.sin(1.5 * np.log2(run.executors))))
            for run in runs
        ]
        for runs in follows
    ]

    assert deviating(pooled_prior(follows)) < deviating(AveragingPrior()) < deviating(pooled_prior(strays))


def test_what_is_not_asked_stays_as_it_was():
    before = AveragingPrior(driver_share=0.0)

    pooled = pooled_prior(deployment(PLAIN), terms=("1", "scale/executors"), prior=before)

    assert pooled.driver_share == 0.0
    for name in ("scale", "log(executors)"):
        assert pooled.belief_in(name) == before.belief_in(name)
    assert pooled.belief_in("executors").largest_seconds == before.belief_in("executors").largest_seconds
    unchanged = {"noise", "noise_weights", "memory_cut", "disturbed_run", "discrepancy", "largest_share"}
    assert all(getattr(pooled, name) == getattr(before, name) for name in unchanged)


def test_terms_that_the_jobs_could_only_have_with_a_negative_coefficient_are_believed_less():
    """The larger their scale, the faster they are than fixed and spreading work: no term says so."""
    jobs = [
        [replace(run, seconds=run.seconds * (1.0 - 3.0 * run.scale)) for run in runs]
        for runs in deployment(PLAIN, noise=0.01)
    ]

    assert believed(pooled_prior(jobs))["scale"] < 0.1 < believed(AveragingPrior())["scale"]


def test_jobs_with_a_run_on_a_single_machine_say_nothing_of_the_driver():
    executors = np.where(MACHINES == 2, 1, MACHINES)

    assert pooled_prior(deployment(PLAIN, executors=executors)).driver_share == pytest.approx(0.5)
