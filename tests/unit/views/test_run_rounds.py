"""A run whose sample runs were made in rounds, on its page and in the tabs of its tasks."""

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ernest.settings import IN_ROUNDS
from airflow_provider_ernest.views.dag_run import RunRecord
from airflow_provider_ernest.views.run_documents import StoredOfRun
from tests.unit.views.dag_runs import (
    RUNS,
    branch_of,
    design,
    example_run,
    experiments,
    model,
    observation,
    origin,
    row,
    steps_of,
    task_of,
)

STOP = "Stop: 1 more run would cost 0.05 $ and not be expected to change the decision."
FIRST = len(RUNS) - 1
"""The last run is made in a second round, and a third is not needed."""


def as_designed(reason: str, runs: int) -> dict[str, Any]:
    made = replace(design(), criterion=IN_ROUNDS, reason=reason, experiments=tuple(experiments()[:runs]))
    return made.to_dict()


def run_in_rounds(**facts: Any) -> RunRecord:
    run = example_run()
    last = ("ernest.sample_run", FIRST)
    tasks = [
        replace(task, task_id="ernest.sample_run_2", map_index=0)
        if (task.task_id, task.map_index) == last
        else task
        for task in run.tasks
    ]
    tasks += [
        row("ernest.next_runs_2", "NextRunsOperator", 20, 20.2),
        row("ernest.next_runs_3", "NextRunsOperator", 26, 26.2),
        row("ernest.sample_run_3", "SampleRunOperator", 26.2, 26.2, state="skipped"),
    ]
    values = {key: value for key, value in run.values.items() if key[:2] != last}
    planned = [each.to_dict() for each in experiments()]
    values |= {
        ("ernest.design", -1, "return_value"): planned[:FIRST],
        ("ernest.design", -1, "design"): as_designed("They tell machines and data apart.", FIRST),
        ("ernest.next_runs_2", -1, "return_value"): planned[FIRST:],
        ("ernest.next_runs_2", -1, "design"): as_designed("1 more run saves 9 $.", len(RUNS)),
        ("ernest.next_runs_3", -1, "return_value"): [],
        ("ernest.next_runs_3", -1, "design"): as_designed(STOP, len(RUNS)),
        ("ernest.sample_run_2", 0, "return_value"): observation(FIRST).to_dict(),
    }
    return replace(run, **{"tasks": tuple(tasks), "values": values, **facts})


def test_the_runs_of_all_rounds_are_steps_and_what_chose_them_is_said_of_the_design():
    every = list(steps_of(run_in_rounds()).values())
    steps = [step for step in every if step["kind"] in ("design", "sample_run", "fit")]

    assert [step["task_id"].removeprefix("ernest.") for step in steps] == [
        "design",
        *["sample_run"] * FIRST,
        "sample_run_2",
        "fit_model",
    ]
    assert steps[0]["says"].startswith(f"{len(RUNS)} runs of ")
    assert steps[0]["says"].endswith(STOP)
    assert "next_runs" not in {step["kind"] for step in every}


def test_all_runs_are_one_list_each_with_its_own_result():
    branch = branch_of(run_in_rounds())
    steps = [step for step in steps_of(run_in_rounds()).values() if step["kind"] == "sample_run"]

    assert [run["index"] for run in branch["observations"]] == list(range(len(RUNS)))
    assert branch["design"]["experiments"] == len(RUNS)
    assert len({step["says"] for step in steps}) == len(RUNS)
    assert all(step["cost"] for step in steps)


def test_before_it_begins_a_further_round_is_no_step():
    tasks = tuple(
        replace(task, state=None, started_at=None, ended_at=None)
        if task.task_id.endswith(("next_runs_3", "sample_run_3"))
        else task
        for task in run_in_rounds().tasks
    )

    assert "sample_run_3" not in steps_of(run_in_rounds(tasks=tasks))


@pytest.mark.parametrize(
    ("task_id", "map_index", "says"),
    [
        ("ernest.next_runs_2", -1, "1 more run saves 9 $."),
        ("ernest.next_runs_3", -1, STOP),
        ("ernest.sample_run_3", -1, STOP),
    ],
)
def test_the_tabs_of_further_rounds_say_why(task_id: str, map_index: int, says: str):
    assert task_of(run_in_rounds(), task_id, map_index)["says"] == says


def test_the_tab_of_a_run_tells_what_it_was_to_make():
    task = task_of(run_in_rounds(), "ernest.sample_run_2", 0)

    assert task["experiment"]["index"] == FIRST
    assert task["observation"]["index"] == FIRST


def test_runs_whose_results_airflow_has_deleted_are_those_that_the_model_keeps():
    trained = model()
    last = replace(trained.observations[FIRST], origin=origin("sample_run_2", 0))
    runs = (*trained.observations[:FIRST], last)
    stored = StoredOfRun(models=lambda: (replace(trained, observations=runs),))
    gone = run_in_rounds(values={})

    assert [run["index"] for run in branch_of(gone, stored)["observations"]] == list(range(len(RUNS)))
