import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.model.documents import Design, Experiment
from airflow_provider_ernest.operators.experiment_design import ExperimentDesignOperator


def design_operator(**changes) -> ExperimentDesignOperator:
    fields = {"max_machines": 4, "max_scale": 0.1, "min_scale": 0.02, "partitions": 200, **changes}
    return ExperimentDesignOperator(task_id="design", **fields)


def test_returns_experiments_to_map_over_and_pushes_the_design(ti, context):
    experiments = design_operator(max_runs=7).execute(context)

    design = Design.from_dict(ti.pushed["design"])
    assert [Experiment.from_dict(one) for one in experiments] == list(design.experiments)
    assert len(experiments) <= 7
    assert {one["machines"] for one in experiments} <= {1, 2, 3, 4}
    assert all(one["partitions"] >= one["machines"] for one in experiments)


def test_takes_numbers_as_jinja_renders_them(ti, context):
    rendered = design_operator(
        max_machines="4", max_scale="0.1", min_scale="0.02", partitions="200", max_runs="7", budget="None"
    )

    assert rendered.execute(context) == design_operator(max_runs=7).execute(context)


def test_runs_already_made_need_not_be_made_again(context, observations):
    anew = design_operator().execute(context)
    continued = design_operator(observed=[one.to_dict() for one in observations[:4]]).execute(context)

    assert len(continued) < len(anew)


def test_partitions_are_counted_where_they_are_not_given(ti, context, tmp_path):
    for number in range(150):
        (tmp_path / f"part-{number}").write_text("a row\n")
    design_operator(partitions=None, input_path=str(tmp_path)).execute(context)
    counted = ti.pushed["design"]
    design_operator(partitions=150).execute(context)

    assert counted == ti.pushed["design"]


def test_a_missing_input_is_named_before_a_cluster_is_started(context, tmp_path):
    with pytest.raises(AirflowFailException, match=r"MissingResourceError: .*nowhere.* does not exist"):
        design_operator(input_path=str(tmp_path / "nowhere")).execute(context)


def test_machines_that_no_sample_is_large_enough_for_are_told(context, capsys):
    design_operator(max_machines=30, partitions=200).execute(context)

    assert "No sample run can have more than 20 machines" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"max_machines": 0}, "max_machines=0"),
        ({"min_machines": 5}, "min_machines=5"),
        ({"max_scale": "lots"}, "max_scale='lots'"),
        ({"min_scale": 0.2}, "min_scale=0.2"),
        ({"budget": 0.01}, "budget of 0.01 .* Raise the budget to"),
        ({"cost": "favours"}, "cost='favours'"),
        ({"cost_options": {"price": 1}}, "cost_options='price'"),
        ({"partitions": 3}, "partitions"),
        ({"partitions": None}, "partitions=None is missing"),
        ({"available_machines": 3}, r"max_machines=4 is more than the cluster will have \(3\)"),
    ],
)
def test_bounds_that_cannot_work_fail_without_retry_and_say_which(context, changes, named):
    with pytest.raises(AirflowFailException, match=named):
        design_operator(**changes).execute(context)
