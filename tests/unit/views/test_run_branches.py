"""Runs in which several types of machine are trained: one group with a branch for each."""

from dataclasses import replace
from typing import Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.documents import BilledCost, Configuration
from airflow_provider_ernest.settings import DesignBounds, SampledInput, SizingGoal, SparkJob
from airflow_provider_ernest.task_group import ErnestTaskGroup
from airflow_provider_ernest.views.dag_run import RunRecord, groups_of
from airflow_provider_ernest.views.run import run_page, task_page
from airflow_provider_ernest.views.run_documents import StoredOfRun
from airflow_provider_ernest.web.answers import json_ready
from tests.unit.views.run_examples import (
    JOB,
    MODEL_ID,
    NOW,
    TYPE,
    example_run,
    model,
    never_run,
    origin,
    record,
    row,
    rows,
)
from tests.unit.views.two_types import (
    FIRST,
    OTHER_MODEL_ID,
    OTHER_TYPE,
    SECOND,
    other_model,
    other_record,
    two_types_run,
)

MACHINE_MINUTE = 0.2 / 60
NOTHING_STORED = StoredOfRun()


def page(run: RunRecord, stored: StoredOfRun = NOTHING_STORED) -> dict[str, Any]:
    ready = json_ready(run_page(run, stored=stored, now=NOW))
    return ready


def group(run: RunRecord, stored: StoredOfRun = NOTHING_STORED) -> dict[str, Any]:
    (only,) = page(run, stored)["groups"]
    return only


def task(run: RunRecord, task_id: str, map_index: int = -1) -> dict[str, Any]:
    told = json_ready(task_page(run, stored=NOTHING_STORED, task_id=task_id, map_index=map_index))
    return told


def test_both_types_are_one_group_with_a_branch_each():
    told = group(two_types_run())
    assert told["group_id"] == "ernest"
    first, second = told["branches"]
    assert (first["name"], first["instance_type"]) == (FIRST, TYPE)
    assert (second["name"], second["instance_type"]) == (SECOND, OTHER_TYPE)
    assert first["model"]["model_id"] == MODEL_ID
    assert second["model"]["model_id"] == OTHER_MODEL_ID
    assert (first["is_decided_by"], second["is_decided_by"]) == (False, True)
    assert [len(each["observations"]) for each in told["branches"]] == [4, 4]
    # The design is shared.
    assert first["design"] == second["design"]
    assert first["design"] is not None
    assert page(two_types_run())["hints"] == []


def test_the_steps_name_the_type_that_they_are_of():
    steps = group(two_types_run())["steps"]
    assert [step["kind"] for step in steps if step["map_index"] < 1] == [
        "design",
        *("cluster", "sample_run", "fit", "terminate") * 2,
        "choose",
        "production",
    ]
    types = {(step["branch"], step["instance_type"]) for step in steps}
    assert types == {("", None), (FIRST, TYPE), (SECOND, OTHER_TYPE)}


def test_before_a_cluster_is_there_the_branch_alone_tells_the_type():
    run = two_types_run(
        changed={
            f"{SECOND}.{name}": {"state": None, "started_at": None, "ended_at": None}
            for name in ("create_cluster", "sample_run", "fit_model", "terminate_cluster")
        }
        | {"choose_config": {"state": None}, "production": {"state": None}},
        without=(
            *(f"{SECOND}.{name}" for name in ("create_cluster", "sample_run", "fit_model")),
            "choose_config",
        ),
    )
    _, second = group(run)["branches"]
    assert (second["name"], second["instance_type"]) == (SECOND, None)
    assert second["training"] == {"seconds": None, "cost": None, "machines": None}


def test_each_step_leads_to_its_own_model():
    models = {
        (step["branch"], step["kind"]): (step["model"] or {}).get("model_id")
        for step in group(two_types_run())["steps"]
    }
    assert models[FIRST, "fit"] == models[FIRST, "sample_run"] == MODEL_ID
    assert models[SECOND, "fit"] == models[SECOND, "sample_run"] == OTHER_MODEL_ID
    assert models["", "choose"] == models["", "production"] == OTHER_MODEL_ID


def test_the_training_costs_what_all_branches_cost():
    told = group(two_types_run())
    first, second = (each["training"] for each in told["branches"])
    # Each is paid for until its own cluster was ended, not until the decision.
    assert (first["seconds"], second["seconds"]) == (27 * 60.0, 20 * 60.0)
    assert first["cost"] == pytest.approx(MACHINE_MINUTE * (5 * 27 + 1 * 2))
    assert second["cost"] == pytest.approx(MACHINE_MINUTE / 2 * 2 * 20)
    assert told["training"]["cost"] == pytest.approx(first["cost"] + second["cost"])
    assert told["training"]["seconds"] == 50 * 60.0
    assert told["training"]["machines"] == 6 + 2
    production = 6 * 10 * MACHINE_MINUTE / 2
    share = 100 * told["training"]["cost"] / production
    assert told["production"]["cost"] == pytest.approx(production)
    assert told["training"]["share_of_production_percent"] == pytest.approx(share)


def test_a_branch_of_unknown_price_leaves_the_whole_cost_open():
    run = two_types_run()
    key = (f"ernest.{FIRST}.create_cluster", -1, "return_value")
    values = {**run.values, key: {**run.values[key], "machines": [{}], "master": None, "culled": []}}
    told = group(replace(run, values=values))
    # The decision's price is of the other type.
    assert told["branches"][0]["training"]["cost"] is None
    assert told["training"]["cost"] is None


def test_what_production_bears_of_the_training_is_not_of_its_own_cost():
    parts = BilledCost(machines=0.28, training=0.22)
    record = other_record(predicted_cost=0.5, cost_parts=parts)
    told = group(two_types_run(chosen=record, changed={"production": {"state": "failed"}}))
    share = 100 * told["training"]["cost"] / 0.28
    assert told["training"]["share_of_production_percent"] == pytest.approx(share)
    assert told["decision"]["cost_parts"]["training"] == 0.22


def test_a_branch_that_failed_leaves_the_other():
    failed = {f"{FIRST}.fit_model": {"state": "failed"}, f"{FIRST}.sample_run": {"state": "failed"}}
    told = group(two_types_run(changed=failed, without=(f"{FIRST}.fit_model", f"{FIRST}.sample_run")))
    first, second = told["branches"]
    assert first["model"] is None
    assert second["is_decided_by"] is True
    assert told["decision"]["instance_type"] == OTHER_TYPE


def test_a_branch_that_was_skipped_costs_nothing():
    names = ("create_cluster", "sample_run", "fit_model", "terminate_cluster")
    skipped = {f"{SECOND}.{name}": {"state": "skipped", "started_at": None} for name in names}
    chosen = replace(record(), origin=None)
    run = two_types_run(changed=skipped, without=tuple(skipped), chosen=chosen)
    told = group(run)
    first, second = told["branches"]
    assert second["training"] == {"seconds": None, "cost": None, "machines": None}
    assert second["instance_type"] is None
    assert (first["is_decided_by"], second["is_decided_by"]) == (True, False)
    assert first["training"].items() <= told["training"].items()
    assert page(run)["hints"] == []


def test_how_sure_the_decision_is():
    told = group(two_types_run())["decision"]
    assert (told["confidence"], told["probability"], told["fallback"]) == (0.8, 0.91, None)
    says = task(two_types_run(), "ernest.choose_config")["says"]
    assert says.endswith("It keeps the goal with a probability of 91 %.")


def test_the_most_probable_configuration_is_told_from_the_stated_one():
    reason = "No allowed configuration ends within 60 s."
    probable = two_types_run(chosen=other_record(fallback_reason=reason, probability=0.02))
    assert group(probable)["decision"]["fallback"] == "most_probable"
    told = task(probable, "ernest.choose_config")
    assert told["fallback"] == "most_probable"
    assert told["says"].startswith("Fallback: the most probable configuration, 6 machines of type r5.large.")
    assert reason in told["says"]
    stated = other_record(fallback_reason=reason, probability=None, predicted_seconds=None, model_id=None)
    run = two_types_run(chosen=stated)
    assert group(run)["decision"]["fallback"] == "stated"
    assert [each["is_decided_by"] for each in group(run)["branches"]] == [False, False]
    told = task(run, "ernest.choose_config")
    assert told["says"].startswith("Fallback: the stated configuration, 6 machines of type r5.large.")
    assert told["model"] is None


def test_a_mix_of_types():
    mix = (
        Configuration(machines=4, instance_type=TYPE),
        Configuration(machines=2, instance_type=OTHER_TYPE),
    )
    run = two_types_run(chosen=other_record(composition=mix))
    assert (
        "4 machines of type m5.xlarge and 2 machines of type r5.large:"
        in task(run, "ernest.choose_config")["says"]
    )
    assert len(group(run)["decision"]["composition"]) == 2


def test_a_sample_run_is_of_its_type_and_was_planned_by_the_shared_design():
    told = task(two_types_run(), f"ernest.{SECOND}.sample_run", 2)
    assert told["instance_type"] == OTHER_TYPE
    assert told["model"]["model_id"] == OTHER_MODEL_ID
    assert told["experiment"]["machines"] == 4
    # At half the price of the other type.
    assert told["observation"]["cost"] == pytest.approx(4 * 0.1 * 41 / 3600)


def test_results_that_are_gone_are_taken_from_the_store():
    stored = StoredOfRun(
        models=lambda: (other_model(), replace(model(), origin=origin(f"{FIRST}.fit_model"))),
        decisions=lambda: (other_record(),),
    )
    told = group(two_types_run(values={}), stored)
    assert [each["model"]["model_id"] for each in told["branches"]] == [MODEL_ID, OTHER_MODEL_ID]
    assert told["decision"]["machines"] == 6


def test_what_is_gone_is_named_once():
    (hint,) = page(two_types_run(values={}))["hints"]
    assert hint.count("ernest.choose_config") == hint.count("ernest.design") == 1
    for branch in (FIRST, SECOND):
        assert f"ernest.{branch}.fit_model" in hint


def test_each_type_may_have_a_design_of_its_own():
    run = two_types_run()
    names = {"ernest.design": f"ernest.{FIRST}.design"}
    again = row(f"ernest.{SECOND}.design", "ExperimentDesignOperator", 28, 29)
    own = replace(
        run,
        tasks=(
            *(replace(each, task_id=names.get(each.task_id, each.task_id)) for each in run.tasks),
            again,
        ),
        values={(names.get(key[0], key[0]), *key[1:]): value for key, value in run.values.items()},
    )
    first, second = group(own)["branches"]
    assert first["design"] is not None
    assert second["design"] is None
    assert task(own, f"ernest.{FIRST}.sample_run", 0)["experiment"] is not None


def test_a_group_within_others_keeps_its_branches():
    run = two_types_run()
    within = replace(
        run,
        tasks=tuple(
            replace(each, task_id=f"outer.{each.task_id}") if each.task_id != "production" else each
            for each in run.tasks
        ),
        values={(f"outer.{key[0]}", *key[1:]): value for key, value in run.values.items()},
        downstream={},
    )
    told = group(within)
    assert told["group_id"] == "outer.ernest"
    assert [each["name"] for each in told["branches"]] == [FIRST, SECOND]


class TestAClusterForProduction:
    @pytest.fixture
    def run(self) -> RunRecord:
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
        return replace(run, tasks=(*run.tasks, *own), downstream=after)

    def test_belongs_to_the_decision_that_it_is_for(self, run: RunRecord):
        kinds = {step["task_id"]: step["kind"] for step in group(run)["steps"]}
        assert kinds["production_cluster"] == "resize"
        assert kinds["end_of_it"] == "terminate"
        assert group(run)["production"]["task_id"] == "production"

    def test_is_not_of_the_training(self, run: RunRecord):
        assert group(run)["training"] == group(two_types_run())["training"]

    def test_of_somebody_else_is_a_group_of_its_own(self):
        run = example_run()
        alone = replace(run, tasks=(*run.tasks, row("mine", "EC2ClusterOperator", 0, 1)))
        assert {each["group_id"] for each in page(alone)["groups"]} == {"", "ernest"}


def test_a_group_that_decides_for_itself_is_no_branch():
    names = ("outer", "outer.inner")
    run = example_run(
        tasks=tuple(each for name in names for each in rows(name, f"production_of_{name}")),
        values={},
        downstream={},
    )
    assert [each["group_id"] for each in page(run)["groups"]] == ["outer", "outer.inner"]


def test_a_decision_that_was_never_made():
    run = two_types_run(changed=never_run("choose_config", "production"), without=("choose_config",))
    told = group(run)
    assert told["decision"] is None
    assert told["training"]["seconds"] == 50 * 60.0
    assert {step["model"] and step["model"]["job"] for step in told["steps"] if step["kind"] == "fit"} == {
        JOB
    }


@pytest.mark.parametrize("cores", [(4, 4), (4, 8)], ids=["shared design", "own designs"])
def test_the_tasks_of_a_real_task_group_are_told_apart(cores: tuple[int, int]):
    types = ("m5.xlarge", "r5.large")
    clusters = [
        EC2ClusterSpec(
            machines=4,
            instance_type=each,
            cores_per_machine=count,
            image="ami-0123456789abcdef0",
            subnets=("subnet-0123456789abcdef0",),
            security_groups=("sg-0123456789abcdef0",),
        )
        for each, count in zip(types, cores, strict=True)
    ]
    with DAG("sizing"):
        ernest = ErnestTaskGroup(
            job=SparkJob(name="enrich", application="job.py", application_args=["{{ sample.input }}"]),
            input=SampledInput(path="/data/flights", partitions=100),
            bounds=DesignBounds(max_machines=4),
            cluster=clusters,
            goal=SizingGoal(deadline_seconds=60, max_machines=4, price_per_hour=1),
        )
        ernest >> EmptyOperator(task_id="production")
    dag = ernest.dag
    run = RunRecord(
        dag_id="sizing",
        run_id="manual__1",
        tasks=tuple(row(each.task_id, each.task_type, 0, 1) for each in dag.tasks),
        downstream={each.task_id: frozenset(each.downstream_task_ids) for each in dag.tasks},
    )
    (only,) = groups_of(run)
    assert only.group_id == "ernest"
    assert [each.group_id for each in only.branches] == ["ernest.m5_xlarge", "ernest.r5_large"]
    for branch in only.branches:
        kinds = [step.kind for step in branch.steps]
        for kind in ("design", "cluster", "sample_run", "fit", "terminate", "choose", "production"):
            assert kinds.count(kind) == 1, kind
