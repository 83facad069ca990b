import subprocess
import sys
from typing import Any

import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.views.models import SORTS, list_models
from airflow_provider_ernest.web.answers import json_ready

from .stored import NOW, entry, everything


def listed(*entries: Any, **asked: Any) -> dict[str, Any]:
    return json_ready(list_models(entries, **{"readable": everything, "now": NOW, **asked}))


def jobs(answer: dict[str, Any]) -> list[str]:
    return [row["job"] for row in answer["rows"]]


def test_each_job_and_type_is_listed_once_by_its_newest_model():
    answer = listed(
        entry(days=3, name="old", median_error_percent=9.0),
        entry(days=1, name="new", median_error_percent=2.0, artifact="a.jar", artifact_sha256="ab"),
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
    assert (newest["artifact"], newest["dag_id"], newest["state"]) == ("a.jar", "sizing", "fresh")
    assert (other["instance_type"], other["versions"], other["production_runs"]) == ("r5.large", 1, 0)


def test_what_may_not_be_read_is_as_if_it_were_not_there():
    entries = [
        entry(days=3, artifact_sha256="aa"),
        entry(days=1, dag_id="secret", artifact_sha256="bb"),
        entry("production", days=0.5, dag_id="secret", artifact_sha256="bb"),
        entry(job="payroll", dag_id="secret"),
        entry(job="by_hand", dag_id=None),
    ]

    answer = listed(*entries, readable=lambda dag_id: dag_id == "sizing")

    assert jobs(answer) == ["join"]
    (row,) = answer["rows"]
    assert (row["versions"], row["production_runs"], row["state"]) == (1, 0, "fresh")
    assert answer["counts"] == {"fresh": 1, "stale": 0, "drifting": 0}
    assert "secret" not in str(answer)
    assert "bb" not in str(answer)


def test_nobody_is_asked_twice_about_a_dag():
    asked: list[str | None] = []

    def readable(dag_id: str | None) -> bool:
        asked.append(dag_id)
        return True

    listed(*(entry(job=f"job {number}") for number in range(20)), readable=readable)

    assert asked == ["sizing"]


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("", ["clicks", "join"]),
        ("JOIN", ["join"]),
        ("m5 join", ["join"]),
        ("m5.LARGE", ["clicks", "join"]),
        ("log(machines)", ["clicks"]),
        ("grösse", ["clicks"]),
        ("sizing nothing", []),
        ("joinm5", []),
    ],
)
def test_all_words_must_occur(search: str, found: list[str]):
    entries = [
        entry(job="join"),
        entry(job="clicks", terms=("1", "log(machines)"), artifact="s3://jars/GRÖSSE.jar"),
    ]
    assert jobs(listed(*entries, search=search, sort="job", descending=False)) == found


def test_states_are_counted_over_all_that_matches_the_search():
    stale = [
        entry(job="stale", days=3, artifact_sha256="aa"),
        entry("production", job="stale", days=1, artifact_sha256="bb"),
    ]
    drifting = [
        entry(job="drifting", days=3),
        *(
            entry(
                "production",
                job="drifting",
                days=1,
                name=str(run),
                model_id=entry(days=3).id,
                is_unusual=True,
            )
            for run in range(3)
        ),
    ]
    fresh = [entry(job="fresh"), entry("production", job="fresh", days=0.5, is_unusual=True)]

    answer = listed(*stale, *drifting, *fresh, sort="state", state="")
    assert jobs(answer) == ["drifting", "stale", "fresh"]
    assert answer["counts"] == {"fresh": 1, "stale": 1, "drifting": 1}
    assert all(row["state_reason"] for row in answer["rows"][:2])

    only = listed(*stale, *drifting, *fresh, state="stale")
    assert (only["total"], jobs(only)) == (1, ["stale"])
    assert only["counts"] == {"fresh": 1, "stale": 1, "drifting": 1}


def test_what_has_no_value_comes_last_either_way():
    entries = [
        entry(job="none"),
        entry(job="low", median_error_percent=1.0),
        entry(job="high", median_error_percent=8.0),
        entry(job="also none"),
    ]
    for descending, first in ((True, ["high", "low"]), (False, ["low", "high"])):
        answer = listed(*entries, sort="median_error_percent", descending=descending)
        assert jobs(answer) == [*first, "also none", "none"]


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("descending", [True, False])
def test_equals_are_in_the_order_of_their_names(sort: str, descending: bool):
    entries = [entry(job="job", instance_type=f"type {number}", days=1) for number in (3, 1, 2)]
    answer = listed(*entries, sort=sort, descending=descending)
    types = [row["instance_type"] for row in answer["rows"]]
    assert types == sorted(types, reverse=descending and sort == "instance_type")


def test_pages_follow_each_other():
    entries = [entry(job=f"job {number:02d}", days=number + 1) for number in range(30)]
    first = listed(*entries, limit=20)
    second = listed(*entries, limit=20, offset=20)
    assert jobs(first) + jobs(second) == [f"job {number:02d}" for number in range(30)]
    assert (first["total"], second["total"], second["offset"], second["limit"]) == (30, 30, 20, 20)
    assert listed(*entries, offset=99)["rows"] == []


def test_times_that_nobody_can_read_are_shown_as_they_are():
    entries = [entry(job="odd"), entry(job="even")]
    entries[0] = type(entries[0])(**{**entries[0].__dict__, "at": "yesterday, about noon"})
    answer = listed(*entries)
    assert jobs(answer) == ["even", "odd"]
    assert answer["rows"][1]["age_seconds"] is None
    assert answer["rows"][1]["created_at"] == "yesterday, about noon"


def test_a_time_ahead_of_the_clock_is_no_negative_age():
    assert listed(entry(days=-1))["rows"][0]["age_seconds"] == 0.0


def test_what_is_not_finite_is_not_said():
    answer = listed(entry(median_error_percent=float("nan"), max_error_percent=float("inf")))
    (row,) = answer["rows"]
    assert (row["median_error_percent"], row["max_error_percent"]) == (None, None)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"sort": "colour"}, r"sort='colour' is unknown\. Use one of job, "),
        ({"state": "tired"}, r"state='tired' is unknown\. Use one of fresh, stale, drifting"),
        ({"offset": -1}, r"offset=-1 is negative"),
        ({"limit": 0}, r"limit=0 is no size of a page\. Ask for 1 to 200 rows"),
        ({"limit": 201}, r"limit=201 is no size of a page"),
    ],
)
def test_what_cannot_be_asked(asked: dict[str, Any], problem: str):
    with pytest.raises(InvalidParameterError, match=problem):
        listed(entry(), **asked)


def test_lists_and_pages_load_no_mathematics():
    code = (
        "import sys\n"
        "import airflow_provider_ernest.views.models\n"
        "import airflow_provider_ernest.views.model\n"
        "import airflow_provider_ernest.views.prediction_request\n"
        "assert not {'numpy', 'scipy', 'cvxpy', 'pandas'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class TestCauses:
    def told(self, *entries: Any) -> tuple[str, str]:
        (row,) = listed(*entries)["rows"]
        return row["state"], row["state_cause"]

    def test_a_mark_makes_it_stale_with_its_cause(self):
        model = entry(days=9)
        mark = entry("mark", days=1, model_id=model.id, cause="data", reason="It has 14 columns.")
        assert self.told(model, mark) == ("stale", "data")
        assert listed(model, mark)["rows"][0]["state_reason"] == "It has 14 columns."

    def test_another_application_is_the_code(self):
        model = entry(days=9, artifact_sha256="aa")
        run = entry("production", days=1, model_id=model.id, artifact_sha256="bb")
        assert self.told(model, run) == ("stale", "code")

    def test_runs_that_miss_their_intervals_are_drift(self):
        model = entry(days=9)
        runs = [
            entry(
                "production",
                days=days,
                model_id=model.id,
                predicted_seconds=1.0,
                is_unlikely=True,
                is_unusual=True,
            )
            for days in (5, 4, 3, 2)
        ]
        assert self.told(model, *runs) == ("drifting", "unexplained")

    def test_a_mark_of_a_dag_that_may_not_be_read_says_nothing(self):
        model = entry(days=9)
        mark = entry("mark", days=1, model_id=model.id, cause="data", reason="secret", dag_id="secret")
        (row,) = listed(model, mark, readable=lambda dag_id: dag_id != "secret")["rows"]
        assert (row["state"], row["state_cause"], row["state_reason"]) == ("fresh", "", "")

    def test_the_filter_knows_marked_models(self):
        model = entry(days=9)
        mark = entry("mark", days=1, model_id=model.id, cause="settings", reason="Spark is newer.")
        assert listed(model, mark, state="stale")["total"] == 1
        assert listed(model, mark, state="fresh")["total"] == 0
