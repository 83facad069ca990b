"""The card of a DAG run: what it tells of decision, production, training and failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents.models import training_dollars
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.run import RunRecord, groups_of, run_page
from airflow_provider_ernest.web.answers import json_ready
from tests.unit.views.dag_runs import (
    FIRST,
    JOB,
    MODEL_ID,
    OTHER_MODEL_ID,
    OTHER_TYPE,
    TRAINED_ON,
    TYPE,
    WHY_REUSED,
    WHY_TRAINED,
    broken_sample_run,
    downstream,
    example_run,
    failing,
    half_reused_run,
    looking,
    model,
    never_run,
    origin,
    other_model,
    production_run,
    pushing,
    record,
    recording,
    row,
    rows,
    two_types_run,
)
from tests.unit.views.stored import everything, not_secret

NO_VALUES: dict[str, Any] = {"values": {}}
EMPTY = ModelStore(Path("no such folder"))


def page_of(run: RunRecord, store: ModelStore | StoreError = EMPTY, **asked: Any) -> dict[str, Any]:
    return json_ready(run_page(run, store, **{"readable": everything, **asked}))


def card_of(run: RunRecord, store: ModelStore | StoreError = EMPTY, **asked: Any) -> dict[str, Any]:
    """The only card."""
    (only,) = page_of(run, store, **asked)["cards"]
    return only


@pytest.fixture
def stored(tmp_path: Path) -> Callable[..., ModelStore]:
    def stored(*documents: Any) -> ModelStore:
        store = ModelStore(tmp_path)
        for document in documents:
            store.save(document)
        return store

    return stored


class TestDecision:
    @pytest.mark.parametrize("kept", [{}, "s3://elsewhere", {"decision": 7}, [1], {"id": "<b>"}])
    def test_is_read_from_the_store_where_airflow_does_not_have_it(self, stored: Any, kept: Any):
        run = pushing(example_run(), "choose_config", kept, key="record")
        elsewhere = record(id="20261120T123001.000000Z-0badcafe", origin=replace(origin("x"), run_id="other"))
        assert card_of(run, stored(record(), elsewhere))["decision"]["decision_id"] == record().id
        page = page_of(run)
        assert page["cards"][0]["decision"] is None
        assert "ernest.choose_config decided is kept neither" in " ".join(page["hints"])

    def test_of_an_attempt_before_is_none(self, stored: Any):
        """A task that is cleared and runs again: what it decided before does not count any more."""
        run = example_run(changed={"choose_config": {"state": "running", "ended_at": None}})
        assert card_of(run, stored(record()))["decision"] is None


class TestProduction:
    def test_by_the_store_where_airflow_has_deleted_it(self, stored: Any):
        told = card_of(example_run(**NO_VALUES), stored(record(), production_run()))["production"]["outcome"]
        assert (told["seconds"], told["kept"]) == (590.0, True)

    def test_that_is_not_recorded_has_airflows_time_and_a_hint(self):
        page = page_of(example_run())
        production = page["cards"][0]["production"]
        assert (production["seconds"], production["outcome"]) == (600.0, None)
        assert "production is not recorded" in page["hints"][0]

    def test_that_failed_has_no_time_to_judge_by(self):
        production = {"production": {"state": "failed"}}
        told = page_of(recording(example_run(changed=production)))
        assert told["cards"][0]["production"]["outcome"] is None
        assert told["hints"] == []

    def test_of_a_mapped_task_is_the_instance_that_is_asked_for(self):
        instances = [row("production", "SparkSubmitOperator", 31, 41, map_index=index) for index in (1, 0)]
        run = example_run(tasks=(*rows()[:-1], *instances))
        for index, seconds in ((0, 600.0), (1, 700.0)):
            told = production_run(index, seconds=seconds).to_dict()
            run = pushing(run, "production", told, key="production_run", map_index=index)
        for asked, seconds in (({}, 600.0), ({"task_id": "production", "map_index": 1}, 700.0)):
            assert card_of(run, **asked)["production"]["outcome"]["seconds"] == seconds

    def test_by_another_dags_decision(self):
        """A DAG that only records has a card, too."""
        told = production_run(origin=replace(origin(""), task_id="record_run"))
        run = recording(
            example_run(tasks=(row("record_run", "RecordRunOperator", 0, 1),)), told, "record_run"
        )
        assert card_of(run)["production"]["outcome"]["seconds"] == 590.0


class TestTraining:
    def test_costs_what_all_types_cost_together(self, stored: Any):
        both = (
            model(cluster=TRAINED_ON, origin=origin(f"{FIRST}.fit_model")),
            other_model(cluster=TRAINED_ON),
        )
        cost = card_of(two_types_run(), stored(*both))["training"]["cost"]
        assert cost == pytest.approx(sum(training_dollars(each) or 0 for each in both))

    def test_of_several_types_each_says_why(self):
        told = card_of(half_reused_run())["training"]
        assert told["is_reused"] is False
        assert told["reasons"] == {TYPE: WHY_REUSED, OTHER_TYPE: WHY_TRAINED}

    @pytest.mark.parametrize("reasons", [7, "s3://elsewhere", [1], {TYPE: 7}, {TYPE: None}])
    def test_whatever_the_values_hold(self, reasons: Any):
        run = pushing(looking(example_run()), "find_model", reasons, key="reasons")
        assert card_of(run)["training"]["reasons"] == {}


class TestModel:
    @pytest.mark.parametrize(
        ("run", "found"),
        [
            # Too inaccurate: it is stored, and its task fails.
            (
                example_run(changed={"fit_model": {"state": "failed"}, **never_run("choose_config")}),
                (TYPE, MODEL_ID, True),
            ),
            (broken_sample_run(), (OTHER_TYPE, OTHER_MODEL_ID, False)),
        ],
        ids=["fitted and refused", "the newest of the DAG"],
    )
    def test_is_the_one_that_decided_or_the_nearest_to_it(
        self, stored: Any, run: RunRecord, found: tuple[str, str, bool]
    ):
        card = card_of(run, stored(model(), other_model()))
        told = card["model"]
        assert told["job"] == JOB
        assert (told["instance_type"], told["model_id"], card["is_model_of_run"]) == found

    def test_that_may_not_be_read_is_not_named(self, stored: Any):
        hidden = replace(origin("fit_model"), dag_id="secret")
        store = stored(model(origin=hidden))
        assert card_of(example_run(), store, readable=not_secret)["model"] is None


class TestFailures:
    @pytest.mark.parametrize(
        ("run", "task_id", "map_index", "reason"),
        [
            (broken_sample_run(), "ernest.sample_run", 2, "job.py failed: ValueError: unknown zone ..."),
            (
                failing(example_run(changed={"fit_model": {"state": "up_for_retry"}}), "fit_model", "No."),
                "ernest.fit_model",
                -1,
                "No. It will be tried again.",
            ),
            (
                failing(
                    example_run(changed={"create_cluster": {"state": "failed"}}), "create_cluster", {"a": 1}
                ),
                "ernest.create_cluster",
                -1,
                "It failed; its log says why.",
            ),
        ],
    )
    def test_say_why(self, run: RunRecord, task_id: str, map_index: int, reason: str):
        told = {(each["task_id"], each["map_index"]): each["reason"] for each in card_of(run)["failures"]}
        assert told[task_id, map_index] == reason

    def test_of_a_report_are_none(self):
        report = row("ernest.bottleneck_report", "BottleneckReportOperator", 29, 30, state="failed")
        assert card_of(example_run(tasks=(*rows(), report)))["failures"] == []


def test_a_store_that_cannot_be_read_leaves_the_rest(tmp_path: Path):
    root = tmp_path / "store"
    root.write_text("a file where a folder should be")
    for store in (ModelStore(root), StoreError("no such store")):
        page = page_of(recording(example_run()), store)
        assert page["cards"][0]["production"]["outcome"]["kept"] is True
        assert "model store cannot be read" in page["hints"][-1]


class TestGroups:
    def test_each_has_its_own_card_and_its_own_production(self):
        names = (("large", "archive"), ("small", "report"))
        run = example_run(
            tasks=tuple(task for name, after in names for task in rows(name, after)),
            downstream={key: after for name, task in names for key, after in downstream(name, task).items()},
        )
        told = {each["group_id"]: each["production"]["task_id"] for each in page_of(run)["cards"]}
        assert told == dict(names)
        assert card_of(run, task_id="report")["group_id"] == "small"
        assert card_of(run, task_id="large.sample_run", map_index=1)["group_id"] == "large"

    def test_one_within_others_keeps_its_branches_and_one_that_decides_is_no_branch(self):
        run = two_types_run()
        nested = [
            replace(each, task_id=f"outer.{each.task_id}") if each.task_id != "production" else each
            for each in run.tasks
        ]
        told = groups_of(replace(run, tasks=(*nested, *rows("outer", "other")), downstream={}))
        assert [each.group_id for each in told] == ["outer", "outer.ernest"]

    def test_a_cluster_for_production_belongs_to_the_decision(self):
        own = (
            row("production_cluster", "EC2ClusterOperator", 30, 31, state="failed"),
            row("end_of_it", "TerminateClusterOperator", 42, 43),
        )
        after = {
            **downstream(),
            "ernest.choose_config": frozenset({"production_cluster"}),
            "production_cluster": frozenset({"production", "end_of_it"}),
        }
        told = card_of(example_run(tasks=(*rows(), *own), downstream=after))
        assert told["production"]["task_id"] == "production"
        assert [each["task_id"] for each in told["failures"]] == ["production_cluster"]

    @pytest.mark.parametrize(
        ("behind", "far", "found"),
        [
            ([("submit", "KubernetesPodOperator")], [], "submit"),
            ([("a_message", "EmailOperator"), ("submit", "ErnestSparkSubmitOperator")], [], "submit"),
            ([], [("far_away", "SparkSubmitOperator")], None),
        ],
        ids=["any operator", "one that submits", "none further away"],
    )
    def test_production_is_directly_behind_the_decision(
        self, behind: list[Any], far: list[Any], found: str | None
    ):
        tasks = (*rows()[:-1], *(row(task, operator, 31, 41) for task, operator in behind + far))
        after = {**downstream(), "ernest.choose_config": frozenset(task for task, _ in behind)}
        production = card_of(example_run(tasks=tasks, downstream=after))["production"]
        assert (production and production["task_id"]) == found

    def test_where_the_dag_is_gone_there_is_no_production(self):
        assert card_of(example_run(downstream={}))["production"] is None


class TestNothing:
    def test_of_ernest_in_the_run(self):
        page = page_of(example_run(tasks=(row("hello", "BashOperator", 0, 1),)))
        assert page["cards"] == []
        assert "No task of this run is one of Ernest's" in page["hints"][0]

    def test_of_ernest_in_the_task(self):
        run = example_run(tasks=(*rows(), row("hello", "BashOperator", 0, 1)))
        page = page_of(run, task_id="hello")
        assert page["cards"] == []
        assert "This task is none of Ernest's" in page["hints"][0]

    @pytest.mark.parametrize(("task", "index"), [("no", -1), ("ernest.sample_run", 99), ("production", 3)])
    def test_a_task_that_is_not_there(self, task: str, index: int):
        assert page_of(example_run(), task_id=task, map_index=index) is None
