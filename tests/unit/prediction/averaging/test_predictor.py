"""The predictor as its users see it: what it predicts, tells of a job and refuses."""

import numpy as np
import pytest

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.terms import DICTIONARY

from .jobs import MACHINES, PLAIN, SCALE, fitted, runs_of, seconds_of

"""Those whose prior is a share of the time: no absolute number of seconds is known of them."""


@pytest.mark.parametrize("driver_machines", [0, 1])
@pytest.mark.parametrize(
    "job",
    [
        PLAIN,
        {"scale/machines": 400.0},
        {"1": 5.0, "scale": 20.0, "scale/machines": 300.0},
        {"1": 20.0, "scale/sqrt(machines)": 300.0},
        {"1": 8.0, "scale/machines": 150.0, "log(machines)": 1.5, "machines": 0.05},
        {"1": 30.0, "scale": 100.0},
    ],
    ids=lambda job: " + ".join(job),
)
def test_exact_runs_predict_ten_times_the_data_on_twice_the_machines(job, driver_machines):
    averaging = fitted(runs_of(job, driver_machines=driver_machines))

    targets = {"machines": np.array([8, 16, 32]), "scale": np.array([1.0, 0.5, 1.0])}
    expected = seconds_of(job, **targets, driver_machines=driver_machines)
    np.testing.assert_allclose(averaging.predict(**targets), expected, rtol=0.06)
    low, high = averaging.interval(**targets, level=0.95)
    assert np.all((low < expected) & (expected < high))


def test_workers_are_what_shares_the_work_and_machines_are_what_costs_overhead():
    job = {"1": 5.0, "scale/machines": 300.0, "machines": 0.08}
    workers = np.minimum(MACHINES, 5)
    seconds = 5.0 + 300.0 * SCALE / workers + 0.08 * MACHINES
    prior = AveragingPrior(driver_share=0.0)

    averaging = TermAveraging(prior=prior).fit(
        machines=MACHINES, scale=SCALE, seconds=seconds, workers=workers
    )

    assert averaging.predict(machines=32, scale=1.0, workers=5) == pytest.approx([67.56], rel=0.05)
    all_work = seconds_of(job, machines=32, scale=1.0)
    assert averaging.predict(machines=32, scale=1.0) == pytest.approx(all_work, rel=0.15)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_runs_does_not_matter(seed):
    runs = runs_of(PLAIN, noise=0.1, seed=seed)
    order = np.random.default_rng(seed).permutation(len(MACHINES))
    forward, shuffled = fitted(runs), fitted({name: column[order] for name, column in runs.items()})

    asked = {"machines": [3, 32], "scale": 1.0}
    np.testing.assert_allclose(shuffled.predict(**asked), forward.predict(**asked), rtol=1e-9)
    np.testing.assert_allclose(
        shuffled.interval(**asked, level=0.95), forward.interval(**asked, level=0.95), rtol=1e-9
    )
    np.testing.assert_allclose(shuffled.disturbed_, forward.disturbed_[order])


def test_repetitions_count_by_their_median():
    runs = runs_of(PLAIN, noise=0.03)

    def repeated(times):
        return {
            "machines": np.append(runs["machines"], [8] * (len(times) - 1)),
            "scale": np.append(runs["scale"], [0.1] * (len(times) - 1)),
            "seconds": np.append(np.where(MACHINES == 8, times[0], runs["seconds"]), times[1:]),
        }

    calm, straggling = fitted(repeated([12.5, 12.6, 12.4])), fitted(repeated([12.5, 12.6, 11.0]))
    worse = fitted(repeated([12.5, 60.0, 12.4]))

    asked = {"machines": [8, 32], "scale": 1.0}
    np.testing.assert_allclose(worse.predict(**asked), calm.predict(**asked), rtol=1e-9)
    np.testing.assert_allclose(straggling.predict(**asked), calm.predict(**asked), rtol=1e-9)
    assert len(worse.disturbed_) == 9


@pytest.mark.parametrize("driver_machines", [0, 1])
def test_whether_the_driver_takes_a_machine_is_found(driver_machines):
    averaging = fitted(runs_of(PLAIN, driver_machines=driver_machines, noise=0.01, seed=2))

    assert averaging.driver_share_ == pytest.approx(driver_machines, abs=0.15)


def test_a_machine_that_worked_alone_had_no_driver_to_itself():
    machines = np.array([1, 2, 4, 8, 16, 1, 8])

    assert fitted(runs_of(PLAIN, machines=machines)).driver_share_ == 0.0


@pytest.mark.parametrize("name", ["scale^2/machines", "scale^1.7/machines", "max(scale/machines - 0.01, 0)"])
def test_a_term_of_the_users_own_is_found_when_the_job_has_it(name):
    scale = np.array([0.1, 0.1, 0.2, 0.3, 0.02, 0.05, 0.4])
    job = {"1": 5.0, "scale/machines": 20.0, name: 2000.0}
    runs = runs_of(job, scale=scale, noise=0.01)
    without = runs_of({**job, name: 0.0}, scale=scale, noise=0.01)
    terms = ("1", "scale", "scale/machines", name)

    with_it, without_it = fitted(runs, terms=terms), fitted(without, terms=terms)

    assert with_it.probabilities_[-1] > 0.9
    assert without_it.probabilities_[-1] < 0.2
    target = {"machines": 32, "scale": 1.0}
    np.testing.assert_allclose(with_it.predict(**target), seconds_of(job, **target), rtol=0.25)


def test_two_points_are_too_few_however_often_they_were_run():
    runs = {"machines": [2, 8, 2, 8], "scale": [0.1] * 4, "seconds": [20.0, 10.0, 21.0, 11.0]}

    with pytest.raises(TooFewObservationsError, match=r"2 distinct configurations.*at least 3"):
        TermAveraging().fit(**runs)
    TermAveraging().fit_undetermined(**runs)


def test_runs_on_one_number_of_machines_are_refused_with_the_remedy():
    with pytest.raises(FitError, match=r"All runs used 4 machines.*one other number of machines") as caught:
        TermAveraging().fit(machines=4, scale=[0.1, 0.2, 0.3, 0.4], seconds=[5.0, 8.0, 11.0, 14.0])

    assert not isinstance(caught.value, TooFewObservationsError)


def test_more_terms_than_a_fit_can_average_over():
    terms = [*DICTIONARY, "scale^2/machines", "sqrt(machines)", "1/machines"]

    with pytest.raises(InvalidParameterError, match=r"terms=.*9"):
        fitted(runs_of(PLAIN), terms=terms)


def test_left_with_one_run_the_prior_still_says_something():
    one = {"machines": [4], "scale": [0.1], "seconds": [15.0]}

    averaging = TermAveraging().fit_undetermined(**one)

    (seconds,) = averaging.predict(machines=4, scale=0.1)
    assert seconds == pytest.approx(15.0, rel=0.2)
    low, high = averaging.interval(machines=32, scale=1.0, level=0.95)
    assert high / low > 3
