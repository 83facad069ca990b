"""The page of a stored survey: the words of the survey, and the numbers that they stand for."""

from dataclasses import replace

import pytest

from airflow_provider_ernest.views.survey import leading_line, proposal
from airflow_provider_ernest.views.survey_page import survey_page
from tests.examples import survey, surveyed_job


def test_words_are_those_of_the_report_and_the_numbers_stand_beside_them():
    found = survey()
    page = survey_page(found, [found.id])
    saving, unknown = page.jobs
    assert page.headline == leading_line(found)
    assert (page.taken, page.saved, page.likely_saved, page.unknown) == (48.6, 23.1, (14.2, 27.9), 1)
    assert saving.proposal == proposal(found.jobs[0], is_money=True)
    assert (saving.machines, saving.proposed_machines, saving.saved) == (8, 4, 23.1)
    assert (saving.runs, saving.slot_utilisation, saving.input_growth_per_month) == (60, 0.31, 1.04)
    assert saving.likely_saved == (14.2, 27.9)
    assert saving.why == "its tasks compute 81 % of their time."
    assert (unknown.saved, unknown.monthly, unknown.is_as_today) == (None, None, False)
    assert unknown.unknown[0] == found.jobs[1].unknown[0]
    assert "$1.80" in unknown.unknown[1], "what a training would cost"


def test_a_job_that_is_right_as_it_is_saves_nothing():
    job = surveyed_job(saved_per_month=0.0, likely_saved_per_month=(0.0, 0.0))
    as_today = replace(job, proposed=next(size for size in job.sizes if size.machines == job.machines))
    (shown,) = survey_page(survey(jobs=(as_today,)), []).jobs
    assert (shown.is_as_today, shown.proposed_machines, shown.saved) == (True, None, None)


def test_without_a_price_amounts_are_machine_hours():
    unpriced = {"dollars_per_month": None, "saved_per_month": None, "likely_saved_per_month": None}
    job = surveyed_job(price_per_hour=None, **unpriced)
    page = survey_page(survey(jobs=(job,)), [])
    assert (page.is_money, page.taken, page.saved) == (False, 121.6, 57.8)
    assert page.jobs[0].likely_saved == (35.5, 69.8)


def test_without_a_rate_of_runs_a_share_of_each_run_is_saved():
    rare = surveyed_job(runs_per_month=None, dollars_per_month=None, saved_per_month=None)
    page = survey_page(survey(jobs=(rare,)), [])
    assert not page.is_monthly
    assert page.saved == pytest.approx(0.475 * page.taken)
    (shown,) = page.jobs
    assert (shown.saved, shown.saved_share, shown.likely_saved_share) == (None, 0.475, (0.29, 0.57))
    assert shown.in_short == "saves 48 % a run (80 %: 29 % to 57 %)"
