"""Whatever runs there are, from a thousandth of a second to eleven days: a finite answer, or a refusal.

The other tests ask for what is right; these ask of any legal runs that nothing comes out that cannot be: no
0 s, no NaN, no infinity, no warning of the libraries that compute it.
"""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.clarity.replay import replay_sizes
from airflow_provider_ernest.clarity.replay_scaled import replay_scaled
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.design.candidates import enumerate_candidates
from airflow_provider_ernest.design.plan import plan_design
from airflow_provider_ernest.design.problem import Targets, asks_for_targets
from airflow_provider_ernest.design.rounds import next_runs
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.history.sizes import today_of
from airflow_provider_ernest.history.survey import Prices, SurveyGoal, surveyed_job
from airflow_provider_ernest.learning.production import learn
from airflow_provider_ernest.prediction import optex
from airflow_provider_ernest.prediction.amdahl import ExtendedAmdahl
from airflow_provider_ernest.prediction.predict import (
    ModelForecast,
    predict_interval,
    predict_seconds,
)
from airflow_provider_ernest.prediction.prior import pooled_prior
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.bounds import CRITERIA, METHODS
from benchmarks.accuracy.optex import profile_from_runs
from tests.choices import choice_of
from tests.examples import observe, production_run, sizing_goal
from tests.unit.eventlog.logs import SimulatedJob, SimulatedStage, run
from tests.unit.history.past_jobs import past_run, work

# The same examples each time, so that no test fails by chance; nothing is timed.
BOUNDED = {
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
}

MACHINES = [1, 2, 10, 100, 1000, 100_000]
NEARLY = 1 + 1e-9


def powers_of_ten(least: float, most: float) -> st.SearchStrategy[float]:
    """Numbers of every order of magnitude alike, round ones among them."""
    rounded = st.integers(math.ceil(least), math.floor(most)).map(lambda power: 10.0**power)
    return rounded | st.floats(least, most).map(lambda power: 10.0**power)


SCALES = powers_of_ten(-6, 0)
SECONDS = powers_of_ten(-3, 6)
MACHINE_COUNTS = st.sampled_from([1, 2, 3, 4, 8, 16, 64, 1000, 10_000])


@st.composite
def runs_of_a_job(draw: st.DrawFn) -> list[Observation]:
    """Runs that have a law, or none, or all the same time; some of them made again."""
    sizes = draw(st.lists(st.tuples(MACHINE_COUNTS, SCALES), min_size=1, max_size=8))
    sizes += draw(st.lists(st.sampled_from(sizes), max_size=4))
    fixed, spread, serial, overhead = (draw(st.just(0.0) | powers_of_ten(-6, 6)) for _ in range(4))
    lawful = [fixed + spread * s / m + serial * s + overhead * m for m, s in sizes]
    times = st.just(lawful) | SECONDS.map(lambda same: [same] * len(sizes))
    times |= st.lists(SECONDS, min_size=len(sizes), max_size=len(sizes))
    return observe(
        executors=[executors for executors, _ in sizes],
        scale=[scale for _, scale in sizes],
        seconds=[min(max(time, 1e-3), 1e6) for time in draw(times)],
    )


@contextmanager
def an_answer_or_a_refusal() -> Iterator[None]:
    with warnings.catch_warnings(), suppress(ErnestError):
        warnings.simplefilter("error")
        yield


def assert_possible(seconds, low, high):
    """Of predictions and the bounds of their intervals, shape (n,) each."""
    assert all(np.isfinite(each).all() for each in (seconds, low, high))
    assert (low > 0).all()
    assert (low <= seconds * NEARLY).all()
    assert (seconds <= high * NEARLY).all()


def assert_predictions_possible(model: Model, scale: float) -> None:
    asked = {"executors": MACHINES, "scale": scale}
    seconds = predict_seconds(model, **asked)
    for level in (0.8, 0.95):
        assert_possible(seconds, *predict_interval(model, **asked, level=level))
    forecast = ModelForecast(model, **asked)
    kept = [forecast.probability_within(limit) for limit in (0.0, 1e-3, 1e6, math.inf)]
    assert ((np.array(kept) >= 0) & (np.array(kept) <= 1)).all()
    assert (np.diff(kept, axis=0) >= 0).all()
    parts = [list(each.values()) for each in forecast.contributions()]
    assert np.min(parts) >= 0
    assert np.sum(parts, axis=1) == pytest.approx(seconds)


CONTRADICTING = observe(
    executors=[1, 1, 1000, 100, 1000, 16, 1, 1, 1000, 1],
    scale=[0.5, 1e-3, 1e-2, 0.5, 1e-6, 1e-3, 1e-3, 0.5, 1e-6, 0.5],
    seconds=[1e-3, 1e6, 1.0, 1e-3, 1e6, 1e6, 2.7e6, 6.6e-5, 1.5e5, 8.4e-4],
)
SAME_TIME = observe(executors=[10_000, 100, 4, 1], scale=[4.8e-4, 1.7e-4, 7.3e-4, 5.8e-6], seconds=[0.1] * 4)
ONE_CONFIGURATION = observe(executors=[4] * 5, scale=[1e-6] * 5, seconds=[1e-3, 1e6, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("method", METHODS)
@given(runs=runs_of_a_job(), scale=powers_of_ten(-6, 3))
@example(runs=CONTRADICTING, scale=1.0)
@example(runs=SAME_TIME, scale=1000.0)
@example(runs=ONE_CONFIGURATION, scale=1.0)
@settings(max_examples=25, **BOUNDED)
def test_a_model_predicts_what_can_be(method, runs, scale):
    with an_answer_or_a_refusal():
        model = train(runs, job="job", method=method)
        assert Model.from_dict(model.to_dict()) == model
        assert_predictions_possible(model, scale)


@given(
    runs=runs_of_a_job(),
    goal=st.builds(lambda limit: {"deadline_seconds": limit}, SECONDS)
    | st.builds(lambda limit: {"budget_dollars": limit}, powers_of_ten(-6, 6))
    | st.just({"objective": "fastest"}),
    scale=powers_of_ten(-6, 3),
)
@settings(max_examples=25, **BOUNDED)
def test_a_decision_is_among_what_can_be(runs, goal, scale):
    with an_answer_or_a_refusal():
        model = train(runs, job="job", terms=("1", "scale/executors", "executors"))
        offer = Offer(model=model, executors=[1, 3, 100, 1000], billing=Billing(price_per_hour=1.0))
        choice = choice_of(offer, goal=sizing_goal(**goal), scale=scale)
        for each in choice.alternatives:
            assert_possible(np.array([each.seconds]), *np.array(each.likely_seconds)[:, None])
            assert_possible(np.array([each.seconds]), *np.array(each.nearly_certain_seconds)[:, None])
            assert each.probability is None or 0 <= each.probability <= 1
            assert 0 < each.cost < math.inf


@given(
    runs=runs_of_a_job(),
    criterion=st.sampled_from(CRITERIA),
    executors=st.integers(3, 24),
    scales=st.tuples(SCALES, SCALES).map(sorted),
    partitions=st.integers(10, 1_000_000),
)
@settings(max_examples=40, **BOUNDED)
def test_a_design_is_made_of_runs_that_can_be(runs, criterion, executors, scales, partitions):
    with an_answer_or_a_refusal():
        design = plan_design(
            candidates=enumerate_candidates(
                max_executors=executors,
                min_scale=scales[0],
                max_scale=scales[1],
                partitions=partitions,
                scale_steps=5,
            ),
            criterion=criterion,
            targets=Targets(executors=(10, 1000)) if asks_for_targets(criterion) else None,
            observed=runs,
        )
        assert 0 < design.cost <= design.budget * NEARLY
        assert 0 < design.efficiency <= 1
        assert all(0 <= run.weight <= NEARLY and 0 < run.cost < math.inf for run in design.experiments)


@given(jobs=st.lists(runs_of_a_job(), max_size=3))
@settings(max_examples=25, **BOUNDED)
def test_what_jobs_tell_of_each_other_are_probabilities(jobs):
    with an_answer_or_a_refusal():
        prior = pooled_prior(jobs)
        assert 0 <= prior.driver_share <= 1
        assert all(math.isfinite(weight) for weight in prior.discrepancy_weights)


@given(
    runs=runs_of_a_job(),
    limit=SECONDS,
    is_deadline=st.booleans(),
    scales=st.tuples(SCALES, SCALES).map(sorted),
)
@settings(max_examples=12, **BOUNDED)
def test_further_sample_runs_cost_and_save_what_can_be(runs, limit, is_deadline, scales):
    goal = {"deadline_seconds": limit} if is_deadline else {"budget_dollars": limit}
    with an_answer_or_a_refusal():
        candidates = enumerate_candidates(
            max_executors=8, min_scale=scales[0], max_scale=scales[1], partitions=10_000, scale_steps=4
        )
        proposal = next_runs(
            candidates=candidates,
            goal=sizing_goal(allowed_executors=(1, 8, 100), **goal),
            observed=runs,
            price_per_hour=0.2,
            max_runs=len(runs) + 4,
        )
        # What the runs of the first round cost nothing tells: 0.
        assert all(0 <= each.cost < math.inf for each in proposal.experiments)
        assert proposal.gain is None or math.isfinite(proposal.gain)


@given(
    runs=runs_of_a_job(),
    produced=st.lists(st.tuples(MACHINE_COUNTS, SECONDS, powers_of_ten(-1, 1)), min_size=1, max_size=6),
    method=st.sampled_from(METHODS),
    outside=st.booleans(),
)
@settings(max_examples=25, **BOUNDED)
def test_what_is_learned_from_production_predicts_what_can_be(runs, produced, method, outside):
    with an_answer_or_a_refusal():
        model = train(runs, job="job", method=method)
        production = [
            production_run(
                number,
                executors=executors,
                scale=scale,
                seconds=seconds,
                run_seconds=seconds,
                startup_seconds=0.0,
                likely_seconds=(seconds, 2 * seconds) if not outside else (2 * seconds, 3 * seconds),
                nearly_certain_seconds=(0.5 * seconds, 4 * seconds),
            )
            for number, (executors, seconds, scale) in enumerate(produced)
        ]
        learned = learn(model, production)
        if learned is not None:
            assert_predictions_possible(learned, 1.0)


@given(runs=runs_of_a_job(), degree=st.integers(0, 2), scale=powers_of_ten(-6, 3))
@settings(max_examples=60, **BOUNDED)
def test_amdahls_law_and_optex_give_times_that_can_be(runs, degree, scale):
    with an_answer_or_a_refusal():
        online = ExtendedAmdahl(degree=degree)
        for run in runs:
            online.update(run)
        assert 0 <= online.alpha <= 1
        assert np.isfinite(online.predict(x=scale, processors=MACHINES)).all()
    with an_answer_or_a_refusal():
        profile = profile_from_runs(runs)
        seconds = optex.predict(profile, executors=MACHINES, scale=scale, iterations=1)
        assert (np.isfinite(seconds) & (seconds > 0)).all()


@given(
    past=st.lists(
        st.tuples(st.sampled_from([1, 2, 8, 64]), SECONDS, st.sampled_from([0, 1, 10**6, 10**13])),
        min_size=1,
        max_size=8,
    )
)
@example(past=[(8, 1e-3, 10**6), (8, 1e6, 10**6), (8, 1e-3, 10**6)])
@settings(max_examples=25, **BOUNDED)
def test_a_survey_of_past_runs_tells_what_can_be(past):
    with an_answer_or_a_refusal():
        runs = [
            past_run(
                work(executors=executors, tasks=8, seed=day),
                days=day,
                seconds=seconds,
                input_bytes=read,
                application_id=f"app-{day}",
            )
            for day, (executors, seconds, read) in enumerate(past)
        ]
        today = today_of(runs)
        assert math.isfinite(today.input_noise)
        assert 0 < today.seconds < math.inf
        job = surveyed_job("daily", runs, [], goal=SurveyGoal(), prices=Prices(otherwise=0.2))
        for size in job.sizes:
            low, high = size.likely_seconds
            assert_possible(np.array([size.seconds]), np.array([low]), np.array([high]))


STAGES = st.lists(
    st.builds(
        SimulatedStage,
        seconds=st.lists(st.just(0.0) | SECONDS, min_size=1, max_size=12),
        warm_up=st.just(0.0) | SECONDS,
        columns=st.sampled_from([{}, {"input_bytes": 0}, {"input_bytes": 1}, {"input_bytes": 10**13}]),
    ),
    min_size=1,
    max_size=3,
)
LOGS = st.builds(
    run,
    st.lists(
        st.builds(SimulatedJob, driver_seconds=st.just(0.0) | SECONDS, stages=STAGES), min_size=1, max_size=3
    ),
    executors=st.sampled_from([1, 2, 8]),
    cores=st.sampled_from([1, 4]),
)


@given(logs=st.lists(st.tuples(LOGS, SCALES), min_size=1, max_size=4), scale=powers_of_ten(-6, 3))
@settings(max_examples=40, **BOUNDED)
def test_replays_take_what_can_be(logs, scale):
    with an_answer_or_a_refusal():
        for log, _ in logs:
            assert all(0 <= each.seconds < math.inf for each in replay_sizes(log, [1, 3, 1000]))
    with an_answer_or_a_refusal():
        profiles = [profile_run(log, scale=of_log) for log, of_log in logs]
        opinion = replay_scaled(profiles, executors=[1, 3, 1000], scale=scale, executor_cores=2)
        assert all(0 <= each.replayed_seconds < math.inf for each in opinion.sizes)
        assert opinion.error_percent is None or 0 <= opinion.error_percent < math.inf
