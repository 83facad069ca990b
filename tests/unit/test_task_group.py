"""The whole chain as tasks: for one type of machine, and for several."""

import json
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, TaskGroup

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.clusters.emr.spec import EmrJobFlow
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.spark_submit import ErnestSparkSubmitOperator
from airflow_provider_ernest.settings import (
    Billing,
    ConnectedCluster,
    DesignBounds,
    EventLogs,
    ModelSettings,
    SampledInput,
    SizingGoal,
    SparkJob,
)
from airflow_provider_ernest.settings.values import optional_document, settings_of
from airflow_provider_ernest.task_group import ErnestTaskGroup
from tests.unit.operators.stated import group_arguments


def ernest_arguments(*, goal: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    stated = {"deadline_seconds": 60, "price_per_hour": 0.35, "max_executors": 4, **(goal or {})}
    return group_arguments(
        **{"bounds": DesignBounds(max_executors=3), "goal": SizingGoal(**stated), **changes}
    )


def sized(
    cluster: Any = None, *, production: Any = None, on_same_cluster: bool = False, **changes: Any
) -> DAG:
    """The whole chain ahead of a production task."""
    with DAG("nightly", schedule=None) as dag:
        group = ErnestTaskGroup(
            **ernest_arguments(**{**({} if cluster is None else {"cluster": cluster}), **changes})
        )
        task = production(group) if production else EmptyOperator(task_id="production")
        group >> task
        if on_same_cluster or changes.get("resize_for_production"):
            task >> group.teardown
    return dag


def on_ec2(instance_type: str, **changes: Any) -> EC2ClusterSpec:
    return EC2ClusterSpec(
        machines=4,
        instance_type=instance_type,
        image="ami-0123456789abcdef0",
        subnets=("subnet-0123456789abcdef0",),
        security_groups=("sg-0123456789abcdef0",),
        **changes,
    )


ONE, LARGE = (
    LocalClusterSpec(machines=4),
    LocalClusterSpec(machines=4, cores_per_machine=2, instance_type="large"),
)
SMALL, OTHER = (
    LocalClusterSpec(machines=executors, instance_type=name)
    for executors, name in ((4, "small"), (6, "other"))
)
M5, C5 = on_ec2("m5.large"), on_ec2("c5.large")
FALLBACK = {"goal": {"fallback_executors": 2}}
PAST_RUNS = {"history": EventLogs("/logs")}
ROUNDS = {"bounds": DesignBounds(max_executors=3, rounds=3)}


@pytest.mark.parametrize("cluster", [ONE, M5, [M5, C5], [SMALL, LARGE], [SMALL, OTHER], [SMALL, M5]])
@pytest.mark.parametrize("goal", [{}, FALLBACK])
@pytest.mark.parametrize("changes", [{}, PAST_RUNS, ROUNDS, {**PAST_RUNS, **ROUNDS}])
def test_airflow_accepts_the_dag(cluster: Any, goal: dict[str, Any], changes: dict[str, Any]):
    """With a fallback the decision goes on after failures, which Airflow forbids directly after a setup."""
    for on_same_cluster in (False, True) if cluster is ONE else (False,):
        dag = sized(cluster, on_same_cluster=on_same_cluster, **goal, **changes)
        dag.validate()
        dag.check_cycle()


@pytest.mark.parametrize(
    ("dag", "task", "upstream", "rule"),
    [
        ({}, "production", {"choose_config"}, "all_success"),
        ({}, "choose_config", {"cluster_ready", "find_model", "fit_model"}, "none_failed_min_one_success"),
        (FALLBACK, "choose_config", {"cluster_ready", "find_model", "fit_model"}, "all_done"),
        # Without a model nothing is most probable.
        (
            {"goal": {"on_failure": "most_probable"}},
            *("choose_config", {"cluster_ready", "find_model", "fit_model"}, "none_failed_min_one_success"),
        ),
        # It knows the cluster without waiting for it as a setup.
        ({}, "create_cluster", {"find_model", "design"}, None),
        ({}, "sample_run", {"design", "create_cluster"}, None),
        ({}, "fit_model", {"design", "sample_run"}, None),
        ({"cluster": M5}, "check_cluster", {"find_model"}, "all_success"),
        ({"cluster": M5}, "design", {"find_model", "check_cluster"}, "all_success"),
        (PAST_RUNS, "read_history", {"find_model"}, None),
        # Airflow would skip the model with the sample runs that past runs make needless.
        (PAST_RUNS, "fit_model", {"design", "sample_run"}, "all_done"),
        # A round that is skipped or fails is the last one: Airflow takes skipped tasks for not done by this
        # rule, and it needs one that has succeeded, for which others' success would do.
        (ROUNDS, "next_runs_2", {"sample_run"}, "all_done_min_one_success"),
        (ROUNDS, "next_runs_3", {"sample_run_2"}, "all_done_min_one_success"),
        (ROUNDS, "sample_run_2", {"next_runs_2", "create_cluster"}, None),
        # The model is made of all rounds, whatever became of them.
        (ROUNDS, "fit_model", {"design", "sample_run", "sample_run_2", "sample_run_3"}, "all_done"),
        ({**ROUNDS, "cluster": [SMALL, OTHER]}, "other.next_runs_2", {"other.sample_run"}, None),
        # The decision takes the models that there are.
        (
            {"cluster": [M5, C5]},
            *("choose_config", {"find_model", "m5_large.fit_model", "c5_large.fit_model"}, "all_done"),
        ),
        # Local clusters follow each other however the one before went, and not after a failed design.
        ({"cluster": [SMALL, LARGE]}, "large.type_before_ended", {"small.terminate_cluster"}, "all_done"),
        (
            {"cluster": [SMALL, LARGE]},
            *("large.create_cluster", {"large.design", "large.type_before_ended"}, "all_success"),
        ),
        (
            {"cluster": [M5, C5], **PAST_RUNS},
            *("c5_large.design", {"find_model", "read_history", "c5_large.check_cluster"}, None),
        ),
    ],
)
def test_what_a_task_waits_for(dag: dict[str, Any], task: str, upstream: set[str], rule: str | None):
    found = sized(**dag).task_dict.get(f"ernest.{task}") or sized(**dag).task_dict[task]

    assert {name.removeprefix("ernest.") for name in found.upstream_task_ids} == upstream
    assert found.trigger_rule == (rule or found.trigger_rule)


def test_a_stock_operator_gets_the_local_clusters_secret_in_a_file():
    dag = sized(
        on_same_cluster=True,
        production=lambda ernest: SparkSubmitOperator(
            task_id="production", application="job.py", properties_file=ernest.cluster["properties_file"]
        ),
    )

    properties_file = dag.task_dict["production"].properties_file
    assert (properties_file.operator.task_id, properties_file.key) == (
        "ernest.create_cluster",
        "properties_file",
    )


@pytest.mark.parametrize("changes", [FALLBACK, ROUNDS])
def test_what_comes_after_the_sample_runs_does_not_need_the_cluster(changes: dict[str, Any]):
    """Airflow runs nothing between a setup that has failed and its teardown, not even a fallback."""
    terminate = sized(**changes).task_dict["ernest.terminate_cluster"]

    above = {name.removeprefix("ernest.") for name in terminate.get_flat_relative_ids(upstream=True)}
    rounds = {"sample_run_2", "sample_run_3", "next_runs_2", "next_runs_3"} if changes is ROUNDS else set()
    assert above == {"find_model", "design", "create_cluster", "sample_run", *rounds}
    assert terminate.trigger_rule == "all_done_setup_success"
    assert {f"ernest.{name}" for name in rounds if "sample" in name} <= terminate.upstream_task_ids


def test_runs_on_one_machine_do_not_disturb_each_other_unless_asked():
    assert sized().task_dict["ernest.sample_run"].max_active_tis_per_dagrun == 1
    assert sized(parallel_runs=3).task_dict["ernest.sample_run"].max_active_tis_per_dagrun == 3


def test_design_and_model_are_of_the_same_method_and_terms():
    model = ModelSettings(
        method="relative", terms=("1", "scale/executors"), extension_terms=("scale",), extend_above_percent=5
    )
    bounds = DesignBounds(max_executors=4, criterion="D", budget_share=0.05)
    tasks = sized(model=model, bounds=bounds).task_dict
    design, fit = tasks["ernest.design"], tasks["ernest.fit_model"]

    for task in (design, fit):
        assert settings_of(ModelSettings, task.model, "model") == model
    assert settings_of(DesignBounds, design.bounds, "bounds") == bounds


EC2 = on_ec2("m5.large", smallest_acceptable=3, setup_script="echo ${#x}")
EC2_OPTIONS = {"aws_conn_id": "lake", "region_name": "eu-west-1", "deferrable": True}


def test_a_cluster_on_ec2_is_checked_before_anything_costs_money():
    tasks = sized(EC2, cluster_options=EC2_OPTIONS).task_dict
    check, create, design = (
        tasks[f"ernest.{name}"] for name in ("check_cluster", "create_cluster", "design")
    )

    assert "ernest.check_cluster" in create.upstream_task_ids, "which may be started without a design"
    assert design.executor_cores.key == "cores_per_machine", "which AWS tells of the type"
    assert design.available_executors == 3, "what the cluster has if it starts at all"
    for task in (check, create):
        assert (task.aws_conn_id, task.region_name) == ("lake", "eu-west-1")
        assert (task.spec["instance_type"], task.setup_script) == ("m5.large", "echo ${#x}")
    assert create.deferrable is True
    assert create.is_setup


def test_the_decision_is_kept_by_the_models_job_and_handed_on():
    def production(ernest):
        return ErnestSparkSubmitOperator(
            task_id="production", conf=ernest.job_conf(), decision=ernest.decision
        )

    tasks = sized(production=production).task_dict
    fit, choose = tasks["ernest.fit_model"], tasks["ernest.choose_config"]

    assert tasks["production"].upstream_task_ids == {"ernest.choose_config"}
    assert choose.job["name"] == fit.job["name"] == "enrich"


@pytest.mark.parametrize(
    ("pushed", "expected"), [({"job": "<enrich's>"}, {"job": "<enrich's>"}), (None, None)]
)
@pytest.mark.parametrize("is_native", [False, True])
def test_the_decision_is_rendered_also_where_it_left_no_record(pushed, expected, is_native):
    with DAG("nightly", schedule=None, render_template_as_native_obj=is_native), TaskGroup("outer"):
        ernest = ErnestTaskGroup(**ernest_arguments())
        production = ErnestSparkSubmitOperator(task_id="production", decision=ernest.decision)

    class TaskInstance:
        def xcom_pull(self, *, task_ids, key):
            assert (task_ids, key) == ("outer.ernest.choose_config", "record")
            return pushed

    production.render_template_fields({"ti": TaskInstance()})

    assert optional_document("decision", production.decision) == expected


@pytest.mark.parametrize("goal", [{}, FALLBACK])
def test_production_on_a_resized_cluster(goal):
    def production(ernest):
        stated = {"cluster": ernest.cluster, "decision": ernest.decision, "conf": ernest.job_conf()}
        return ErnestSparkSubmitOperator(task_id="production", **stated)

    dag = sized(EC2, production=production, cluster_options=EC2_OPTIONS, resize_for_production=True, **goal)

    dag.validate()
    dag.check_cycle()
    tasks = dag.task_dict
    resize = tasks["ernest.resize_cluster"]
    assert "ernest.create_cluster" in tasks["ernest.fit_model"].cluster, "which it asks for when it runs"
    assert {"ernest.create_cluster", "ernest.choose_config"} <= resize.upstream_task_ids
    assert resize.aws_conn_id == "lake"
    assert resize.spec["image"] == EC2.image, "new machines are launched as the old ones were"
    assert tasks["production"].cluster.operator is resize
    assert {"production", "ernest.resize_cluster"} <= tasks["ernest.terminate_cluster"].upstream_task_ids


def boxes(dag: DAG) -> set[tuple[str, str]]:
    """What stands behind what where the graph shows the outermost groups as one box each."""

    def box(task):
        group = task.task_group
        while group.parent_group is not None and not group.parent_group.is_root:
            group = group.parent_group
        return task.task_id if group.is_root else group.group_id

    pairs = {(box(task), box(after)) for task in dag.tasks for after in task.downstream_list}
    return {(before, after) for before, after in pairs if before != after}


def test_production_stands_between_the_group_and_the_teardown():
    """A box that is both before and behind production has it drawn to its left."""
    dag = sized(on_same_cluster=True)
    teardown = "ernest.terminate_cluster"
    assert boxes(dag) == {("ernest", "production"), ("ernest", teardown), ("production", teardown)}
    assert dag.task_dict[teardown].is_teardown


@pytest.mark.parametrize(
    ("options", "task_id"),
    [
        ({}, "etl.ernest.terminate_cluster"),
        ({"group_id": "sizing"}, "etl.sizing.terminate_cluster"),
        ({"prefix_group_id": False}, "etl.terminate_cluster"),
    ],
)
def test_the_teardown_is_named_and_set_up_as_the_group_says(options, task_id):
    with DAG("nightly", schedule=None), TaskGroup("etl"):
        ernest = ErnestTaskGroup(**ernest_arguments(), **options, default_args={"owner": "data"})
    assert (ernest.teardown.task_id, ernest.teardown.owner) == (task_id, "data")
    assert ernest.teardown.task_group.group_id == "etl"


ON_EMR = {
    "machines": 4,
    "instance_type": "m5.xlarge",
    "release_label": "emr-7.5.0",
    "event_log_uri": "s3://logs/spark/",
}
ON_S3 = {
    "job": replace(ernest_arguments()["job"], application="s3://jobs/flights.py"),
    "input": SampledInput(path="s3://data/flights", partitions=100),
}
JOB_FLOW = {
    "Name": "samples",
    "Configurations": [{"Classification": "spark"}],
    "AutoTerminationPolicy": {"IdleTimeout": 900},
}


def test_a_job_flow_of_emr_and_a_cluster_that_is_there_already():
    emr = EmrJobFlow(job_flow_id="j-1", cores_per_machine=4, **ON_EMR)
    tasks = sized(emr, **ON_S3).task_dict
    assert settings_of(EmrJobFlow, tasks["ernest.create_cluster"].spec, "spec") == emr
    assert "ernest.start_job_flow" not in tasks

    there = ConnectedCluster(spark_conn_id="lake", executors=4, executor_cores=8)
    tasks = sized(there, cluster_options={"pool": "lake"}).task_dict
    create = tasks["ernest.create_cluster"]
    assert (create.spec["spark_conn_id"], create.spec["executors"], create.pool) == ("lake", 4, "lake")
    assert tasks["ernest.design"].executor_cores == 8
    priced = replace(there, price_per_machine_hour=0.6, executors_per_machine=3)
    known = sized(priced, **PAST_RUNS).task_dict["ernest.fit_model"].machine
    assert (known["price_per_hour"], known["executors_per_machine"]) == (pytest.approx(0.2), 3)


def test_amazons_operators_start_and_end_a_job_flow_around_the_sample_runs():
    emr = EmrJobFlow(job_flow=JOB_FLOW, cores_per_machine=4, **ON_EMR)
    tasks = sized(emr, cluster_options={"aws_conn_id": "aws_data"}, **ON_S3).task_dict
    start, find, end = (
        tasks[f"ernest.{name}"] for name in ("start_job_flow", "create_cluster", "terminate_cluster")
    )

    assert (type(start).__name__, start.is_setup) == ("EmrCreateJobFlowOperator", True)
    assert (type(end).__name__, end.is_teardown) == ("EmrTerminateJobFlowOperator", True)
    assert start.job_flow_overrides == JOB_FLOW
    assert {start.aws_conn_id, find.aws_conn_id, end.aws_conn_id} == {"aws_data"}
    assert "ernest.design" in start.upstream_task_ids, "not before it is known that runs are needed"
    assert find.spec["job_flow_id"].operator is end.job_flow_id.operator is start
    assert end.upstream_task_ids == {"ernest.start_job_flow", "ernest.sample_run"}, "not behind the decision"
    assert end.retries * end.max_retry_delay >= timedelta(hours=8)
    (told,) = tasks["ernest.find_model"].types
    assert {start.task_id, find.task_id, end.task_id} <= {*told["cluster_tasks"], *told["run_cluster_tasks"]}
    assert told["settings"] == {"the job flow's Configurations": JOB_FLOW["Configurations"]}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"resize_for_production": True}, "resize_for_production=True is impossible"),
        (
            {"job": SparkJob(name="enrich", application="job.py", submit_options={"executor_cores": 2})},
            r"submit_options\['executor_cores'\]=2 would override",
        ),
        ({"cluster": LocalClusterSpec(machines="{{ params.m }}")}, "machines=.* must be known of Local"),
        ({"cluster": ConnectedCluster(spark_conn_id="lake")}, "executors=None must be known of Connected"),
        (
            {"cluster": EmrJobFlow(job_flow_id="j-1", **ON_EMR), **ON_S3},
            "executor_cores=None must be stated",
        ),
        ({"cluster": [SMALL, SMALL]}, r"cluster=\['small', 'small'\] names a type of machine twice"),
        ({"cluster": []}, r"cluster=\[\] is empty"),
        (
            {"cluster": [M5, C5], "resize_for_production": True},
            r"resize_for_production=True .*EC2ClusterOperator\(spec=",
        ),
        ({"bounds": DesignBounds(max_executors=3, rounds="{{ params.rounds }}")}, "each round is a task"),
        (
            {**ROUNDS, "model": ModelSettings(method="relative")},
            "rounds=3 is impossible with method=",
        ),
    ],
)
def test_what_cannot_be_is_refused_when_the_dag_is_parsed(changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        sized(**changes)


@pytest.mark.parametrize(("options", "retries"), [(None, 2), ({"retries": 5}, 5)])
def test_a_killed_start_has_another_attempt_that_takes_over_what_it_left(options, retries):
    create = sized(cluster_options=options).task_dict["ernest.create_cluster"]

    assert create.retries == retries
    assert create.retry_delay.total_seconds() == 15


def test_all_of_the_goal_reaches_the_decision():
    goal = SizingGoal(
        price_per_hour=0.35,
        budget_dollars=2,
        deadline_seconds=60,
        objective="balanced",
        confidence=0.95,
        allowed_executors=(2, 4),
        billing=Billing(boot_seconds=90, expected_runs="{{ params.runs }}"),
        on_failure="most_probable",
    )
    with DAG("nightly", schedule=None) as dag:
        ErnestTaskGroup(**group_arguments(goal=goal))
    choose, design = dag.get_task("ernest.choose_config"), dag.get_task("ernest.design")

    assert settings_of(SizingGoal, choose.goal, "goal", is_rendered=False) == goal
    assert design.goal["allowed_executors"] == [2, 4]


@pytest.mark.parametrize("is_native", [False, True])
def test_the_decision_knows_why_the_training_failed(is_native):
    why = "The error is 41 %, {{ above }} 'the' \"threshold\".\nReally"
    with DAG("nightly", schedule=None, render_template_as_native_obj=is_native):
        choose = ErnestTaskGroup(**ernest_arguments()).config.operator

    class TaskInstance:
        dag_id = "nightly"

        def xcom_pull(self, *, task_ids, key="return_value", default=None, map_indexes=None):
            return {("ernest.fit_model", "failure"): why}.get((task_ids, key))

    choose.render_template_fields({"ti": TaskInstance()})
    assert choose.training_failure == {"local": why}


@pytest.mark.parametrize("on_same_cluster", [False, True])
@pytest.mark.parametrize("outer", [None, "outer"])
@pytest.mark.parametrize("cluster", [ONE, [SMALL, LARGE]])
def test_nothing_waits_for_the_report_and_it_waits_for_no_production(cluster, outer, on_same_cluster):
    with DAG("nightly", schedule=None) as dag:
        with TaskGroup(outer) if outer else nullcontext():
            ernest = ErnestTaskGroup(**ernest_arguments(cluster=cluster))
        production = EmptyOperator(task_id="production")
        ernest >> production
        if on_same_cluster:
            production >> ernest.teardown

    reports = [task for task in dag.tasks if task.task_id.endswith("bottleneck_report")]
    assert len(reports) == (1 if cluster is ONE else 2)
    for report in reports:
        assert report.is_teardown
        assert not report.on_failure_fail_dagrun
        assert not report.downstream_task_ids
        assert [name.rpartition(".")[2] for name in report.upstream_task_ids] == ["fit_model"]
    assert production.upstream_task_ids == {ernest.config.operator.task_id}


# One training for each type of machine, and one decision over all of them.


def test_no_type_waits_for_another_or_for_the_decision():
    """Clusters end as soon as their runs have."""
    tasks = sized([M5, C5]).task_dict

    above = tasks["ernest.c5_large.terminate_cluster"].get_flat_relative_ids(upstream=True)
    above.remove("ernest.find_model")
    assert {task.rpartition(".")[0] for task in above} == {"ernest.c5_large"}
    assert "ernest.c5_large.fit_model" not in above


def test_types_are_trained_at_the_same_time_unless_one_is_local():
    assert "ernest.large.type_before_ended" in sized([SMALL, LARGE]).task_dict
    assert "ernest.c5_large.type_before_ended" not in sized([M5, C5]).task_dict


def test_the_decision_knows_each_type_in_the_same_order():
    choose = sized([M5, LARGE]).task_dict["ernest.choose_config"]

    assert [arg.operator.task_id for arg in choose.model] == [
        "ernest.m5_large.fit_model",
        "ernest.large.fit_model",
    ]
    assert ["ernest.m5_large.create" in choose.cluster[0], "ernest.large.create" in choose.cluster[1]] == [
        True
    ] * 2
    assert list(choose.training_failure) == ["m5.large", "large"]
    assert choose.executor_cores["large"] == 2
    assert "ernest.m5_large.check_cluster" in choose.executor_cores["m5.large"]


@pytest.mark.parametrize(
    ("clusters", "parallel_runs", "billed"),
    [
        ([OTHER], 1, 6),
        ([OTHER], 3, 2),
        ([ConnectedCluster(spark_conn_id="there", executors=50, executor_cores=1)], 1, None),
        ([M5], 1, 4),
    ],
)
def test_the_design_knows_what_is_billed_while_a_run_is_on_and_how_long_production_may_take(
    clusters, parallel_runs, billed
):
    goal = {"deadline_seconds": "{{ params.deadline }}"}
    design = sized(clusters, goal=goal, parallel_runs=parallel_runs).task_dict["ernest.design"]

    assert design.billed_machines == billed
    assert design.goal["deadline_seconds"] == "{{ params.deadline }}"


def test_past_runs_are_read_before_the_runs_are_designed():
    dag = sized(**PAST_RUNS)
    design = dag.get_task("ernest.design")

    assert "ernest.read_history" in design.upstream_task_ids
    assert "ernest.read_history" in dag.get_task("ernest.find_model").shared_tasks
    assert design.history == dag.get_task("ernest.fit_model").history
    assert design.type_tasks["sample_tasks"] == ["ernest.sample_run", "ernest.bottleneck_report"]
    assert design.type_tasks["run_cluster_tasks"] == ["ernest.create_cluster", "ernest.terminate_cluster"]
    assert dag.get_task("ernest.fit_model").training_begins_with == ["ernest.design"]
    checked = sized(M5, **PAST_RUNS).get_task("ernest.read_history")
    assert "ernest.check_cluster" in checked.upstream_task_ids, "which tells the machines' cores"
    assert not sized().has_task("ernest.read_history")


def test_each_round_is_chosen_by_those_before_and_the_model_is_made_of_all():
    tasks = sized(**ROUNDS).task_dict

    third, fit = tasks["ernest.next_runs_3"], tasks["ernest.fit_model"]
    assert "'ernest.sample_run'" in third.observations
    assert "'ernest.sample_run_2'" in third.observations
    assert "'ernest.sample_run_3'" not in third.observations
    assert fit.training_begins_with == ["ernest.design"]
    assert all(task_id in fit.observations for task_id in fit.upstream_task_ids - {"ernest.design"})
    assert fit.design.index("ernest.design") < fit.design.index("ernest.next_runs_3"), "the last one counts"


def test_a_stored_model_and_past_runs_make_all_rounds_needless():
    dag = sized(**PAST_RUNS, **ROUNDS)
    (found,) = dag.task_dict["ernest.find_model"].types

    rounds = {"ernest.sample_run", "ernest.next_runs_2", "ernest.sample_run_2"}
    assert rounds < set(found["training_tasks"])
    assert rounds < set(found["sample_tasks"])
    assert rounds < set(dag.task_dict["ernest.design"].type_tasks["sample_tasks"])


@pytest.fixture
def rendered_text():
    """What Jinja makes of a template, where tasks have pushed these values."""

    def rendered(template, pushed):
        class TaskInstance:
            def xcom_pull(self, task_ids, key="return_value"):
                # As Airflow: all instances of a mapped task, and None of one that has pushed nothing.
                return [each for task_id in task_ids for each in pushed.get((task_id, key), [None])]

        return sized().get_template_env().from_string(template).render(ti=TaskInstance())

    return rendered


def test_rounds_that_were_skipped_leave_what_the_others_have_pushed(rendered_text):
    fit = sized(**ROUNDS).task_dict["ernest.fit_model"]
    observed = {("ernest.sample_run", "return_value"): [{"index": 0}, {"index": 1}]}
    designs = {
        ("ernest.design", "design"): [{"reason": "first"}],
        ("ernest.next_runs_2", "design"): [{"reason": "stop"}],
    }

    assert [each for each in json.loads(rendered_text(fit.observations, observed)) if each] == [
        {"index": 0},
        {"index": 1},
    ]
    assert optional_document("design", rendered_text(fit.design, designs)) == {"reason": "stop"}
    assert optional_document("design", rendered_text(fit.design, {})) is None
