"""The list of all models, and that neither it nor the pages load what they do not need."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ernest.documents import ReplayOpinion
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.models import SORTS, list_models
from airflow_provider_ernest.web.answers import json_ready
from tests.examples import NOW, bottleneck_report, profile_record
from tests.unit.views.stored import beside, entry, everything, not_secret


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
    assert (row["state"], row["state_cause"], row["state_reason"]) == ("fresh", "", "")
    assert answer["counts"] == {"fresh": 1, "stale": 0, "drifting": 0}
    assert "secret" not in str(answer)
    assert "bb" not in str(answer)
    assert set(jobs(listed(*entries, readable=not_secret))) == {"join", "by_hand"}


def test_nobody_is_asked_twice_about_a_dag():
    asked: list[str | None] = []
    entries = (entry(job=f"job {number}") for number in range(20))
    listed(*entries, readable=lambda dag_id: asked.append(dag_id) or True)
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
    clicks = entry(job="clicks", terms=("1", "log(machines)"), artifact="s3://jars/GRÖSSE.jar")
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
    assert answer["counts"] == {"fresh": 1, "stale": 1, "drifting": 1}
    assert all(row["state_reason"] for row in answer["rows"][:2])
    only = listed(*entries, state="stale")
    assert (only["total"], jobs(only)) == (1, ["stale"])
    assert only["counts"] == answer["counts"]


@pytest.mark.parametrize(
    ("changes", "state", "cause", "reason"),
    [
        (
            [entry("mark", days=1, model_id=entry(days=9).id, cause="data", reason="It has 14 columns.")],
            "stale",
            "data",
            "14 columns",
        ),
        (
            [entry("production", days=1, model_id=entry(days=9).id, artifact_sha256="bb")],
            "stale",
            "code",
            "",
        ),
        (
            [
                entry(
                    "production",
                    days=days,
                    model_id=entry(days=9).id,
                    predicted_seconds=1.0,
                    is_unlikely=True,
                    is_unusual=True,
                )
                for days in (5, 4, 3, 2)
            ],
            "drifting",
            "unexplained",
            "",
        ),
    ],
    ids=["a mark", "another application", "runs outside their intervals"],
)
def test_why_a_model_is_not_fresh(changes: list[Any], state: str, cause: str, reason: str):
    model = entry(days=9, artifact_sha256="aa")
    (row,) = listed(model, *changes)["rows"]
    assert (row["state"], row["state_cause"]) == (state, cause)
    assert reason in row["state_reason"]
    assert listed(model, *changes, state=state)["total"] == 1
    assert listed(model, *changes, state="fresh")["total"] == 0


def test_what_has_no_value_comes_last_either_way():
    errors = {"none": None, "low": 1.0, "high": 8.0, "also none": None}
    entries = [entry(job=job, median_error_percent=error) for job, error in errors.items()]
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


def test_values_that_nobody_can_read_are_no_error():
    odd = replace(entry(job="odd"), at="yesterday, about noon", median_error_percent=float("nan"))
    answer = listed(odd, entry(job="even"), entry(job="ahead", days=-1))
    assert jobs(answer) == ["ahead", "even", "odd"]
    told = answer["rows"][2]
    assert (told["age_seconds"], told["created_at"]) == (None, "yesterday, about noon")
    assert told["median_error_percent"] is None
    assert answer["rows"][0]["age_seconds"] == 0.0, "no negative age"


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


WITHOUT_MATHEMATICS = """
import sys
from pathlib import Path
import airflow_provider_ernest.views.models
import airflow_provider_ernest.views.prediction_request
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.clarity import clarity_page
from airflow_provider_ernest.views.model import model_page
store = ModelStore(Path(sys.argv[1]))
shown, known = store.latest("join", "m5.large"), {"readable": bool, "link": str}
assert model_page(store, shown, store.catalogue.entries(), **known).observations
page = clarity_page(store, shown, entries=store.catalogue.entries(), **known)
assert page.sample.stages and page.replays
print(*sys.modules)
"""


def test_lists_and_pages_load_no_mathematics(store: ModelStore, trained: Any):
    record = profile_record(**beside(trained, days=1, dag_id="sizing"))
    told = beside(trained, days=0.5, dag_id="sizing")
    report = bottleneck_report(
        **told, model_id=trained.id, profile_ids=(record.id,), replay=ReplayOpinion(scale=1.0, problem="?")
    )
    for each in (record, report):
        store.save(each)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MATHEMATICS, str(store.root)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert not {"numpy", "scipy", "cvxpy", "pandas"} & set(done.stdout.split())
