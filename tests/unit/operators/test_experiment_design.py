import json
import re

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, DownstreamTasksSkipped
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from airflow_provider_ernest.documents.runs import Design, Experiment
from airflow_provider_ernest.operators.experiment_design import ExperimentDesignOperator
from airflow_provider_ernest.settings import DesignBounds, SizingGoal
from tests import examples
from tests.unit.operators.stated import rendered, sampled

GOAL = SizingGoal(objective="cheapest", max_executors=8)
LARGE = {"min_executors": 8, "max_executors": 64}
SMALL_RUNS = {"max_executors": 4, "max_scale": 0.1, "min_scale": 0.02}


def design_operator(*, partitions=200, bounds=(), goal=None, model=None, path=__file__, **fields):
    """On at most four machines of one core. The bounds, the goal and the model's settings are rendered."""
    operator = ExperimentDesignOperator(
        task_id="design",
        bounds=DesignBounds(**SMALL_RUNS),
        input=sampled(path),
        goal=GOAL,
        **{"executor_cores": 1, **fields},
    )
    return rendered(operator, bounds=dict(bounds), goal=goal, model=model, input={"partitions": partitions})


def design(context, **fields) -> Design:
    operator = design_operator(**fields)
    runs = operator.execute(context)
    made = Design.from_dict(context["ti"].pushed["design"])
    assert [Experiment.from_dict(run) for run in runs] == list(made.experiments)
    return made


COST_OPTIONS = {
    "full_seconds_on_one_machine": 36_000,
    "run_overhead_seconds": "0",
    "price_per_hour": "0.36",
}
PAID = {"cost": "dollars", "cost_options": COST_OPTIONS}


def test_the_budget_may_be_a_share_of_what_production_costs(context):
    """36,000 machine seconds at 0.36 $ an hour are 3.60 $."""
    share = design(context, bounds={**PAID, "budget_share": "0.3"})
    doubled = design(context, bounds={**PAID, "budget_share": "0.3"}, goal={"max_executors": 4, "scale": 2})

    assert share.cost <= share.budget == pytest.approx(0.3 * 3.60)
    assert share.cost_unit == "dollars"
    assert doubled.budget == pytest.approx(2 * share.budget), "twice the input, twice the work"


def test_what_training_costs_beside_production_is_logged(context, capsys):
    fields = {"bounds": {"min_scale": None}, "partitions": 5000, "billed_machines": 4}
    design(context, goal={**LARGE, "deadline_seconds": 3600}, **fields)
    said = capsys.readouterr().out
    design(context, goal=LARGE, **fields)

    assert re.search(r"cost about [34]\.\d % of one production run, with 4 machines billed", said)
    assert "production run" not in capsys.readouterr().out, "nothing says what that is"


def test_partitions_are_counted_where_they_are_not_given(context, tmp_path):
    for number in range(150):
        (tmp_path / f"part-{number}").write_text("a row\n")
    assert design(context, partitions=None, path=tmp_path) == design(context, partitions=150)


def test_machines_that_no_sample_is_large_enough_for_are_named(context, capsys):
    design(context, bounds={"max_executors": 30})
    assert "No sample run can be of a size over 20" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"bounds": {"max_executors": "{{ x }}"}}, "max_executors=.* is still a template"),
        ({"bounds": {"budget": 0.01}}, "budget of 0.01 .* Raise the budget to"),
        ({"model": {"terms": ["scale*"]}}, "scale"),
        ({"bounds": {**PAID, "budget_share": 0.001}}, "budget of .* dollars is not enough"),
        ({"path": "/nowhere"}, r"MissingResourceError: .*nowhere.* does not exist"),
        ({"available_executors": 3}, r"max_executors=4 is more than the cluster will have \(3\)"),
    ],
)
def test_bounds_that_cannot_work_fail_without_retry_and_say_which(context, fields, named):
    with pytest.raises(AirflowFailException, match=named):
        design_operator(**fields).execute(context)


def past_runs(executors, seconds=lambda count: 20 + 900 / count):
    """What a `ReadHistoryOperator` has read, as the template renders it."""
    runs = examples.observe(
        executors=executors, scale=1.0, seconds=[seconds(count) for count in executors], from_history=True
    )
    return json.dumps({"observations": [run.to_dict() for run in runs], "notes": [], "left_out": {}})


def test_past_runs_of_some_sizes_save_sample_runs(context):
    goal = {"min_executors": 4, "max_executors": 16}
    without, beside = design(context, goal=goal), design(context, goal=goal, history=past_runs([4, 8, 8, 8]))

    assert 0 < len(beside.experiments) < len(without.experiments)
    assert beside.past_runs == 4
    assert beside.reason.startswith("Sample runs are needed")


def test_in_rounds_past_runs_leave_what_a_sample_run_is_worth_to_the_decision(context):
    goal = {"min_executors": 4, "max_executors": 16}
    fields = {"goal": goal, "history": past_runs([4, 8, 16, 16])}
    made = design(context, bounds={"rounds": "2"}, **fields)

    assert made.experiments == ()
    assert made.past_runs == 4
    assert made.reason.startswith("Stop: 1 more run would cost ")

    (forced,) = design(context, bounds={"rounds": "2", "min_runs": "1"}, **fields).experiments
    assert forced.index == 0
    of_one_size = design(context, goal=goal, bounds={"rounds": "2"}, history=past_runs([8]))
    assert len(of_one_size.experiments) == 3, "it tells nothing of others"


def test_rounds_need_a_model_that_knows_how_sure_it_is(context):
    with pytest.raises(AirflowFailException, match="impossible with method"):
        design(context, bounds={"rounds": 2}, model={"method": "classic"})


@pytest.mark.parametrize("on_same_cluster", [False, True])
def test_without_sample_runs_no_cluster_is_started_unless_production_has_it(context, on_same_cluster):
    tasks = {"sample_tasks": ["run", "report"], "run_cluster_tasks": ["create", "end"]}
    tasks |= {"training_tasks": ["run"], "cluster_tasks": ["create", "end"], "teardown": "end"}
    operator = design_operator(
        goal={"min_executors": 4, "max_executors": 16},
        history=past_runs([4, 6, 8, 12, 16, 8]),
        type_tasks=tasks,
    )
    with DAG("sized") as dag:
        create, run, report, end, production = (
            EmptyOperator(task_id=name) for name in ("create", "run", "report", "end", "production")
        )
    operator.dag = dag
    operator >> create >> run >> [report, end]
    if on_same_cluster:
        run >> production >> end

    with pytest.raises(DownstreamTasksSkipped) as skipped:
        operator.execute(context)
    assert {*skipped.value.tasks} == {"run", "report", *([] if on_same_cluster else ["create", "end"])}
    assert context["ti"].pushed["return_value"] == []
