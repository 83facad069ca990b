"""What the sample runs may cost, and what is known of a production run before any run was made."""

import pytest

from airflow_provider_ernest.design.costs import SHARE, Spending
from airflow_provider_ernest.documents.runs import Design, Experiment
from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError
from airflow_provider_ernest.settings import DesignBounds
from tests import examples
from tests.examples import sizing_goal

LONG = sizing_goal(deadline_seconds=1200.0, max_executors=10)
SHORT = sizing_goal(deadline_seconds=1199.0, max_executors=10)


def spending(*, goal=LONG, **bounds) -> Spending:
    return Spending(bounds=DesignBounds(max_executors=8, **bounds), goal=goal)


@pytest.mark.parametrize(
    "changes",
    [
        {"goal": SHORT},
        {"goal": sizing_goal(objective="cheapest")},
        {"budget": 3.0},
    ],
)
def test_nothing_is_bounded_that_was_not_where_production_is_short_or_the_user_says_otherwise(changes):
    asked = spending(**changes)
    (only,) = asked.allowances()

    assert not asked.is_frugal
    assert (only.budget, only.min_scale) == (changes.get("budget"), 0.01)


def test_beside_long_production_ever_larger_shares_are_tried_before_the_usual_design():
    *frugal, usual = spending().allowances()

    budgets = [allowance.budget for allowance in frugal]
    assert budgets == sorted(budgets)
    assert len(set(budgets)) == len(budgets) > 3
    assert budgets[0] < SHARE * spending().machine_seconds, "runs cost more than planned, too"
    assert {allowance.min_scale for allowance in frugal} == {0.001}
    assert (usual.budget, usual.min_scale, usual.cost.unit) == (None, 0.01, "cheapest runs")


def test_the_first_allowance_that_allows_a_design_is_taken_and_errors_that_no_money_mends_end_it():
    tried = []

    def planned(allowed, error):
        def plan(allowance):
            tried.append(allowance)
            if allowance.budget != allowed:
                raise error
            return allowance

        tried.clear()
        return spending().planned(plan)

    *frugal, usual = spending().allowances()
    assert planned(frugal[2].budget, DesignError("too dear")).budget == frugal[2].budget
    assert len(tried) == 3
    with pytest.raises(DesignError, match="too dear"):
        planned(-1.0, DesignError("too dear"))
    assert tried[-1] == usual
    with pytest.raises(InvalidParameterError):
        planned(-1.0, InvalidParameterError("partitions", 0, "is wrong"))
    assert len(tried) == 1


def test_a_share_of_the_users_is_the_only_one_and_kept_to():
    asked = spending(budget_share=0.3, goal=SHORT)
    (only,) = asked.allowances()

    assert only.budget == pytest.approx(0.3 * (asked.machine_seconds + 45.0))
    assert only.cost.unit == "machine seconds"


def design_of(*runs: tuple[int, float]) -> Design:
    """Of runs with so many machines and such a scale."""
    experiments = tuple(
        Experiment(index=index, executors=executors, scale=scale, partitions=100, weight=1.0, cost=1.0)
        for index, (executors, scale) in enumerate(runs)
    )
    return examples.design(experiments=experiments)


def test_a_production_run_takes_about_as_long_as_its_deadline_on_a_middling_number_of_machines():
    asked = spending(goal=sizing_goal(deadline_seconds=1200.0, allowed_executors=(2, 8, 32)))

    assert asked.machine_seconds == pytest.approx(1200.0 * 8)
    assert asked.is_frugal


@pytest.mark.parametrize(("deadline", "is_long"), [(None, False), (1100.0, False), (2000.0, True)])
def test_a_guess_of_the_users_is_worth_more_than_the_deadline(deadline, is_long):
    """Twice 5,000 s on one machine are 1,000 s on ten."""
    goal = sizing_goal(objective="cheapest", deadline_seconds=deadline, scale=2.0, allowed_executors=(10,))
    asked = spending(goal=goal, cost_options={"full_seconds_on_one_machine": 5000.0})

    assert asked.machine_seconds == pytest.approx(10_000.0)
    assert asked.is_frugal == is_long


def test_without_a_time_nothing_is_known():
    asked = spending(goal=sizing_goal(objective="cheapest"))

    assert asked.machine_seconds is None
    assert asked.share_of(design_of((2, 0.1))) is None


@pytest.mark.parametrize(("billed", "executor_seconds"), [(0, 2 * 530 + 4 * 280), (4, 4 * 530 + 4 * 280)])
def test_the_share_counts_all_machines_that_are_billed_while_a_run_is_on(billed, executor_seconds):
    """Runs of 10 % of 10,000 machine seconds: 500 s on two machines, 250 s on four, and 30 s besides."""
    options = {"full_seconds_on_one_machine": 10_000.0, "run_overhead_seconds": 30.0}
    asked = Spending(
        bounds=DesignBounds(max_executors=8, cost_options=options),
        goal=sizing_goal(objective="cheapest", scale=2.0),
        billed_machines=billed,
    )

    share = asked.share_of(design_of((2, 0.1), (4, 0.1)))

    assert share == pytest.approx(executor_seconds / 20_000)
