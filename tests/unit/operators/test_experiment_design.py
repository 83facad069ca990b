import re

import numpy as np
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.documents import Design, Experiment
from airflow_provider_ernest.operators.experiment_design import ExperimentDesignOperator
from airflow_provider_ernest.prediction.terms import basis


def design_operator(**changes) -> ExperimentDesignOperator:
    fields = {
        "max_machines": 4,
        "cores_per_machine": 1,
        "max_scale": 0.1,
        "min_scale": 0.02,
        "partitions": 200,
        **changes,
    }
    return ExperimentDesignOperator(task_id="design", **fields)


def test_returns_experiments_to_map_over_and_pushes_the_design(ti, context):
    experiments = design_operator(max_runs=7).execute(context)

    design = Design.from_dict(ti.pushed["design"])
    assert [Experiment.from_dict(one) for one in experiments] == list(design.experiments)
    assert len(experiments) <= 7
    assert {one["machines"] for one in experiments} <= {1, 2, 3, 4}
    assert all(one["partitions"] >= one["machines"] for one in experiments)


def test_the_cores_of_a_machine_are_told_and_not_guessed():
    with pytest.raises(TypeError, match="cores_per_machine"):
        ExperimentDesignOperator(task_id="design", max_machines=4, partitions=200)


def test_takes_numbers_as_jinja_renders_them(ti, context):
    rendered = design_operator(
        max_machines="4", max_scale="0.1", min_scale="0.02", partitions="200", max_runs="7", budget="None"
    )

    assert rendered.execute(context) == design_operator(max_runs=7).execute(context)


def test_the_design_is_for_the_predictions_that_will_be_asked_for(ti, context):
    design_operator().execute(context)
    without = ti.pushed["design"]
    design_operator(target_max_machines="20", target_min_machines="10", target_scale="1.5").execute(context)
    with_targets = ti.pushed["design"]

    assert without["criterion"] == "bayesian D"
    assert with_targets["criterion"] == "bayesian I"
    assert with_targets["experiments"] != without["experiments"]


def test_only_the_numbers_of_machines_that_are_allowed_will_be_asked_for(ti, context):
    asked = {"target_max_machines": 64, "target_min_machines": 2}
    design_operator(**asked).execute(context)
    every = ti.pushed["design"]
    design_operator(**asked, target_allowed_machines="[2, 4]").execute(context)
    few = ti.pushed["design"]
    design_operator(target_max_machines=4, target_min_machines=2, target_allowed_machines=(2, 4, 8)).execute(
        context
    )

    assert few["experiments"] != every["experiments"]
    assert few["experiments"] == ti.pushed["design"]["experiments"]


@pytest.mark.parametrize(
    ("method", "target_max_machines", "criterion", "weighting"),
    [
        ("averaging", None, "bayesian D", "relative"),
        ("relative", None, "A", "relative"),
        ("relative", 8, "I", "relative"),
        ("classic", None, "A", "absolute"),
        ("classic", 8, "I", "absolute"),
    ],
)
def test_the_design_suits_the_method(context, ti, method, target_max_machines, criterion, weighting):
    design_operator(method=method, target_max_machines=target_max_machines).execute(context)

    design = Design.from_dict(ti.pushed["design"])
    assert (design.criterion, design.weighting) == (criterion, weighting)
    assert ("scale" in design.terms) == (method == "averaging")


def test_methods_of_given_terms_get_runs_that_determine_them(context, ti):
    design_operator(method="classic", extension_terms=["sqrt(machines)"], max_machines=8).execute(context)

    design = Design.from_dict(ti.pushed["design"])
    runs = design.experiments
    rows = basis(design.terms, machines=[run.machines for run in runs], scale=[run.scale for run in runs])
    assert "sqrt(machines)" in design.terms
    assert np.linalg.matrix_rank(rows) == len(design.terms) == 5


def test_a_criterion_of_the_users_wins(context, ti):
    design_operator(criterion="D", target_max_machines=8).execute(context)

    assert ti.pushed["design"]["criterion"] == "D"


PAID = {
    "cost": "dollars",
    "cost_options": {
        "full_seconds_on_one_machine": 36_000,
        "run_overhead_seconds": "0",
        "price_per_hour": "0.36",
    },
}


def test_the_budget_may_be_a_share_of_what_production_costs(context, ti):
    """36,000 machine seconds at 0.36 $ an hour are 3.60 $."""
    design_operator(**PAID, budget_share="0.3").execute(context)
    share = Design.from_dict(ti.pushed["design"])
    design_operator(**PAID, budget_share="0.3", target_max_machines=4, target_scale=2).execute(context)
    doubled = Design.from_dict(ti.pushed["design"])

    assert share.budget == pytest.approx(0.3 * 3.60)
    assert share.cost <= share.budget
    assert share.cost_unit == "dollars"
    assert doubled.budget == pytest.approx(2 * share.budget), "twice the input, twice the work"


LONG = {
    "max_machines": 4,
    "min_scale": None,
    "partitions": 5000,
    "target_min_machines": 8,
    "target_max_machines": 64,
    "billed_machines": 4,
}
MIDDLE_OF_THE_TARGETS = np.exp(np.mean(np.log(np.arange(8, 65))))


def bill_of(design: Design, *, billed: int = 4) -> float:
    """The machine seconds of a cluster that is billed from run to run, were a production run 1000 of them."""
    return sum(billed * 1000 * run.scale / run.machines for run in design.experiments)


@pytest.mark.parametrize("deadline", [1200, "3600", 10800])
def test_beside_long_production_the_runs_cost_little_by_default(context, ti, deadline):
    design_operator(**LONG, target_deadline_seconds=deadline).execute(context)

    design = Design.from_dict(ti.pushed["design"])
    assert design.cost_unit == "machine seconds"
    assert design.cost <= design.budget <= 0.05 * float(deadline) * MIDDLE_OF_THE_TARGETS
    assert bill_of(design) < 0.05 * 1000, "of all four machines"
    assert len(design.experiments) >= 6


@pytest.mark.parametrize("deadline", [None, "", 90, 1199])
def test_short_production_is_sampled_as_ever(context, ti, deadline):
    design_operator(**LONG, target_deadline_seconds=deadline).execute(context)
    design = Design.from_dict(ti.pushed["design"])
    design_operator(**{**LONG, "min_scale": 0.01, "billed_machines": None}).execute(context)

    assert design.to_dict() == ti.pushed["design"]
    assert design.cost_unit == "cheapest runs"


@pytest.mark.parametrize(
    "changes",
    [
        {"budget": 100},
        {"cost_options": {"run_overhead": 1}},
        {"cost": "seconds", "cost_options": {"full_seconds_on_one_machine": 36_000}},
    ],
)
def test_what_the_user_says_of_the_cost_wins(context, ti, changes):
    design_operator(**LONG, **changes).execute(context)
    without = ti.pushed["design"]
    design_operator(**LONG, **changes, target_deadline_seconds=3600).execute(context)

    assert ti.pushed["design"] == without


def test_the_users_guess_of_the_work_tells_how_long_production_takes_too(context, ti):
    cost = {**PAID, "cost_options": {**PAID["cost_options"], "full_seconds_on_one_machine": 100_000}}
    design_operator(**LONG, **cost).execute(context)

    design = Design.from_dict(ti.pushed["design"])
    assert design.cost_unit == "dollars"
    assert design.cost <= design.budget <= 0.05 * 10.0, "100,000 machine seconds are 10 $"


def test_a_share_of_the_users_may_be_of_what_the_deadline_says(context, ti):
    design_operator(**LONG, target_deadline_seconds=900, budget_share=0.2).execute(context)

    design = Design.from_dict(ti.pushed["design"])
    assert design.cost <= design.budget == pytest.approx(0.2 * 900 * MIDDLE_OF_THE_TARGETS, rel=0.01)


def test_what_training_costs_beside_production_is_told(context, capsys):
    design_operator(**LONG, target_deadline_seconds=3600).execute(context)
    told = capsys.readouterr().out
    design_operator(**LONG).execute(context)

    assert re.search(r"cost about [34]\.\d % of one production run, with 4 machines billed", told)
    assert "more than 5 %" not in told
    assert "production run" not in capsys.readouterr().out, "nothing says what that is"


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"partitions": 400, "cores_per_machine": 4}, r"Split the input .* \(now 400\), or start a smaller"),
        ({"billed_machines": 64}, r"start a smaller training cluster"),
        ({"min_scale": 0.02}, r"Lower min_scale \(0\.02\), split the input"),
    ],
)
def test_where_no_runs_are_so_cheap_dearer_ones_are_made_and_it_is_told(context, capsys, changes, remedy):
    runs = design_operator(**{**LONG, **changes}, target_deadline_seconds=1200).execute(context)

    told = capsys.readouterr().out
    assert len(runs) >= 6
    assert "That is more than 5 %, and no cheaper runs tell enough" in told
    assert re.search(remedy, told)


def test_starting_up_may_count_in_the_papers_cost(context):
    runs = design_operator(max_runs=7, cost_options={"run_overhead": "5"}).execute(context)

    cheapest = 0.02 / 4
    for run in runs:
        assert run["cost"] == pytest.approx(5 + run["scale"] / run["machines"] / cheapest)


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
        ({"criterion": "E"}, "criterion='E'"),
        ({"criterion": "I"}, "target"),
        ({"method": "best"}, "method='best'"),
        ({"terms": ["scale*"]}, "scale"),
        ({"target_max_machines": 4, "target_min_machines": 6}, "target_min_machines=6 is more than"),
        ({"target_max_machines": 4, "target_scale": 0}, "scale"),
        ({**PAID, "budget_share": 0.1, "budget": 3}, r"\(budget, budget_share\)=\(3.0, 0.1\) is two budgets"),
        ({**PAID, "budget_share": 0.001}, "budget of .* dollars is not enough"),
        ({"budget_share": 0.1}, r'budget_share=0.1 says nothing with cost="relative_time".*"dollars"'),
        ({"partitions": 3}, "partitions"),
        ({"partitions": None}, "partitions=None is missing"),
        ({"available_machines": 3}, r"max_machines=4 is more than the cluster will have \(3\)"),
    ],
)
def test_bounds_that_cannot_work_fail_without_retry_and_say_which(context, changes, named):
    with pytest.raises(AirflowFailException, match=named):
        design_operator(**changes).execute(context)
