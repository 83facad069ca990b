"""Runs in which several types of machine are trained: one group with a branch for each."""

from dataclasses import replace
from typing import Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from airflow_provider_ernest.billing import BilledCost
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.documents.decisions import Configuration
from airflow_provider_ernest.settings import DesignBounds, SampledInput, SizingGoal, SparkJob
from airflow_provider_ernest.task_group import ErnestTaskGroup
from airflow_provider_ernest.views.dag_run import RunRecord, groups_of
from airflow_provider_ernest.views.run_documents import StoredOfRun
from tests.unit.views.dag_runs import (
    FIRST,
    JOB,
    MODEL_ID,
    OTHER_MODEL_ID,
    OTHER_TYPE,
    PRICE,
    SECOND,
    TYPE,
    example_run,
    group_of,
    handle,
    model,
    never_run,
    origin,
    other_model,
    other_record,
    page_of,
    pushing,
    record,
    row,
    rows,
    task_of,
    two_types_run,
)

MACHINE_MINUTE = PRICE / 60
TRAINING = ("create_cluster", "sample_run", "fit_model", "terminate_cluster")
NOTHING_PAID = {"seconds": None, "cost": None, "machines": None}


def test_the_steps_name_the_type_that_they_are_of_and_lead_to_its_model():
    steps = group_of(two_types_run())["steps"]
    assert [step["kind"] for step in steps if step["map_index"] < 1] == [
        "design",
        *("cluster", "sample_run", "fit", "terminate") * 2,
        "choose",
        "production",
    ]
    types = {(step["branch"], step["instance_type"]) for step in steps}
    assert types == {("", None), (FIRST, TYPE), (SECOND, OTHER_TYPE)}
    models = {(step["branch"], step["kind"]): (step["model"] or {}).get("model_id") for step in steps}
    assert models[FIRST, "fit"] == models[FIRST, "sample_run"] == MODEL_ID
    assert models[SECOND, "fit"] == models[SECOND, "sample_run"] == OTHER_MODEL_ID
    assert models["", "choose"] == models["", "production"] == OTHER_MODEL_ID


def test_before_a_cluster_is_there_the_branch_alone_tells_the_type():
    not_yet = {"state": None, "started_at": None, "ended_at": None}
    tasks = (*(f"{SECOND}.{name}" for name in TRAINING), "choose_config", "production")
    run = two_types_run(changed=dict.fromkeys(tasks, not_yet), without=tasks)
    _, second = group_of(run)["branches"]
    assert (second["name"], second["instance_type"]) == (SECOND, None)
    assert second["training"] == NOTHING_PAID


class TestCost:
    def test_the_training_costs_what_all_branches_cost(self):
        told = group_of(two_types_run())
        first, second = (each["training"] for each in told["branches"])
        # Each is paid for until its own cluster was ended, not until the decision.
        assert (first["seconds"], second["seconds"]) == (27 * 60.0, 20 * 60.0)
        assert first["cost"] == pytest.approx(MACHINE_MINUTE * (5 * 27 + 1 * 2))
        assert second["cost"] == pytest.approx(MACHINE_MINUTE / 2 * 2 * 20)
        assert told["training"]["cost"] == pytest.approx(first["cost"] + second["cost"])
        assert (told["training"]["seconds"], told["training"]["machines"]) == (50 * 60.0, 6 + 2)
        production = 6 * 10 * MACHINE_MINUTE / 2
        share = 100 * told["training"]["cost"] / production
        assert told["production"]["cost"] == pytest.approx(production)
        assert told["training"]["share_of_production_percent"] == pytest.approx(share)

    def test_a_branch_of_unknown_price_leaves_the_whole_cost_open(self):
        unpriced = {**handle(), "machines": [{}], "master": None, "culled": []}
        told = group_of(pushing(two_types_run(), f"{FIRST}.create_cluster", unpriced))
        # The decision's price is of the other type.
        assert told["branches"][0]["training"]["cost"] is told["training"]["cost"] is None

    def test_what_production_bears_of_the_training_is_not_of_its_own_cost(self):
        parts = BilledCost(machines=0.28, training=0.22)
        chosen = other_record(predicted_cost=0.5, cost_parts=parts)
        told = group_of(two_types_run(chosen=chosen, changed={"production": {"state": "failed"}}))
        share = 100 * told["training"]["cost"] / 0.28
        assert told["training"]["share_of_production_percent"] == pytest.approx(share)
        assert told["decision"]["cost_parts"]["training"] == 0.22

    def test_a_sample_run_costs_what_its_type_costs(self):
        told = task_of(two_types_run(), f"ernest.{SECOND}.sample_run", 2)
        assert (told["instance_type"], told["model"]["model_id"]) == (OTHER_TYPE, OTHER_MODEL_ID)
        assert told["experiment"]["machines"] == 4
        assert told["observation"]["cost"] == pytest.approx(4 * 0.1 * 41 / 3600)


class TestABranchThatDidNotTrain:
    def test_one_that_failed_leaves_the_other(self):
        tasks = (f"{FIRST}.fit_model", f"{FIRST}.sample_run")
        run = two_types_run(changed={task: {"state": "failed"} for task in tasks}, without=tasks)
        told = group_of(run)
        first, second = told["branches"]
        assert first["model"] is None
        assert second["is_decided_by"] is True
        assert told["decision"]["instance_type"] == OTHER_TYPE

    def test_one_that_was_skipped_costs_nothing(self):
        skipped = {f"{SECOND}.{name}": {"state": "skipped", "started_at": None} for name in TRAINING}
        run = two_types_run(changed=skipped, without=tuple(skipped), chosen=record(origin=None))
        told = group_of(run)
        first, second = told["branches"]
        assert (second["training"], second["instance_type"]) == (NOTHING_PAID, None)
        assert (first["is_decided_by"], second["is_decided_by"]) == (True, False)
        assert first["training"].items() <= told["training"].items()
        assert page_of(run)["hints"] == []

    def test_a_decision_that_was_never_made(self):
        run = two_types_run(changed=never_run("choose_config", "production"), without=("choose_config",))
        told = group_of(run)
        assert told["decision"] is None
        assert told["training"]["seconds"] == 50 * 60.0
        assert {step["model"]["job"] for step in told["steps"] if step["kind"] == "fit"} == {JOB}


def test_a_decision_for_a_mix_of_types():
    types = ((4, TYPE), (2, OTHER_TYPE))
    mix = tuple(Configuration(machines=count, instance_type=name) for count, name in types)
    run = two_types_run(chosen=other_record(composition=mix))
    says = task_of(run, "ernest.choose_config")["says"]
    assert "4 machines of m5.xlarge and 2 machines of r5.large:" in says
    assert len(group_of(run)["decision"]["composition"]) == 2


class TestResultsThatAreGone:
    def test_are_taken_from_the_store(self):
        stored = StoredOfRun(
            models=lambda: (other_model(), model(origin=origin(f"{FIRST}.fit_model"))),
            decisions=lambda: (other_record(),),
        )
        told = group_of(two_types_run(values={}), stored)
        assert [each["model"]["model_id"] for each in told["branches"]] == [MODEL_ID, OTHER_MODEL_ID]
        assert told["decision"]["machines"] == 6

    def test_are_named_once(self):
        (hint,) = page_of(two_types_run(values={}))["hints"]
        tasks = ("choose_config", "design", f"{FIRST}.fit_model", f"{SECOND}.fit_model")
        assert [hint.count(f"ernest.{task}") for task in tasks] == [1] * 4


def renamed(run: RunRecord, names: dict[str, str], *more: Any, **facts: Any) -> RunRecord:
    """The run with other ids of tasks, and with more tasks."""
    tasks = (replace(each, task_id=names.get(each.task_id, each.task_id)) for each in run.tasks)
    values = {(names.get(key[0], key[0]), *key[1:]): value for key, value in run.values.items()}
    return replace(run, tasks=(*tasks, *more), values=values, **facts)


class TestGroups:
    def test_each_type_may_have_a_design_of_its_own(self):
        again = row(f"ernest.{SECOND}.design", "ExperimentDesignOperator", 28, 29)
        own = renamed(two_types_run(), {"ernest.design": f"ernest.{FIRST}.design"}, again)
        first, second = group_of(own)["branches"]
        assert (first["design"] is None, second["design"]) == (False, None)
        assert task_of(own, f"ernest.{FIRST}.sample_run", 0)["experiment"] is not None

    def test_one_within_others_keeps_its_branches(self):
        run = two_types_run()
        ours = {each.task_id for each in run.tasks} - {"production"}
        told = group_of(renamed(run, {task: f"outer.{task}" for task in ours}, downstream={}))
        assert told["group_id"] == "outer.ernest"
        assert [each["name"] for each in told["branches"]] == [FIRST, SECOND]

    def test_one_that_decides_for_itself_is_no_branch(self):
        names = ("outer", "outer.inner")
        tasks = tuple(each for name in names for each in rows(name, f"production_of_{name}"))
        told = page_of(example_run(tasks=tasks, values={}, downstream={}))
        assert [each["group_id"] for each in told["groups"]] == ["outer", "outer.inner"]

    def test_a_cluster_for_production_belongs_to_the_decision_and_not_to_the_training(self):
        run = two_types_run()
        own = (
            row("production_cluster", "EC2ClusterOperator", 55, 56),
            row("end_of_it", "TerminateClusterOperator", 67, 68),
        )
        after = {
            **run.downstream,
            "ernest.choose_config": frozenset({"production_cluster", "production"}),
            "production_cluster": frozenset({"production", "end_of_it"}),
        }
        told = group_of(replace(run, tasks=(*run.tasks, *own), downstream=after))
        kinds = {step["task_id"]: step["kind"] for step in told["steps"]}
        assert (kinds["production_cluster"], kinds["end_of_it"]) == ("resize", "terminate")
        assert told["production"]["task_id"] == "production"
        assert told["training"] == group_of(run)["training"]

    def test_a_cluster_of_somebody_else_is_a_group_of_its_own(self):
        run = example_run(tasks=(*rows(), row("mine", "EC2ClusterOperator", 0, 1)))
        assert {each["group_id"] for each in page_of(run)["groups"]} == {"", "ernest"}

    @pytest.mark.parametrize("cores", [(4, 4), (4, 8)], ids=["shared design", "own designs"])
    def test_the_tasks_of_a_real_task_group_are_told_apart(self, cores: tuple[int, int]):
        clusters = [
            EC2ClusterSpec(
                machines=4,
                instance_type=each,
                cores_per_machine=count,
                image="ami-0123456789abcdef0",
                subnets=("subnet-0123456789abcdef0",),
                security_groups=("sg-0123456789abcdef0",),
            )
            for each, count in zip((TYPE, OTHER_TYPE), cores, strict=True)
        ]
        with DAG("sizing") as dag:
            ernest = ErnestTaskGroup(
                job=SparkJob(name="enrich", application="job.py", application_args=["{{ sample.input }}"]),
                input=SampledInput(path="/data/flights", partitions=100),
                bounds=DesignBounds(max_machines=4),
                cluster=clusters,
                goal=SizingGoal(deadline_seconds=60, max_machines=4, price_per_hour=1),
            )
            ernest >> EmptyOperator(task_id="production")
        run = RunRecord(
            dag_id="sizing",
            run_id="manual__1",
            tasks=tuple(row(each.task_id, each.task_type, 0, 1) for each in dag.tasks),
            downstream={each.task_id: frozenset(each.downstream_task_ids) for each in dag.tasks},
        )
        (only,) = groups_of(run)
        assert only.group_id == "ernest"
        assert [each.group_id for each in only.branches] == [f"ernest.{each}" for each in (FIRST, SECOND)]
        for branch in only.branches:
            kinds = [step.kind for step in branch.steps]
            for kind in ("design", "cluster", "sample_run", "fit", "terminate", "choose", "production"):
                assert kinds.count(kind) == 1, kind
