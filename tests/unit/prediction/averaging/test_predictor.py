"""The predictor as its users see it: what it predicts, tells of a job and refuses."""

import math
from dataclasses import replace

import numpy as np
import pytest

from airflow_provider_ernest.documents import AveragingPrior
from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.terms import DICTIONARY

from .jobs import MACHINES, PLAIN, SCALE, fitted, runs_of, seconds_of

DATA_TERMS = ("1", "scale", "scale/machines", "scale/sqrt(machines)")
"""Those whose prior is a share of the time: no absolute number of seconds is known of them."""


# --- What it predicts


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


def test_a_single_machine_count_or_scale_is_repeated():
    averaging = fitted(runs_of(PLAIN))

    both = averaging.predict(machines=[8, 32], scale=[0.5, 0.5])

    np.testing.assert_allclose(averaging.predict(machines=[8, 32], scale=0.5), both)
    assert averaging.predict(machines=8, scale=0.5) == pytest.approx(both[:1])


def test_the_contributions_are_not_negative_and_add_up_to_the_prediction():
    averaging = fitted(runs_of({**PLAIN, "machines": 0.1}, noise=0.05))
    asked = {"machines": [2, 16, 64], "scale": [0.1, 1.0, 1.0], "iteration_ratio": 3.0}

    parts = averaging.contributions(**asked)

    assert parts.shape == (3, len(DICTIONARY))
    assert parts.min() >= 0
    np.testing.assert_allclose(parts.sum(axis=1), averaging.predict(**asked))


def test_the_contributions_of_a_clear_job_are_its_terms():
    averaging = fitted(runs_of(PLAIN))

    (parts,) = averaging.contributions(machines=4, scale=0.5)

    found = dict(zip(DICTIONARY, parts, strict=True))
    assert found["1"] == pytest.approx(10.0, rel=0.05)
    assert found["scale/machines"] == pytest.approx(25.0, rel=0.05)


def test_iterations_repeat_all_but_the_fixed_work():
    averaging = fitted(runs_of(PLAIN), prior=AveragingPrior(driver_share=0.0))

    once, often = (
        averaging.predict(machines=4, scale=1.0, iteration_ratio=times)[0] for times in (1.0, 20.0)
    )

    assert once == pytest.approx(10 + 50, rel=0.02)
    assert often == pytest.approx(10 + 20 * 50, rel=0.02)


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


# --- What does not matter, and what must


def test_two_fits_of_the_same_runs_are_the_same_to_the_last_digit():
    runs = runs_of(PLAIN, noise=0.05)
    first, second = fitted(runs), fitted(runs)

    asked = {"machines": [3, 20], "scale": 1.0}
    assert first.predict(**asked).tolist() == second.predict(**asked).tolist()
    for one, other in zip(
        first.interval(**asked, level=0.8), second.interval(**asked, level=0.8), strict=True
    ):
        assert one.tolist() == other.tolist()
    assert first.coefficients_.tolist() == second.coefficients_.tolist()


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


@pytest.mark.parametrize("factor", [0.01, 60.0, 3600.0])
def test_terms_without_a_number_of_seconds_in_their_prior_have_no_unit_of_time(factor):
    runs = runs_of(PLAIN, noise=0.05, seed=3)
    scaled = {**runs, "seconds": factor * runs["seconds"]}

    asked = {"machines": [3, 32], "scale": 1.0}
    before, after = (fitted(each, terms=DATA_TERMS).predict(**asked) for each in (runs, scaled))

    np.testing.assert_allclose(after, factor * before, rtol=1e-3)


def test_in_another_unit_only_what_a_machine_may_cost_is_believed_differently():
    """A machine costs tenths of a second, however long the job: that belief does not grow with it."""
    runs = runs_of(PLAIN, noise=0.03, seed=3)
    longer = {**runs, "seconds": 60 * runs["seconds"]}

    before, after = (fitted(each) for each in (runs, longer))

    within = {"machines": [4, 16], "scale": 0.1}
    np.testing.assert_allclose(after.predict(**within), 60 * before.predict(**within), rtol=0.03)
    beyond = {"machines": [64], "scale": 1.0}
    np.testing.assert_allclose(after.predict(**beyond), 60 * before.predict(**beyond), rtol=0.15)


def test_hours_of_a_job_leave_no_room_for_seconds_of_a_machine():
    longer = {name: 360 * seconds for name, seconds in PLAIN.items()}

    parts = fitted(runs_of(longer, noise=0.02)).contributions(machines=32, scale=1.0)[0]

    per_machine = dict(zip(DICTIONARY, parts / parts.sum(), strict=True))
    assert per_machine["machines"] + per_machine["log(machines)"] < 0.02


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


# --- What it tells of a job


@pytest.mark.parametrize("driver_machines", [0, 1])
def test_whether_the_driver_takes_a_machine_is_found(driver_machines):
    averaging = fitted(runs_of(PLAIN, driver_machines=driver_machines, noise=0.01, seed=2))

    assert averaging.driver_share_ == pytest.approx(driver_machines, abs=0.15)


def test_no_driver_is_looked_for_where_executors_were_counted():
    runs = runs_of(PLAIN, driver_machines=1)

    assert fitted(runs, prior=AveragingPrior(driver_share=0.0)).driver_share_ == 0.0
    assert fitted(runs, prior=AveragingPrior(driver_share=1.0)).driver_share_ == 1.0


def test_a_machine_that_worked_alone_had_no_driver_to_itself():
    machines = np.array([1, 2, 4, 8, 16, 1, 8])

    assert fitted(runs_of(PLAIN, machines=machines)).driver_share_ == 0.0


@pytest.mark.parametrize("name", DICTIONARY)
def test_no_coefficient_is_negative_and_probabilities_are_some(name):
    averaging = fitted(runs_of({"scale/machines": 200.0, name: 20.0}, noise=0.05))

    assert averaging.coefficients_.min() >= 0
    assert np.all((averaging.probabilities_ >= 0) & (averaging.probabilities_ <= 1))


def test_terms_that_a_job_has_are_found_and_others_are_not():
    averaging = fitted(runs_of({"1": 5.0, "scale": 60.0, "scale/machines": 300.0}))
    found = dict(zip(DICTIONARY, averaging.probabilities_, strict=True))

    assert min(found["1"], found["scale"], found["scale/machines"]) > 0.9
    assert found["scale/sqrt(machines)"] < 0.2


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


# --- What it refuses


def test_two_points_are_too_few_however_often_they_were_run():
    runs = {"machines": [2, 8, 2, 8], "scale": [0.1] * 4, "seconds": [20.0, 10.0, 21.0, 11.0]}

    with pytest.raises(TooFewObservationsError, match=r"2 distinct configurations.*at least 3"):
        TermAveraging().fit(**runs)
    TermAveraging().fit_undetermined(**runs)


def test_no_runs_at_all():
    with pytest.raises(TooFewObservationsError, match="0 distinct configurations"):
        TermAveraging().fit(machines=[], scale=[], seconds=[])


def test_runs_on_one_number_of_machines_are_refused_with_the_remedy():
    with pytest.raises(FitError, match=r"All runs used 4 machines.*one other number of machines") as caught:
        TermAveraging().fit(machines=4, scale=[0.1, 0.2, 0.3, 0.4], seconds=[5.0, 8.0, 11.0, 14.0])

    assert not isinstance(caught.value, TooFewObservationsError)


def test_more_terms_than_a_fit_can_average_over():
    terms = [*DICTIONARY, "scale^2/machines", "sqrt(machines)", "1/machines"]

    with pytest.raises(InvalidParameterError, match=r"terms=.*9"):
        fitted(runs_of(PLAIN), terms=terms)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"seconds": [20.0, math.nan, 9.0, 5.0, 8.0, 4.0, 6.0]}, r"seconds\[1\]=nan"),
        ({"seconds": [20.0, 1.0, 9.0, 5.0, 8.0, 4.0, math.inf]}, r"seconds\[6\]=inf"),
        ({"seconds": [0.0, 1.0, 9.0, 5.0, 8.0, 4.0, 6.0]}, r"seconds\[0\]=0\.0"),
        ({"seconds": [1.0, 2.0]}, "has 2 values for 7 runs"),
        ({"machines": [2, 4, 8, 0, 2, 16, 6]}, r"machines\[3\]=0\.0"),
        ({"scale": [0.1, 0.2]}, "2 values where machines has 7"),
        ({"scale": math.nan}, r"scale\[0\]=nan"),
        ({"workers": [1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0]}, r"workers\[1\]=-1\.0"),
    ],
)
def test_values_that_would_poison_the_fit_are_named_with_their_position(changes, named):
    for fit in (TermAveraging().fit, TermAveraging().fit_undetermined):
        with pytest.raises(InvalidParameterError, match=named):
            fit(**{**runs_of(PLAIN), **changes})


def test_workers_of_another_length():
    with pytest.raises(InvalidParameterError, match="workers"):
        TermAveraging().fit(**runs_of(PLAIN), workers=[1.0, 2.0])
    with pytest.raises(InvalidParameterError, match="workers"):
        fitted(runs_of(PLAIN)).predict(machines=[2, 4, 8], scale=1.0, workers=[1.0, 2.0])


def test_asking_before_fitting():
    for ask in (TermAveraging().predict, TermAveraging().contributions):
        with pytest.raises(FitError, match="Call fit first"):
            ask(machines=4, scale=1.0)


@pytest.mark.parametrize("level", [0.0, 1.0, 80])
def test_a_level_that_is_none(level):
    with pytest.raises(InvalidParameterError, match="level"):
        fitted(runs_of(PLAIN)).interval(machines=4, scale=1.0, level=level)


def test_an_unknown_term():
    with pytest.raises(InvalidParameterError, match="terms"):
        fitted(runs_of(PLAIN), terms=("1", "memory"))


def test_left_with_one_run_the_prior_still_says_something():
    one = {"machines": [4], "scale": [0.1], "seconds": [15.0]}

    averaging = TermAveraging().fit_undetermined(**one)

    (seconds,) = averaging.predict(machines=4, scale=0.1)
    assert seconds == pytest.approx(15.0, rel=0.2)
    low, high = averaging.interval(machines=32, scale=1.0, level=0.95)
    assert high / low > 3


def test_one_fit_does_not_change_another():
    averaging = TermAveraging(prior=AveragingPrior())
    runs = runs_of(PLAIN)
    before = averaging.fit(**runs).predict(machines=8, scale=1.0)

    TermAveraging(prior=replace(AveragingPrior(), driver_share=1.0)).fit(**runs)

    assert averaging.predict(machines=8, scale=1.0).tolist() == before.tolist()
