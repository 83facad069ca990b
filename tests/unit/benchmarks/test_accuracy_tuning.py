"""Constants that are told of a job are chosen without it."""

import math

import pytest

from airflow_provider_ernest.documents.models import AveragingPrior
from benchmarks.accuracy import synthetic
from benchmarks.accuracy.evaluation import Outcome
from benchmarks.accuracy.tuning import DEFAULTS, interval_score, table, tuned


def outcome(*repetitions: float, low: float, high: float) -> Outcome:
    return Outcome(
        method="ours",
        job="sort",
        condition="",
        split="",
        machines=4,
        scale=1,
        seconds=10,
        repetitions=repetitions,
        predicted=10,
        bounds=((low, high), (low / 2, high * 2)),
    )


def test_a_job_has_no_vote_on_its_own_constants():
    scores = {
        DEFAULTS: {"sort": 1.0, "grep": 1.0, "sgd": 1.0},
        "suits sort": {"sort": 0.1, "grep": 1.1, "sgd": 1.1},
        "suits the others": {"sort": 9.0, "grep": 0.9, "sgd": 0.9},
    }
    sort, grep, _ = tuned(scores, traces={job: ("c3o", job) for job in scores[DEFAULTS]})
    assert (sort.chosen, sort.best) == ("suits the others", "suits sort")
    assert grep.chosen == "suits sort", "sort and sgd are better with it than with the others"


def test_nor_has_another_protocol_of_its_trace():
    scores = {
        DEFAULTS: {"C3O, sort": 1.0, "C3O, one shape, sort": 1.0, "Bell, sort": 1.0},
        "suits C3O": {"C3O, sort": 0.1, "C3O, one shape, sort": 0.1, "Bell, sort": 1.1},
    }
    traces = {job: (job.partition(",")[0], "sort") for job in scores[DEFAULTS]}
    mixed, one_shape, elsewhere = tuned(scores, traces=traces)
    assert mixed.chosen == one_shape.chosen == DEFAULTS
    assert elsewhere.chosen == "suits C3O"


def test_the_score_is_the_width_and_ten_times_what_lies_outside():
    assert interval_score(outcome(9, 11, low=8, high=12)) == pytest.approx(math.log(1.5))
    missed = interval_score(outcome(24, low=8, high=12))
    assert missed == pytest.approx(math.log(1.5) + 10 * math.log(2))


def test_each_job_is_told_by_the_defaults_and_by_what_was_chosen_without_it():
    rounds = synthetic.rounds(repetitions=1)
    few = [("synthetic", rounds[:1])]
    wide = AveragingPrior(noise=(0.5,), noise_weights=(1.0,))
    lines = table(few, alternatives={DEFAULTS: AveragingPrior(), "much noise": wide})
    jobs = {case.job for case in rounds[0].cases}
    assert sum(line.startswith("  defaults  ") for line in lines) >= len(jobs)
    assert sum(line.startswith("  without it") for line in lines) == len(jobs) + 1
    assert not any("without it: much noise" in line for line in lines), "it suits none"
