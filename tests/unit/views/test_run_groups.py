"""Which tasks of a run are steps, and which of them belong together."""

from typing import Any

from airflow_provider_ernest.views.dag_run import RunRecord
from airflow_provider_ernest.views.run import run_page
from airflow_provider_ernest.views.run_documents import StoredOfRun
from airflow_provider_ernest.web.answers import json_ready
from tests.unit.views.run_examples import (
    NOW,
    downstream,
    example_run,
    row,
    rows,
    values,
)


def page(run: RunRecord) -> dict[str, Any]:
    return json_ready(run_page(run, stored=StoredOfRun(), now=NOW))


def group(run: RunRecord) -> dict[str, Any]:
    (only,) = page(run)["groups"]
    return only


class TestSeveralGroups:
    def test_each_has_its_own_steps_and_its_own_production(self):
        names = (("small", "report"), ("large", "archive"))
        run = example_run(
            tasks=tuple(task for name, after in names for task in rows(name, after)),
            values={key: value for name, _ in names for key, value in values(name).items()},
            downstream={key: after for name, task in names for key, after in downstream(name, task).items()},
        )
        told = {each["group_id"]: each for each in page(run)["groups"]}
        assert {name: each["production"]["task_id"] for name, each in told.items()} == {
            "small": "report",
            "large": "archive",
        }
        for name, each in told.items():
            ours = [step["task_id"] for step in each["steps"] if step["kind"] != "production"]
            assert all(task.startswith(f"{name}.") for task in ours)

    def test_tasks_in_no_group_are_a_group(self):
        run = example_run(tasks=rows(""), values=values(""), downstream=downstream(""))
        told = group(run)
        assert told["group_id"] == ""
        assert told["decision"]["machines"] == 8


class TestWhichTaskIsProduction:
    def after_the_decision(self, *tasks, **facts):
        ours = tuple(task for task in rows() if task.task_id != "production")
        names = frozenset(task.task_id for task in tasks if not task.task_id.startswith("far"))
        return example_run(
            tasks=(*ours, *tasks), downstream={**downstream(), "ernest.choose_config": names}, **facts
        )

    def test_any_operator_directly_behind_the_decision(self):
        run = self.after_the_decision(row("submit", "KubernetesPodOperator", 31, 41))
        assert group(run)["production"]["task_id"] == "submit"

    def test_one_that_submits_rather_than_one_that_tells(self):
        run = self.after_the_decision(
            row("a_message", "EmailOperator", 30, 31), row("submit", "ErnestSparkSubmitOperator", 31, 41)
        )
        assert group(run)["production"]["task_id"] == "submit"

    def test_none_that_is_further_away(self):
        run = self.after_the_decision(row("far_away", "SparkSubmitOperator", 50, 60))
        assert group(run)["production"] is None

    def test_one_behind_the_resize(self):
        ours = (*rows(), row("ernest.resize_cluster", "EC2ClusterOperator", 30, 31))
        after = {
            **downstream(),
            "ernest.choose_config": frozenset({"ernest.resize_cluster"}),
            "ernest.resize_cluster": frozenset({"production"}),
        }
        told = group(example_run(tasks=ours, downstream=after))
        assert told["production"]["task_id"] == "production"
        kinds = {step["task_id"]: step["kind"] for step in told["steps"]}
        assert kinds["ernest.resize_cluster"] == "resize"
        assert kinds["ernest.create_cluster"] == "cluster"

    def test_by_its_operator_where_the_dag_is_gone(self):
        run = example_run(downstream={})
        assert group(run)["production"]["task_id"] == "production"
