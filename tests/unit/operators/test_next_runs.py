"""Further rounds of sample runs: what they are chosen by, and that they hold up nothing that is paid for."""

import json

import pytest

from airflow_provider_ernest.documents.runs import Design, Experiment, Observation
from airflow_provider_ernest.operators import experiment_design
from airflow_provider_ernest.operators.experiment_design import ExperimentDesignOperator, NextRunsOperator
from airflow_provider_ernest.settings import Billing, DesignBounds, SizingGoal
from tests.unit.operators.stated import sampled, spark_job
from tests.unit.operators.submissions import handle

STARTUP = 5.0
BOUNDS = DesignBounds(max_executors=4, rounds=3)


def seconds(executors: int, scale: float) -> float:
    """A job of half a minute of fixed work and 40,000 machine-seconds that spread."""
    return 30.0 + 40_000.0 * scale / executors


def edge(runs: int = 10_000) -> SizingGoal:
    """A deadline that 32 machines keep, but by so few runs not surely enough, for so many production runs."""
    return SizingGoal(
        deadline_seconds=1500.0,
        objective="best_value",
        allowed_executors=(8, 16, 32, 64),
        price_per_hour=0.2,
        billing=Billing(expected_runs=runs),
    )


CLEAR = SizingGoal(
    deadline_seconds=1e6, objective="best_value", allowed_executors=(8, 16, 32, 64), price_per_hour=0.2
)


def observed(run: Experiment, *, noise: float = 1.0) -> Observation:
    return Observation(
        index=run.index,
        executors=run.executors,
        scale=run.scale,
        seconds=noise * seconds(run.executors, run.scale),
        startup_seconds=STARTUP,
    )


class Rounds:
    """The tasks of the rounds, one after the other, with what they push."""

    def __init__(self, context, goal: SizingGoal, bounds: DesignBounds = BOUNDS) -> None:
        self.context, self.goal, self.bounds = context, goal, bounds
        first = ExperimentDesignOperator(
            task_id="design",
            bounds=bounds,
            input=sampled(__file__, partitions=5000),
            goal=goal,
            executor_cores=1,
            billed_machines=4,
        )
        self.first = [Experiment.from_dict(each) for each in first.execute(context)]
        self.candidates = context["ti"].pushed["candidates"]

    @property
    def design(self) -> Design:
        return Design.from_dict(self.context["ti"].pushed["design"])

    def next(self, runs, **fields) -> list[Experiment]:
        """As Airflow renders it: documents are JSON text, and rounds that were skipped are null."""
        operator = NextRunsOperator(
            **{
                "task_id": "next_runs_2",
                "observations": json.dumps([*(run.to_dict() for run in runs), None]),
                "design": json.dumps(self.design.to_dict()),
                "candidates": json.dumps(self.candidates),
                "bounds": self.bounds,
                "job": spark_job(),
                "goal": self.goal,
                "cluster": json.dumps(handle(executors=4)),
                "billed_machines": 4,
                **fields,
            }
        )
        return [Experiment.from_dict(each) for each in operator.execute(self.context)]


def test_a_clear_decision_needs_no_second_round(context, capsys):
    rounds = Rounds(context, CLEAR)

    assert rounds.next(map(observed, rounds.first)) == []
    assert rounds.design.reason.startswith("Stop: ")
    assert rounds.design.reason in capsys.readouterr().out
    assert rounds.design.experiments == tuple(rounds.first)


def test_an_open_decision_gets_few_further_runs_that_are_numbered_on(context):
    rounds = Rounds(context, edge())
    assert [run.index for run in rounds.first] == [0, 1, 2]
    assert rounds.design.experiments == tuple(rounds.first)
    assert rounds.design.criterion == "decision"
    assert "apart" in rounds.design.reason
    further = rounds.next(map(observed, rounds.first))

    assert [run.index for run in further] == [3, 4][: len(further)]
    assert 1 <= len(further) <= experiment_design.MOST_OF_A_ROUND
    assert rounds.design.experiments == (*rounds.first, *further)
    assert rounds.design.cost_unit == "dollars"
    tried = {(run.executors, run.partitions) for run in rounds.first}
    assert tried.isdisjoint((run.executors, run.partitions) for run in further)


def test_a_run_that_failed_is_not_tried_again(context):
    rounds = Rounds(context, edge())
    failed, *others = rounds.first
    further = rounds.next(map(observed, others))

    assert further
    assert all((run.executors, run.partitions) != (failed.executors, failed.partitions) for run in further)
    assert min(run.index for run in further) == 3, "the samples of runs are seeded by their numbers"


def test_runs_that_failed_count_among_the_most(context):
    rounds = Rounds(context, edge(), DesignBounds(max_executors=4, rounds=3, max_runs=3))

    assert rounds.next(map(observed, rounds.first[1:])) == []
    assert rounds.design.reason == "Stop: 3 sample runs were made, and max_runs is 3."


def test_the_price_is_the_clusters_where_the_user_says_none(context):
    without = SizingGoal(budget_dollars=100.0, objective="fastest", allowed_executors=(8, 16))
    rounds = Rounds(context, without)
    cluster = handle(executors=4, each={"price_per_hour": 0.4})

    rounds.next(map(observed, rounds.first), cluster=json.dumps(cluster))
    assert rounds.design.reason.startswith("Stop: ")
    assert rounds.design.cost_unit == "dollars"


@pytest.mark.parametrize(
    "broken",
    [
        {"candidates": "null"},
        {"cluster": "null"},
        {"design": "not JSON"},
        {"observations": '[{"index": "?"}]'},
        {"history": '{"observations": [1]}'},
    ],
    ids=lambda broken: next(iter(broken)),
)
def test_whatever_is_wrong_ends_the_rounds_and_not_the_training(context, capsys, broken):
    rounds = Rounds(context, edge())
    before = rounds.design

    assert rounds.next(map(observed, rounds.first), **broken) == []
    assert "No further sample runs are made" in capsys.readouterr().out
    assert rounds.design == before


def test_a_choice_that_takes_too_long_ends_the_rounds(context, capsys, monkeypatch):
    rounds = Rounds(context, edge())
    monkeypatch.setattr(experiment_design, "MOST_CHOOSING_SECONDS", 0.0)

    assert rounds.next(map(observed, rounds.first)) == []
    assert "TimeoutError" in capsys.readouterr().out
