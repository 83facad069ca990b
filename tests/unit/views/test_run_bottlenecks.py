"""What the page of a run tells of why the job takes as long as it does."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents import TwoOpinions
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.dag_run import RunRecord
from airflow_provider_ernest.views.run import run_page, task_page
from airflow_provider_ernest.views.run_documents import StoredOfRun, stored_of
from airflow_provider_ernest.views.step_words import disagreement_of
from airflow_provider_ernest.web.answers import json_ready
from tests.unit.views.bottleneck_examples import TASK, replay, report, reported_run, two_reports_run
from tests.unit.views.reuse_examples import reused_run
from tests.unit.views.run_examples import DAG_ID, MODEL_ID, NOW, RUN_ID, model, record, row
from tests.unit.views.two_types import FIRST, SECOND

DISAGREES = "The replay disagrees with the model: 8 min 40 s on 16 machines, where the model says 5 min 50 s."


def told(run: RunRecord, stored: StoredOfRun | None = None) -> dict[str, Any]:
    page = json_ready(run_page(run, stored=stored or StoredOfRun(), now=NOW))
    return page


def step(run: RunRecord, branch: str = "", stored: StoredOfRun | None = None) -> dict[str, Any]:
    (group,) = told(run, stored)["groups"]
    (found,) = [
        each for each in group["steps"] if each["kind"] == "bottleneck_report" and each["branch"] == branch
    ]
    return found


def test_the_step_says_what_binds_and_where_replay_disagrees():
    shown = step(reported_run())
    assert shown["says"] == f"{report().headline}. {DISAGREES}"
    assert shown["model"]["model_id"] == MODEL_ID


def test_it_stands_between_fit_and_choice():
    (group,) = told(reported_run())["groups"]
    kinds = [each["kind"] for each in group["steps"]]
    assert kinds[-5:] == ["fit", "bottleneck_report", "choose", "production", "terminate"]


def test_it_is_never_taken_for_production():
    run = reported_run()
    run = replace(run, downstream={"ernest.choose_config": frozenset({f"ernest.{TASK}", "production"})})
    (group,) = told(run)["groups"]
    assert group["production"]["task_id"] == "production"


def test_the_branch_tells_it():
    (branch,) = told(reported_run())["groups"][0]["branches"]
    assert branch["bottlenecks"] == {
        "headline": report().headline,
        "bottleneck": "network",
        "application_id": report().application_id,
        "machines": 4,
        "scale": 0.1,
        "disagreement": DISAGREES,
    }


def test_each_type_has_its_own():
    run = two_reports_run()
    first, second = told(run)["groups"][0]["branches"]
    assert first["bottlenecks"]["bottleneck"] == "network"
    assert second["bottlenecks"]["bottleneck"] == "cpu"
    assert second["bottlenecks"]["disagreement"] == ""
    assert step(run, SECOND)["says"].startswith("CPU-bound")


def test_a_report_of_one_type_that_failed_leaves_the_other():
    run = two_reports_run(changed={SECOND: {"state": "failed"}})
    first, second = told(run)["groups"][0]["branches"]
    assert (first["bottlenecks"] is None, second["bottlenecks"]) == (False, None)
    assert step(run, FIRST)["says"].startswith("Network-bound")


@pytest.mark.parametrize("state", ["failed", "upstream_failed", "skipped"])
def test_without_it_nothing_is_missing(state: str):
    run = reported_run(state=state)
    assert step(run)["says"].endswith("The model and the decision do without it.")
    page = told(run)
    assert page["hints"] == []
    assert page["groups"][0]["branches"][0]["bottlenecks"] is None
    assert page["groups"][0]["training"] == told(reported_run())["groups"][0]["training"]


def test_while_it_has_not_begun():
    assert step(reported_run(state=None))["says"] == "It has not begun."


def test_where_a_model_is_reused_it_is_not_needed():
    run = reused_run()
    skipped = row(f"ernest.{TASK}", "BottleneckReportOperator", 0, 0, state="skipped")
    assert step(replace(run, tasks=(*run.tasks, skipped)))["says"] == (
        "Not needed: a stored model is reused."
    )


def test_nothing_could_be_told():
    run = reported_run()
    key = (f"ernest.{TASK}", -1, "return_value")
    run = replace(run, values={name: run.values[name] for name in run.values if name != key})
    assert "nothing could be told" in step(run)["says"]
    assert told(run)["hints"] == []


@pytest.mark.parametrize("value", ["a custom backend's name", {"headline": "x"}, [1], {"id": 3}])
def test_what_is_no_report_hides_nothing_else(value: Any):
    run = reported_run()
    run = replace(run, values={**run.values, (f"ernest.{TASK}", -1, "return_value"): value})
    page = told(run)
    assert page["groups"][0]["branches"][0]["bottlenecks"] is None
    assert page["groups"][0]["branches"][0]["model"]["model_id"] == MODEL_ID
    assert any(TASK in hint for hint in page["hints"])


def test_where_the_xcoms_are_gone_the_store_tells(tmp_path: Path):
    store = ModelStore(tmp_path)
    store.save(model())
    store.save(record())
    store.save(report())
    other = replace(report().origin, run_id="another run")
    store.save(report(id="20261121T000000.000000Z-0badcafe", headline="?", origin=other))
    run = replace(reported_run(values=False), dag_id=DAG_ID, run_id=RUN_ID)
    assert step(run, stored=stored_of(store, run))["says"].startswith("Network-bound")


def test_a_store_that_cannot_be_read_leaves_the_rest(tmp_path: Path):
    store = ModelStore(tmp_path)
    store.save(model())
    folder = store.save(report()).parent
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    folder.write_text("no folder", encoding="utf-8")
    run = reported_run(values=False)
    assert "nothing could be told" in step(run, stored=stored_of(store, run))["says"]


def test_the_page_of_its_task():
    page = json_ready(task_page(reported_run(), stored=StoredOfRun(), task_id=f"ernest.{TASK}", map_index=-1))
    assert (page["kind"], page["model"]["model_id"]) == ("bottleneck_report", MODEL_ID)
    assert page["says"].startswith("Network-bound")


def opinions(machines: int, replayed: float, by_model: float | None) -> TwoOpinions:
    return TwoOpinions(
        machines=machines,
        replayed_seconds=replayed,
        model_seconds=by_model,
        nearly_certain_seconds=(0.9 * (by_model or 1.0), 1.1 * (by_model or 1.0)),
    )


class TestDisagreement:
    def test_the_furthest_apart_is_named_and_the_others_are_counted(self):
        sizes = (opinions(4, 90.0, 60.0), opinions(8, 20.0, 50.0), opinions(16, 60.0, 40.0))
        words = disagreement_of(report(replay=replay(sizes=sizes)))
        assert words == (
            "The replay disagrees with the model: 20 s on 8 machines, where the model says 50 s, and on 2 "
            "other numbers of machines."
        )

    def test_none_where_both_say_the_same(self):
        assert disagreement_of(report(replay=replay(sizes=(opinions(4, 61.0, 60.0),)))) == ""
        assert disagreement_of(report(replay=None)) == ""

    @pytest.mark.parametrize("seconds", [math.nan, math.inf, -3.0, 0.0])
    def test_numbers_that_are_none_are_left_out(self, seconds: float):
        assert disagreement_of(report(replay=replay(sizes=(opinions(4, seconds, 60.0),)))) == ""
        assert disagreement_of(report(replay=replay(sizes=(opinions(4, 90.0, None),)))) == ""
