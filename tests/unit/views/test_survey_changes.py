"""What has changed between two surveys of the same logs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ernest.documents.base import new_stamp
from airflow_provider_ernest.documents.surveys import Lateness, PredictedSize, Survey, SurveyedJob
from airflow_provider_ernest.views.survey_changes import changes_between

SIZE = PredictedSize(executors=12, seconds=600.0, likely_seconds=(500.0, 700.0), source="model")
JOB = SurveyedJob(
    job="enrich",
    runs=20,
    runs_per_month=30.0,
    executors=12,
    executors_per_machine=None,
    seconds=600.0,
    limit_seconds=660.0,
    executor_hours_per_month=60.0,
    dollars_per_month=12.0,
    price_per_hour=0.2,
    input_bytes=10**9,
    proposed=SIZE,
    saved_share=0.0,
    likely_saved_share=(0.0, 0.0),
)
SMALLER = replace(SIZE, executors=8)
WITH_SAVING = replace(
    JOB,
    proposed=SMALLER,
    saved_share=0.25,
    likely_saved_share=(0.2, 0.3),
    saved_per_month=3.0,
    likely_saved_per_month=(2.4, 3.6),
)


def survey(*jobs: SurveyedJob, at: str = "2026-11-01T00:00:00+00:00") -> Survey:
    return Survey(**{**new_stamp(), "at": at}, jobs=jobs, logs=100)


def told(before: SurveyedJob, after: SurveyedJob):
    return [(each.kind, each.sentence) for each in changes_between(survey(before), survey(after))]


def test_a_saving_is_found_once():
    ((kind, sentence),) = told(JOB, WITH_SAVING)
    assert kind == "found"
    assert "8 executors instead of 12" in sentence
    assert "$3" in sentence
    assert told(WITH_SAVING, WITH_SAVING) == []


def test_what_a_change_saves_is_measured_by_the_runs_since():
    since = replace(
        JOB, executors=8, seconds=700.0, runs_per_month=20.0, executor_hours_per_month=31.0, proposed=SMALLER
    )
    (change,) = changes_between(survey(WITH_SAVING), survey(since))
    # 2 hours a run before, 1.55 since, of 20 runs at $0.20.
    assert (change.kind, change.dollars_per_month) == ("saved", pytest.approx(1.8))
    assert "8 executors instead of 12, which saves $1.80 a month, as measured" in change.sentence


def test_a_run_that_takes_longer_than_its_input_grew_is_slower():
    assert told(JOB, replace(JOB, seconds=900.0, input_bytes=15 * 10**8)) == []
    ((kind, sentence),) = told(JOB, replace(JOB, seconds=900.0, input_bytes=11 * 10**8))
    assert kind == "slower"
    assert "36 % longer on as many, beyond the input's growth of 10 %" in sentence


def test_a_job_that_will_be_late_soon_is_told_once():
    late = Lateness(from_day="2026-12-05", earliest_day="2026-11-25", latest_day="2027-01-10", executors=16)
    later = replace(JOB, lateness=late)
    ((kind, sentence),) = told(JOB, later)
    assert kind == "late"
    assert "in 5 weeks (3 to 10)" in sentence
    assert "16 executors by then" in sentence
    assert told(later, later) == []


def test_jobs_that_come_and_go_are_told():
    other = replace(JOB, job="sessions")
    changes = changes_between(survey(JOB), survey(other))
    assert [(each.job, each.kind) for each in changes] == [("sessions", "new"), ("enrich", "gone")]
