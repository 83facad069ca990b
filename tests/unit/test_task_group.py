import itertools

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator

from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.dag import ernest_dag
from airflow_provider_ernest.specification import (
    DesignBounds,
    ModelSettings,
    SampledInput,
    SizingGoal,
    SparkJob,
)


def sized(*, fallback_machines=None, on_same_cluster=False, **changes):
    """A DAG with the whole chain ahead of a production task."""
    return ernest_dag(
        "nightly",
        schedule=None,
        production=lambda ernest: EmptyOperator(task_id="production"),
        production_on_same_cluster=on_same_cluster,
        ernest={
            "job": SparkJob(name="enrich", application="job.py", application_args=["{{ sample.input }}"]),
            "input": SampledInput(path="/data/flights", partitions=100),
            "bounds": DesignBounds(max_machines=4),
            "cluster": LocalClusterSpec(machines=4),
            "goal": SizingGoal(
                deadline_seconds=60,
                price_per_hour=0.35,
                max_machines=4,
                fallback_machines=fallback_machines,
            ),
            **changes,
        },
    )


@pytest.mark.parametrize("fallback_machines", [None, 2])
def test_airflow_accepts_the_dag(fallback_machines):
    """With a fallback the decision goes on after failures, which Airflow forbids directly after a setup."""
    dag = sized(fallback_machines=fallback_machines)

    dag.validate()
    dag.check_cycle()
    expected = "all_success" if fallback_machines is None else "all_done"
    assert dag.task_dict["ernest.choose_config"].trigger_rule == expected


def test_steps_come_in_the_order_of_the_data():
    tasks = sized(on_same_cluster=True).task_dict

    steps = ["design", "create_cluster", "sample_run", "fit_model", "choose_config"]
    chain = [*(f"ernest.{step}" for step in steps), "production", "ernest.terminate_cluster"]
    for before, after in itertools.pairwise(chain):
        assert before in tasks[after].upstream_task_ids


def test_production_elsewhere_does_not_hold_the_cluster():
    dag = sized()

    assert "production" not in dag.task_dict["ernest.terminate_cluster"].upstream_task_ids
    assert dag.task_dict["production"].upstream_task_ids == {"ernest.choose_config"}


def test_the_cluster_is_bracketed_by_setup_and_teardown():
    tasks = sized(on_same_cluster=True).task_dict

    assert tasks["ernest.create_cluster"].is_setup
    assert tasks["ernest.terminate_cluster"].is_teardown
    assert "production" in tasks["ernest.terminate_cluster"].upstream_task_ids


def test_runs_on_one_machine_do_not_disturb_each_other_unless_asked():
    assert sized().task_dict["ernest.sample_run"].max_active_tis_per_dagrun == 1
    assert sized(parallel_runs=3).task_dict["ernest.sample_run"].max_active_tis_per_dagrun == 3


def test_the_design_is_for_the_machines_that_production_may_have():
    goal = SizingGoal(deadline_seconds=60, price_per_hour=1, min_machines=2, max_machines=32, scale="1.5")
    design = sized(goal=goal).task_dict["ernest.design"]

    assert (design.target_min_machines, design.target_max_machines, design.target_scale) == (2, 32, "1.5")


def test_design_and_model_are_of_the_same_method_and_terms():
    model = ModelSettings(
        method="relative",
        terms=["1", "scale/machines"],
        extension_terms=["scale"],
        extend_above_percent=5,
    )
    bounds = DesignBounds(max_machines=4, criterion="D", cost="dollars", budget_share=0.05)
    tasks = sized(model=model, bounds=bounds).task_dict
    design, fit = tasks["ernest.design"], tasks["ernest.fit_model"]

    for task in (design, fit):
        assert (task.method, task.terms, task.extension_terms) == ("relative", model.terms, ["scale"])
    assert (design.criterion, design.budget_share) == ("D", 0.05)
    assert fit.extend_above_percent == 5
