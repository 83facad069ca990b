"""The list of all models, and that neither it nor the pages load what they do not need."""

from datetime import datetime
from typing import Any

import pytest

from airflow_provider_ernest.documents.surveys import Lateness
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.views.models import SORTS, list_models
from airflow_provider_ernest.web.answers import json_ready
from tests.examples import NOW, survey, surveyed_job
from tests.unit.views.stored import entry, everything, not_secret


def listed(*entries: Any, **asked: Any) -> dict[str, Any]:
    return json_ready(list_models(entries, **{"readable": everything, "now": NOW, **asked}))


def jobs(answer: dict[str, Any]) -> list[str]:
    return [row["job"] for row in answer["rows"]]


def test_each_job_and_type_is_listed_once_by_its_newest_model():
    answer = listed(
        entry(days=3, name="old", median_error_percent=9.0),
        entry(days=1, name="new", median_error_percent=2.0),
        entry(days=2, name="other", instance_type="r5.large"),
        entry("production", days=0.5),
        entry("production", days=0.4),
        entry("decision", days=0.6),
    )
    assert answer["total"] == 2
    newest, other = answer["rows"]
    assert newest["model_id"].endswith("new")
    assert (newest["versions"], newest["production_runs"]) == (2, 2)
    assert newest["median_error_percent"] == 2.0
    assert newest["age_seconds"] == pytest.approx(86400)
    assert (newest["dag_id"], newest["state"]) == ("sizing", "fresh")
    assert (other["instance_type"], other["versions"], other["production_runs"]) == ("r5.large", 1, 0)


def test_what_may_not_be_read_is_as_if_it_were_not_there():
    hidden = {"dag_id": "secret", "artifact_sha256": "bb"}
    known = entry(days=3, artifact_sha256="aa")
    entries = [
        known,
        entry(days=1, **hidden),
        entry("production", days=0.5, **hidden),
        entry("mark", days=1, model_id=known.id, cause="data", reason="secret", **hidden),
        entry(job="payroll", dag_id="secret"),
        entry(job="by_hand", dag_id=None),
    ]
    answer = listed(*entries, readable=lambda dag_id: dag_id == "sizing")
    (row,) = answer["rows"]
    assert (row["job"], row["versions"], row["production_runs"]) == ("join", 1, 0)
    assert row["state"] == "fresh"
    assert answer["counts"] == {"attention": 0, "fresh": 1, "stale": 0, "drifting": 0}
    assert "secret" not in str(answer)
    assert "bb" not in str(answer)
    assert set(jobs(listed(*entries, readable=not_secret))) == {"join", "by_hand"}


def decided(days: float, job: str = "join", **fields: Any) -> Any:
    known = {"executors": 8, "predicted_seconds": 280.0, "predicted_cost": 0.5, "latest_seconds": 300.0}
    return entry("decision", days=days, job=job, **{**known, "confidence": 0.8, **fields})


def ran(by: Any, seconds: float, **fields: Any) -> Any:
    """A run an hour after a decision, as predicted by it."""
    days = (NOW - datetime.fromisoformat(by.at)).total_seconds() / 86400 - 1 / 24
    known = {"executors": by.executors, "predicted_seconds": by.predicted_seconds, "decision_id": by.id}
    return entry("production", days=days, job=by.job, seconds=seconds, **{**known, **fields})


def test_a_row_says_what_the_job_runs_on_takes_and_costs():
    old, new = decided(3, executors=4), decided(1, executors=6, predicted_seconds=250.0)
    (row,) = listed(entry(days=9), new, ran(new, 290.0, cost=0.7), old, ran(old, 310.0, cost=9.0))["rows"]
    assert (row["executors"], row["is_fallback"]) == (6, False)
    assert (row["seconds"], row["cost"], row["is_predicted"]) == (290.0, 0.7, False)
    assert row["error_percent"] == pytest.approx(100 * (250 / 290 - 1))
    assert row["run_age_seconds"] == pytest.approx(23 * 3600)
    assert row["deadlines"] == {"kept": 1, "judged": 2, "asked": 0.8, "is_short": True}


def test_a_size_of_a_type_without_a_model_is_told_by_the_model_that_predicted_it():
    model = entry(days=9)
    choice = decided(1, instance_type="c5.large", model_id=model.id)
    (row,) = listed(model, choice, ran(choice, 290.0, instance_type="c5.large", model_id=model.id))["rows"]
    assert (row["instance_type"], row["executors"], row["executors_type"]) == ("m5.large", 8, "c5.large")
    assert (row["seconds"], row["deadlines"]["kept"], row["production_runs"]) == (290.0, 1, 1)


def test_a_job_without_a_price_or_a_decision_has_no_dollars():
    (row,) = listed(entry(days=9), entry("production", seconds=9.0, executors=3))["rows"]
    assert (row["executors"], row["cost"], row["is_predicted"]) == (3, None, False)
    assert row["deadlines"] == {"kept": 0, "judged": 0, "asked": None, "is_short": False}


def test_as_many_misses_as_were_asked_for_are_no_shortfall():
    choices = [decided(days) for days in (9, 8, 7, 6, 5)]
    runs = [ran(each, seconds) for each, seconds in zip(choices, (400, 290, 290, 290, 290), strict=True)]
    (row,) = listed(entry(days=10), *choices, *runs)["rows"]
    assert row["deadlines"] == {"kept": 4, "judged": 5, "asked": pytest.approx(0.8), "is_short": False}


@pytest.mark.parametrize(
    ("run", "is_far_off"),
    [({"seconds": 300.0}, False), ({"seconds": 400.0}, True), ({"seconds": 300.0, "is_unusual": True}, True)],
    ids=["near", "by more than 25 %", "outside what was nearly certain"],
)
def test_a_run_far_from_its_prediction_stands_out(run: dict[str, Any], is_far_off: bool):
    (row,) = listed(entry(days=9), ran(decided(1), **run))["rows"]
    assert row["is_far_off"] is is_far_off


def nightly(job: str, *, before: list[float], since: list[float], ended: float = 0.5) -> list[Any]:
    """A job that ran once a day till so many days ago, at these costs before it was sized and since."""
    days = [ended + number for number in range(len(before) + len(since))][::-1]
    choice = decided(days[len(before)] + 0.1, job) if since else None
    known = {"job": job, "executors": 8, "seconds": 280.0}
    unsized, sized = zip(days, before, strict=False), zip(days[len(before) :], since, strict=True)
    runs = [entry("production", days=day, cost=cost, **known) for day, cost in unsized]
    runs += [entry("production", days=day, cost=cost, decision_id="x", **known) for day, cost in sized]
    return [entry(job=job, days=99), *([choice] if choice else []), *runs]


def test_a_month_costs_what_runs_cost_now_as_often_as_it_runs_and_saves_what_they_cost_more_before():
    since = [9.0, 1.0, 1.0, 2.0, 1.0, 40.0]
    (row,) = listed(*nightly("join", before=[3.0, 4.0, 9.0], since=since))["rows"]
    month = row["runs_per_month"]
    assert month == pytest.approx(365.25 / 12)
    assert row["dollars_per_month"] == pytest.approx(month * 1.0), "the median of the newest five"
    assert row["cost_before"] == 4.0
    assert row["saved_per_month"] == pytest.approx(month * (4.0 - 1.0))
    assert row["cost"] == 1.0, "a run and a month are of the same runs"


@pytest.mark.parametrize(
    ("entries", "month", "saved"),
    [
        (nightly("join", before=[], since=[1.0, 1.0]), True, False),
        (nightly("join", before=[2.0, 2.0], since=[]), True, False),
        (nightly("join", before=[2.0], since=[1.0, 1.0], ended=63), False, False),
        ([entry(), entry("production", days=0.5, cost=1.0, executors=8, seconds=9.0)], False, False),
    ],
    ids=["no run before", "none sized yet", "it runs no more", "a single run"],
)
def test_what_nobody_knows_of_a_month_is_none(entries: list[Any], month: bool, saved: bool):
    (row,) = listed(*entries)["rows"]
    assert (row["dollars_per_month"] is not None, row["saved_per_month"] is not None) == (month, saved)


def test_all_jobs_together_and_how_many_are_not_known():
    entries = [
        *nightly("a", before=[3.0], since=[1.0, 1.0]),
        *nightly("b", before=[], since=[5.0, 5.0]),
        entry(job="b", days=99, name="2", instance_type="r5.large"),
        entry(job="c"),
    ]
    answer = listed(*entries)
    month = answer["rows"][0]["runs_per_month"]
    assert answer["per_month"] == {"dollars": pytest.approx(6 * month), "jobs": 2, "unknown_jobs": 1}
    assert answer["saved_per_month"] == {"dollars": pytest.approx(2 * month), "jobs": 1, "unknown_jobs": 2}
    only = listed(*entries, search="c")
    assert only["per_month"] == {"dollars": None, "jobs": 0, "unknown_jobs": 1}


def test_dollars_a_month_lead_and_what_has_none_follows_by_the_dollars_of_a_run():
    rare = [entry(job="rare", days=9), ran(decided(1, "rare"), 1.0, cost=99.0)]
    entries = [entry(job="none"), *rare]
    entries += [*nightly("low", before=[], since=[1.0, 1.0]), *nightly("high", before=[], since=[2.0, 2.0])]
    assert jobs(listed(*entries)) == ["high", "low", "rare", "none"]
    assert jobs(listed(*entries, sort="month", descending=False)) == ["low", "high", "rare", "none"]
    saving = nightly("saving", before=[9.0], since=[0.1, 0.1])
    assert jobs(listed(*entries, *saving, sort="saved"))[0] == "saving"


def test_of_decisions_that_may_not_be_read_no_row_tells_anything():
    secret = decided(1, dag_id="secret")
    (row,) = listed(entry(days=9), secret, ran(secret, 400.0), readable=not_secret)["rows"]
    assert row["deadlines"]["judged"] == 0
    (row,) = listed(entry(days=9), secret, readable=not_secret)["rows"]
    assert (row["executors"], row["seconds"], row["cost"]) == (None, None, None)


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("", ["clicks", "join"]),
        ("JOIN", ["join"]),
        ("m5 join", ["join"]),
        ("grösse", ["clicks"]),
        ("jar", []),
        ("sizing nothing", []),
    ],
)
def test_all_words_must_occur(search: str, found: list[str]):
    clicks = entry(job="clicks", dag_id="sizing_GRÖSSE", artifact="s3://clicks.jar")
    assert jobs(listed(entry(), clicks, search=search, sort="job", descending=False)) == found


def test_states_are_counted_over_all_that_matches_the_search():
    model = entry(days=3)
    unusual = {"days": 1, "model_id": model.id, "is_unusual": True}
    entries = [
        entry(job="stale", days=3, artifact_sha256="aa"),
        entry("production", job="stale", days=1, artifact_sha256="bb"),
        entry(job="drifting", days=3),
        *(entry("production", job="drifting", name=str(run), **unusual) for run in range(3)),
        entry(job="fresh"),
        entry("production", job="fresh", days=0.5, is_unusual=True),
    ]
    answer = listed(*entries, sort="state", state="")
    assert jobs(answer) == ["drifting", "stale", "fresh"]
    assert answer["counts"] == {"attention": 2, "fresh": 1, "stale": 1, "drifting": 1}
    only = listed(*entries, state="stale")
    assert (only["total"], jobs(only)) == (1, ["stale"])
    assert only["counts"] == answer["counts"]


def test_what_has_no_value_comes_last_either_way():
    took = {"none": None, "low": 1.0, "high": 8.0, "also none": None}
    entries = [entry(job=job) for job in took]
    entries += [entry("production", job=job, executors=1, seconds=seconds) for job, seconds in took.items()]
    for descending, first in ((True, ["high", "low"]), (False, ["low", "high"])):
        answer = listed(*entries, sort="seconds", descending=descending)
        assert jobs(answer) == [*first, "also none", "none"]


@pytest.mark.parametrize("sort", SORTS)
def test_equals_are_in_the_order_of_their_names(sort: str):
    entries = [entry(job="job", instance_type=f"type {number}", days=1) for number in (3, 1, 2)]
    answer = listed(*entries, sort=sort)
    types = [row["instance_type"] for row in answer["rows"]]
    assert types == sorted(types)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"sort": "colour"}, r"sort='colour' is unknown\. Use one of need, job, "),
        ({"state": "tired"}, r"state='tired' is unknown\. Use one of attention, fresh, stale"),
    ],
)
def test_what_cannot_be_asked(asked: dict[str, Any], problem: str):
    with pytest.raises(InvalidParameterError, match=problem):
        listed(entry(), **asked)


def needs(*entries: Any, **asked: Any) -> dict[str, tuple[str, float | None]]:
    found = {row["job"]: row["need"] for row in listed(*entries, **asked)["rows"]}
    return {job: (need["action"], need["dollars_per_month"]) for job, need in found.items() if need}


def test_what_needs_attention_comes_first_by_its_dollars_each_with_what_to_do():
    waiting = decided(0.1, "waiting", executors=4, predicted_cost=1.5)
    stale = nightly("stale", before=[], since=[1.0, 1.0])
    entries = [
        *stale,
        entry("mark", job="stale", days=0.2, model_id=stale[0].id, cause="code"),
        *nightly("waiting", before=[], since=[2.0, 2.0]),
        waiting,
        *nightly("well", before=[], since=[9.0, 9.0]),
    ]
    answer = listed(*entries)
    assert jobs(answer) == ["stale", "waiting", "well"]
    month = answer["rows"][0]["runs_per_month"]
    assert needs(*entries, state="attention") == {
        "stale": ("Retrain", pytest.approx(month)),
        "waiting": ("See why", pytest.approx(0.5 * month)),
    }
    assert answer["counts"]["attention"] == 2


@pytest.mark.parametrize(
    "changed",
    [{"predicted_cost": 1.99}, {"executors": 8}, {"is_fallback": True}, {"predicted_cost": None}],
    ids=["hardly less", "today's size", "a fallback", "no price"],
)
def test_a_decision_that_saves_nothing_needs_no_attention(changed: dict[str, Any]):
    known = {"executors": 4, "predicted_cost": 1.0, **changed}
    assert needs(*nightly("well", before=[], since=[2.0, 2.0]), decided(0.1, "well", **known)) == {}


def test_a_job_that_will_be_late_by_the_survey_says_when():
    late = Lateness(from_day="2026-12-20", earliest_day="2026-12-10", latest_day="2026-12-30")
    told = survey(jobs=(surveyed_job("late", lateness=late),))
    (row,) = listed(*nightly("late", before=[], since=[2.0, 2.0]), survey=told)["rows"]
    assert row["need"]["words"].startswith("Likely late ")
    assert row["need"]["action"] == "See the sizes"
