"""What a survey says of jobs whose true times on other machines are known."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date, datetime

import pytest

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.documents.profiles import DRIVER
from airflow_provider_ernest.documents.runs import ReplayedSize
from airflow_provider_ernest.documents.surveys import BOTH, REPLAY, SurveyedJob
from airflow_provider_ernest.history.jobs import DID_NOTHING
from airflow_provider_ernest.history.sizes import runs_to_profile
from airflow_provider_ernest.history.survey import (
    Prices,
    SurveyGoal,
    forecast_of,
    runs_per_month,
    survey_of,
    surveyed_job,
)
from airflow_provider_ernest.views.survey import facts_of
from tests.unit.history.past_jobs import daily, past_run, work

AT_20_CENTS = Prices(otherwise=0.2)


def of_runs(runs, profiles=(), **asked) -> SurveyedJob:
    return surveyed_job("daily", runs, profiles, **{"goal": SurveyGoal(), "prices": AT_20_CENTS, **asked})


def surveyed(executors=(8,) * 10, *, asked=None, **of_work) -> SurveyedJob:
    """With the profiles of the runs that are to be profiled."""
    runs, profiles = daily(executors, **of_work)
    chosen = {run.application_id for run in runs_to_profile(runs)}
    profiles = [each for each in profiles if each.application_id in chosen]
    return of_runs(runs, profiles, **(asked or {}))


SEVERAL = (4, 8, 4, 16, 8, 8, 4, 8, 8, 2, 8, 8)


@pytest.mark.parametrize(
    ("executors", "source"),
    [((8,) * 10, REPLAY), (SEVERAL, BOTH), ((8, 8, 4, 8, 8, 4, 8, 8), REPLAY)],
    ids=["all runs of one size", "of several sizes", "of two sizes"],
)
def test_the_times_that_the_job_takes_on_other_sizes_are_predicted(executors, source):
    job = surveyed(executors)
    sizes = {size.executors: size for size in job.sizes}
    assert sizes[3].source == source
    assert {2, 8, 32} <= set(sizes)
    for count, size in sizes.items():
        truth = work(executors=count).clean_seconds + 5.0
        low, high = size.likely_seconds
        assert low < size.seconds < high
        assert size.seconds == pytest.approx(truth, rel=0.08)


def test_the_size_of_a_job_of_one_size_is_told_by_its_runs_too():
    sizes = {size.executors: size for size in surveyed((8,) * 6, growth=1.2).sizes}
    assert (sizes[8].source, sizes[4].source) == (BOTH, REPLAY)
    truth = work(executors=8, scale=1.2**5).clean_seconds + 5.0  # as the latest run
    assert sizes[8].seconds == pytest.approx(truth, rel=0.05)
    assert sizes[8].likely_seconds[0] < truth < sizes[8].likely_seconds[1]


def test_a_replay_is_less_sure_the_farther_it_is_from_the_run():
    sizes = {size.executors: size for size in surveyed().sizes}

    def width(executors: int) -> float:
        low, high = sizes[executors].likely_seconds
        return high / low

    assert width(8) < width(4) < width(2)
    assert width(8) < width(15) < width(32)


def log_width_at_todays_size(runs, profiles) -> float:
    job = of_runs(runs, profiles, prices=Prices())
    [own] = [size for size in job.sizes if size.executors == job.executors]
    low, high = own.likely_seconds
    assert low < own.seconds < high
    return math.log(high / low)


@pytest.mark.parametrize("executors", [(8,) * 10, SEVERAL], ids=["by replay", "by the model, too"])
def test_a_long_start_up_is_no_surer_than_the_run_that_follows_it(executors):
    runs, profiles = daily(executors)
    long = [replace(run, startup_seconds=run.seconds) for run in runs]
    width = log_width_at_todays_size(runs, profiles)
    assert log_width_at_todays_size(long, profiles) == pytest.approx(width, rel=0.02)


def test_inputs_that_differ_from_run_to_run_widen_what_the_next_takes():
    scales = (1.0, 0.6, 1.5, 0.8, 1.3, 0.6, 1.6, 1.0, 0.7, 1.4, 0.9, 1.2)
    logs = [work(executors=8, scale=scale, seed=day) for day, scale in enumerate(scales)]
    runs = [past_run(log, days=day) for day, log in enumerate(logs)]
    profiles = [profile_run(log) for log in logs]
    assert log_width_at_todays_size(runs, profiles) > 2 * log_width_at_todays_size(*daily((8,) * 12))


def test_what_a_driver_bound_job_saves_is_told_with_its_interval():
    job = surveyed((16,) * 8, driver_seconds=60.0)
    assert job.bottleneck == DRIVER
    assert "driver" in job.why
    assert job.proposed is not None
    assert job.proposed.executors < 16
    assert job.proposed.probability >= 0.8
    low, high = job.likely_saved_per_month
    assert 0 < low < job.saved_per_month < high < job.dollars_per_month
    true_seconds = work(executors=job.proposed.executors, driver_seconds=60.0).clean_seconds + 5.0
    truly_saved = job.dollars_per_month * (1 - job.proposed.executors * true_seconds / (16 * job.seconds))
    assert low < truly_saved < high


def test_machines_that_come_and_go_cost_what_is_there_and_leave_less_to_save():
    runs, profiles = daily((16,) * 8, driver_seconds=60.0)
    fewer = [replace(run, mean_executors=4.0) for run in runs]
    fixed, dynamic = (of_runs(each, profiles) for each in (runs, fewer))
    assert dynamic.executor_hours_per_month == pytest.approx(fixed.executor_hours_per_month / 4)
    assert 0 <= dynamic.saved_per_month < fixed.saved_per_month
    assert any("of 16 machines, the average" in each for each in dynamic.unknown)


def test_a_job_of_one_size_says_so():
    job = surveyed()
    assert "All runs had 8 machines: other sizes are from replay only." in job.unknown
    assert SurveyedJob.from_dict(job.to_dict()) == job
    assert SurveyedJob.from_dict({**job.to_dict(), "training_dollars": 1.8}).training_dollars == 1.8
    assert not any("replay only" in each for each in surveyed(SEVERAL).unknown)


def test_a_deadline_that_todays_size_misses_asks_for_more_machines_if_any_keep_it():
    job = surveyed(SEVERAL, asked={"goal": SurveyGoal(deadline_seconds=18.0)})
    assert job.limit_seconds == 18.0
    assert job.proposed.executors > 8
    assert job.saved_per_month < 0
    job = surveyed(asked={"goal": SurveyGoal(deadline_seconds=6.0)})
    assert job.proposed is None
    assert job.saved_per_month is None
    [told] = [each for each in job.unknown if "No size is known to end within 6 s in 80 % of runs" in each]
    # Dollars and types are those of an offer that knows neither.
    assert "$" not in told
    assert " of local" not in told


def test_without_a_profile_a_job_of_one_size_says_that_nothing_is_known():
    runs, _ = daily()
    job = of_runs(runs)
    assert job.sizes == ()
    assert job.proposed is None
    assert job.dollars_per_month > 0
    assert any(each.startswith("Other sizes are not known: all runs had 8 machines") for each in job.unknown)


def test_where_model_and_replay_disagree_it_says_so_and_the_interval_holds_both():
    runs, profiles = daily((6, 7, 8, 9, 10, 11, 12) * 2, driver_seconds=60.0)
    # All work spreads, by the runs; the replay knows of the driver's minute.
    runs = [replace(run, seconds=2400.0 / run.executors) for run in runs]
    job = of_runs(runs, profiles)
    told = "Model and replay disagree, most on 3 machines: the replay says 7 min 47 s, the model 10 min"
    assert any(each.startswith(told) for each in job.unknown)
    # Where runs were made, their time is no dent in the curve.
    seconds = {size.executors: size.seconds for size in job.sizes}
    assert seconds[5] > seconds[6] > seconds[7] > seconds[8] > seconds[10]
    three = next(size for size in job.sizes if size.executors == 3)
    low, high = three.likely_seconds
    assert three.source == BOTH
    assert low < 467.0
    assert high > 600.0


def test_runs_that_failed_are_counted_and_tell_nothing_and_one_without_its_end_is_told():
    runs, profiles = daily()
    runs[3] = replace(runs[3], has_end=False)
    failed = [
        replace(run, failure=DID_NOTHING, application_id=f"f-{n}", metrics=None)
        for n, run in enumerate(runs[:4])
    ]
    job = of_runs([*failed, *runs], profiles)
    assert (job.runs, job.failed_runs) == (10, 4)
    assert f"4 runs not counted: {DID_NOTHING}." in job.unknown
    assert any("logs of 1 of its latest 10 runs have no end" in each for each in job.unknown)
    assert "4 of 14 runs do not count: another size is not known to save any of their cost." in job.unknown


def test_how_often_and_by_how_much_is_the_historys_own():
    runs, _ = daily((4,) * 15, growth=1.02)
    runs[7] = replace(runs[7], input_bytes=runs[7].input_bytes * 50)  # an odd day
    assert runs_per_month(runs) == pytest.approx(730 / 24)
    assert forecast_of(runs).growth_per_month == pytest.approx(1.02 ** (730 / 24), rel=0.15)
    assert runs_per_month(runs[:2]) is None
    assert forecast_of(runs[:6]) is None
    weekdays = [run for day, run in enumerate(daily((4,) * 26)[0]) if day % 7 not in (4, 5)]
    assert runs_per_month(weekdays) == pytest.approx(5 / 7 * 730 / 24), "that of whole weeks"


@pytest.mark.parametrize("executors", [(8,) * 20, SEVERAL + (8,) * 8], ids=["by replay", "by the model"])
def test_it_is_told_when_a_growing_job_will_be_late_and_how_many_machines_keep_it_then(executors):
    runs, profiles = daily(executors, growth=1.01)
    chosen = {run.application_id for run in runs_to_profile(runs)}
    profiles = [each for each in profiles if each.application_id in chosen]
    goal = SurveyGoal(deadline_seconds=30.0)
    job = of_runs(runs, profiles, goal=goal)

    def seconds(executors: int, day: float) -> float:
        return work(executors=executors, scale=1.01 ** (19 + day)).clean_seconds + 5.0

    def days_until(day: str) -> int:
        return (date.fromisoformat(day) - datetime.fromisoformat(runs[-1].started_at).date()).days

    late = job.lateness
    truly = next(day for day in range(200) if seconds(8, day) > 30.0)  # half of the runs, not one in five
    if executors == (8,) * 20:
        # A replay is not sure of what more input takes, nor of any other size.
        assert days_until(late.earliest_day) > 14
        assert days_until(late.latest_day) < truly
        assert late.executors is None
    else:
        assert days_until(late.from_day) < truly < days_until(late.latest_day)
        assert late.executors > 8
        assert seconds(late.executors, days_until(late.latest_day)) < 30.0
    assert SurveyedJob.from_dict(job.to_dict()) == job
    stored = {name: value for name, value in job.to_dict().items() if name != "lateness"}
    assert SurveyedJob.from_dict(stored).lateness is None
    assert of_runs(runs[:6], profiles, goal=goal).lateness is None


def test_a_single_run_is_surveyed_by_the_rate_that_is_stated():
    runs, profiles = daily((4,))
    job = of_runs(runs, profiles)
    assert (job.runs, job.runs_per_month, job.saved_per_month) == (1, None, None)
    assert job.proposed is not None
    assert any("how often it runs" in each for each in job.unknown)
    job = of_runs(runs, profiles, otherwise_per_month=60.0)
    assert job.runs_per_month == 60.0
    assert job.dollars_per_month == pytest.approx(60.0 * 4 * 0.2 * job.seconds / 3600)
    assert job.likely_saved_per_month is not None
    assert any("60.0 a month, as stated" in each for each in job.unknown)
    runs, profiles = daily((4,) * 5)
    assert of_runs(runs, otherwise_per_month=60.0).runs_per_month == pytest.approx(730 / 24)


def test_the_survey_is_sorted_by_what_can_be_saved():
    def job(name: str, **saved) -> SurveyedJob:
        return SurveyedJob(job=name, runs=3, **saved)

    jobs = [
        job("unknown"),
        job("loss", saved_per_month=-5.0, saved_executor_hours_per_month=-2.0),
        job("little", saved_per_month=1.0, saved_executor_hours_per_month=90.0),
        job("much", saved_per_month=70.0, saved_executor_hours_per_month=3.0),
        job("hours", saved_executor_hours_per_month=8.0),
    ]
    survey = survey_of(jobs, SurveyGoal(), logs=9, unread={"it is empty": 2})
    assert [each.job for each in survey.jobs] == ["much", "little", "hours", "unknown", "loss"]
    assert survey.goal == "today's time within 10 % in 80 % of runs"
    assert survey.unread == (("it is empty", 2),)


def daily_with_a_large_fifth(count: int = 29):
    """Each fifth run takes ten times as long."""
    runs, _ = daily((4,) * count)
    return [replace(run, seconds=run.seconds * (10 if day % 5 == 0 else 1)) for day, run in enumerate(runs)]


def test_a_month_costs_what_its_runs_did_and_not_what_the_typical_one_does():
    runs = daily_with_a_large_fifth()
    job = of_runs(runs)
    # Of four whole weeks, the last.
    hours = sum(4 * (run.seconds + 5.0) for run in runs[-28:]) / 3600
    assert job.executor_hours_per_month == pytest.approx(hours * 730 / (28 * 24))
    assert job.dollars_per_month == pytest.approx(0.2 * job.executor_hours_per_month)


def test_waiting_in_a_queue_costs_nothing_and_takes_its_time():
    runs, profiles = daily()
    queued = [replace(run, startup_seconds=1205.0, executor_seconds=8 * (run.seconds + 5.0)) for run in runs]
    short, long = (of_runs(each, profiles) for each in (runs, queued))
    assert long.dollars_per_month == pytest.approx(short.dollars_per_month)
    assert long.seconds == pytest.approx(short.seconds + 1200.0)
    by_count = {size.executors: size for size in short.sizes}
    for size in long.sizes:
        assert size.cost == pytest.approx(by_count[size.executors].cost)


def test_runs_that_do_not_count_have_cost_all_the_same():
    runs, _ = daily((4,) * 9)
    waited = [
        replace(
            run, failure="executors were added or removed during the run", mean_executors=2.5, metrics=None
        )
        for run in runs
    ]
    job = of_runs(waited)
    assert (job.runs, job.failed_runs) == (0, 9)
    assert any("executors were added or removed" in each for each in job.unknown)
    hours = sum(2.5 * (run.seconds + 5.0) for run in runs[1:]) / 3600
    assert job.dollars_per_month == pytest.approx(0.2 * hours * 730 / (8 * 24), rel=0.15)
    half = of_runs([*waited[:4], *runs[4:]])
    assert half.runs == 5
    assert half.executor_hours_per_month > 0.7 * job.executor_hours_per_month


def test_what_dynamic_allocation_costs_is_told_against_fixed_executors_and_bounds_are_proposed():
    """Runs with 7.5 executors on average and 8 at most, that took half as long again as on 8 all the time."""
    runs, profiles = daily((8,) * 10)
    came_and_went = [
        replace(
            run,
            seconds=1.5 * run.seconds,
            mean_executors=7.5,
            executor_seconds=7.5 * (1.5 * run.seconds + 5.0),
            replayed=(ReplayedSize(executors=8, seconds=run.seconds, error=0.06),),
        )
        for run in runs
    ]
    profiles = [replace(each, allocation={"spark.dynamicAllocation.minExecutors": "1"}) for each in profiles]
    fixed, dynamic = of_runs(runs, profiles), of_runs(came_and_went, profiles)

    assert fixed.allocation is not None  # what its profile tells, whatever its runs had
    told = dynamic.allocation
    assert told is not None
    assert told.mean_executors == 7.5
    assert dynamic.seconds == pytest.approx(1.5 * (fixed.seconds - 5.0) + 5.0)
    # Sizes are told as they are without dynamic allocation.
    by_count = {size.executors: size.seconds for size in fixed.sizes}
    assert {size.executors: size.seconds for size in dynamic.sizes}[8] == pytest.approx(by_count[8], rel=0.02)
    taken = told.fixed_executors * by_count[told.fixed_executors]
    assert told.fixed_saves == pytest.approx(1 - taken / (7.5 * dynamic.seconds), abs=0.03)
    assert told.fixed_saves > 0.2
    assert told.bounds is not None
    assert told.bounds_seconds <= dynamic.limit_seconds
    # Bounds may also keep all executors all the time.
    assert told.bounds_save > told.fixed_saves - 0.1
    assert "all the time would save" in facts_of(dynamic)["dynamic allocation"]


def test_sizes_on_which_spark_refuses_a_barrier_stage_are_not_proposed():
    runs, profiles = daily((16,) * 8, driver_seconds=60.0)
    at_once = [replace(run, metrics=replace(run.metrics, barrier_tasks=32)) for run in runs]
    free, bound = (of_runs(each, profiles) for each in (runs, at_once))
    assert free.proposed.executors < 16
    assert min(size.executors for size in bound.sizes) == bound.proposed.executors == 16
    assert any("On fewer than 16 machines Spark refuses it" in each for each in bound.unknown)
