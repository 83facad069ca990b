"""The words and the page of a survey."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ernest.documents.surveys import (
    REPLAY,
    Lateness,
    PredictedSize,
    Survey,
    SurveyedJob,
    UsedSize,
)
from airflow_provider_ernest.views.survey import (
    history_in_short,
    lateness,
    leading_line,
    proposal,
    remarks,
    rows_of,
    survey_page,
)
from tests.examples import survey as stored_survey


def size(executors: int, seconds: float, **more) -> PredictedSize:
    told = {
        "likely_seconds": (0.9 * seconds, 1.1 * seconds),
        "source": REPLAY,
        "cost": 0.01,
        "probability": 0.9,
    }
    return PredictedSize(executors=executors, seconds=seconds, **{**told, **more})


def orders(**changes) -> SurveyedJob:
    """A job that could do with 10 machines instead of 16."""
    job = SurveyedJob(
        job="orders",
        runs=30,
        runs_per_month=30.4,
        used=(UsedSize(executors=16, runs=30, seconds=700.0, instance_type="m5.xlarge"),),
        executors=16,
        executor_cores=4,
        seconds=730.0,
        limit_seconds=840.0,
        executor_hours_per_month=98.6,
        dollars_per_month=19.7,
        price_per_hour=0.2,
        slot_utilisation=0.31,
        input_bytes=80_000_000_000,
        input_growth_per_month=1.05,
        sizes=(size(8, 870.0, probability=0.4), size(10, 760.0), size(16, 730.0), size(32, 690.0)),
        proposed=size(10, 760.0),
        saved_share=0.35,
        likely_saved_share=(0.28, 0.41),
        saved_per_month=6.87,
        likely_saved_per_month=(5.5, 8.1),
        saved_executor_hours_per_month=34.4,
        likely_saved_executor_hours_per_month=(27.6, 40.4),
        bottleneck="driver",
        why="Bound by the driver, with no task running for 400 s of 700 s",
        unknown=("All runs had 16 machines: other sizes are from replay only.",),
    )
    return replace(job, **changes)


def without_price(job: SurveyedJob) -> SurveyedJob:
    return replace(
        job,
        dollars_per_month=None,
        price_per_hour=None,
        saved_per_month=None,
        likely_saved_per_month=None,
        sizes=tuple(replace(each, cost=None) for each in job.sizes),
    )


def survey(*jobs: SurveyedJob, **more) -> Survey:
    told = {"logs": 60, "goal": "today's time within 10 % in 80 % of runs"}
    return Survey(id="s", at="2026-11-23T12:00:00+00:00", jobs=jobs, **{**told, **more})


def keeps(**changes) -> SurveyedJob:
    nothing = {"saved_share": 0.0, "likely_saved_share": (0.0, 0.0), "saved_per_month": 0.0}
    told = {**nothing, "likely_saved_per_month": (0.0, 0.0), "proposed": size(16, 730.0), "job": "keeps"}
    return orders(**{**told, **changes})


class TestWords:
    def test_the_sum_is_told_first_with_its_interval(self):
        told = leading_line(survey(orders(), orders(job="two"), keeps()))
        assert told == "3 jobs take $59.10 a month. $13.74 of it can be saved (80 %: $11.00 to $16.20)."

    def test_without_a_price_there_are_machine_hours(self):
        alone = survey(without_price(orders()))
        assert leading_line(alone) == (
            "1 job takes 98.6 machine-hours a month. 34.4 machine-hours of it can be saved "
            "(80 %: 27.6 to 40.4)."
        )
        assert "No price is known: amounts are hours of machines." in list(remarks(alone))
        page = survey_page(alone, ())
        assert (page.is_money, page.taken, page.saved) == (False, 98.6, 34.4)
        assert page.jobs[0].likely_saved == (27.6, 40.4)

    def test_what_will_be_late_is_told_with_its_range_and_what_to_do_by_then(self):
        late = Lateness(
            from_day="2026-12-28",
            earliest_day="2026-12-14",
            latest_day="2027-01-25",
            single_day="2026-11-30",
            executors=24,
            executors_until="2027-06-01",
        )
        told = survey(orders(lateness=late), keeps())
        assert lateness(told.jobs[0], told.at) == (
            "Late in 5 weeks (3 to 9): from 2026-12-28 on (80 %: 2026-12-14 to 2027-01-25) its input is "
            "likely too much for 16 machines to keep 14 min as surely as asked. Before that, one run is "
            "likely late already, on 2026-11-30: it reads more than the others. 24 machines by then should "
            "keep it until 2027-06-01."
        )
        assert [row["late"] for row in rows_of(told)] == ["in 5 weeks (3 to 9)", ""]
        shown = survey_page(told, ()).jobs[0]
        assert (shown.late_in, shown.late) == ("in 5 weeks (3 to 9)", lateness(told.jobs[0], told.at))
        assert "late" not in rows_of(survey(keeps()))[0]
        now = replace(late, from_day="2026-11-20", single_day="", executors=None, executors_until="")
        said = lateness(orders(lateness=now), told.at)
        assert said.startswith("Late now: from 2026-11-20 on")
        assert said.endswith("No larger size is known to keep it then.")
        single = replace(late, from_day="", earliest_day="", latest_day="", executors_until="")
        assert lateness(orders(lateness=single), told.at) == (
            "One run is likely late already, on 2026-11-30: it reads more than the others. 24 machines by "
            "then should keep it for more than a year."
        )

    def test_what_is_not_known_is_said(self):
        silent = orders(
            runs_per_month=None,
            executor_hours_per_month=None,
            dollars_per_month=None,
            saved_per_month=None,
            likely_saved_per_month=None,
        )
        told = survey(silent, unread=(("it is damaged", 2),))
        assert leading_line(told) == "1 job: how often it runs is not known."
        assert any(each.startswith("--runs-per-month tells it") for each in remarks(told))
        page = survey_page(told, ())
        assert page.taken is None
        (shown,) = page.jobs
        assert (shown.saved, shown.saved_share, shown.likely_saved_share) == (None, 0.35, (0.28, 0.41))
        assert shown.in_short == "saves 35 % a run (80 %: 28 % to 41 %)"
        assert "2 of 60 logs were skipped (2: it is damaged)." in list(remarks(told))
        (row,) = rows_of(told)
        assert (row["saves"], row["80 % of it"]) == ("35 % a run", "28 % to 41 %")
        assert leading_line(survey()) == "No run of a job was found."

    def test_a_proposal_is_never_told_without_its_interval(self):
        assert proposal(orders(), is_money=True) == (
            "10 machines instead of 16: 12 min 40 s a run (80 %: 11 min 24 s to 13 min 56 s), which saves "
            "$6.87 a month (80 %: $5.50 to $8.10)."
        )
        assert proposal(keeps(), is_money=True).startswith("Keep 16 machines")
        shown, as_today = survey_page(survey(orders(), keeps()), ()).jobs
        assert shown.in_short == "saves $6.87 a month (80 %: $5.50 to $8.10)"
        assert (as_today.is_as_today, as_today.proposed_executors, as_today.saved) == (True, None, None)

    def test_jobs_at_one_size_are_named_first(self):
        used = tuple(UsedSize(executors=count, runs=2, seconds=700.0) for count in (8, 16))
        varied = orders(job="varied", used=used)
        (told,) = (each for each in remarks(survey(orders(), varied)) if "one size" in each)
        assert told == "orders always ran on one size: other sizes are estimated by replay alone."
        alike = [orders(job=name) for name in "abcd"]
        (told,) = (each for each in remarks(survey(*alike, varied)) if "one size" in each)
        assert told.startswith("4 jobs (a, b, c, ...) always ran on one size each")
        assert not any("one size" in each for each in remarks(survey(varied)))

    def test_a_goal_that_no_size_keeps_to_is_told(self):
        dear = orders(job="slow", proposed=None, saved_share=None, likely_saved_share=None)
        assert "No size is known on which slow would keep to that." in list(remarks(survey(orders(), dear)))
        assert not any("No size" in each for each in remarks(survey(orders())))

    def test_what_the_past_runs_tell_is_one_sentence(self):
        assert history_in_short(orders()) == (
            "30 runs, 30.4 a month; 98.6 machine-hours a month; slots ran tasks in 31 % of their time; "
            "input 80.0 GB, +5 % a month."
        )
        silent = orders(
            runs_per_month=None,
            executor_hours_per_month=None,
            slot_utilisation=None,
            input_bytes=None,
            input_growth_per_month=None,
        )
        assert history_in_short(silent) == "30 runs."


def test_words_are_those_of_the_report_and_the_numbers_stand_beside_them():
    found = stored_survey()
    page = survey_page(found, [found.id])
    saving, unknown = page.jobs
    assert page.headline == leading_line(found)
    assert (page.taken, page.saved, page.likely_saved, page.unknown) == (48.6, 23.1, (14.2, 27.9), 1)
    assert saving.proposal == proposal(found.jobs[0], is_money=True)
    assert (saving.executors, saving.proposed_executors, saving.saved) == (8, 4, 23.1)
    assert (saving.runs, saving.slot_utilisation, saving.input_growth_per_month) == (60, 0.31, 1.04)
    assert saving.likely_saved == (14.2, 27.9)
    assert saving.why == "its tasks compute 81 % of their time."
    assert (unknown.saved, unknown.monthly, unknown.is_as_today) == (None, None, False)
    assert unknown.unknown == found.jobs[1].unknown
