from dataclasses import replace

import pytest

from airflow_provider_ernest.model.choice import Goal, choose
from airflow_provider_ernest.model.documents import Design, Experiment, Observation
from airflow_provider_ernest.model.training import train
from airflow_provider_ernest.spark.event_log import Executor, RunRecord
from benchmarks.demo.report import Outcome, report_lines

POINTS = [(1, 0.05), (1, 0.1), (2, 0.05), (2, 0.1), (3, 0.1), (4, 0.05), (4, 0.1)]


def seconds(machines, scale):
    return 2.0 + 120.0 * scale / machines + 1.5 * machines


@pytest.fixture
def outcome():
    """A run on three machines that took a quarter longer than the exactly known job should."""
    observations = [
        Observation(index=i, machines=m, scale=s, seconds=seconds(m, s), startup_seconds=5.0)
        for i, (m, s) in enumerate(POINTS)
    ]
    model = train(observations, job="enrich", method="relative")
    decision = choose(model, goal=Goal(deadline_seconds=60), machines=range(1, 7), price_per_hour=0.35)
    executors = [
        Executor(host="127.0.1.1", worker=f"127.0.1.1:{port}", cores=1, added_at=100.0) for port in range(3)
    ]
    return Outcome(
        design=Design(
            experiments=tuple(
                Experiment(index=i, machines=m, scale=s, partitions=10) for i, (m, s) in enumerate(POINTS)
            ),
            terms=("1", "scale/machines", "log(machines)", "machines"),
            criterion="A",
            efficiency=0.93,
            cost=27.0,
            budget=30.0,
            cost_unit="cheapest runs",
            candidates=40,
        ),
        model=model,
        decision=decision,
        production=RunRecord(
            application_id="app-7", ended_at=100.0 + 1.25 * seconds(3, 1.0), executors=executors
        ),
        production_task_seconds=2 * (seconds(3, 1.0) + 5.0),
    )


def test_prediction_is_put_against_reality_with_signed_errors(outcome):
    lines = report_lines(outcome)

    assert any("app-7 on 3 machines" in line for line in lines)
    (run,) = (line for line in lines if line.startswith("all machines there"))
    assert run.split()[6:9] == ["46.5", "58.1", "-20.0%"]
    (task,) = (line for line in lines if line.startswith("whole task"))
    assert task.split()[4:7] == ["51.5", "103.0", "-50.0%"]


def test_every_step_has_its_section(outcome):
    lines = report_lines(outcome)

    for title in ("The design", "The observations", "The model", "The decision", "Predicted against actual"):
        assert title in lines
    assert any("<- chosen" in line for line in lines)
    assert any("leave-one-out error" in line for line in lines)


def test_long_warnings_are_wrapped(outcome):
    warning = "The runs scatter around every smooth model. " * 6
    decision = replace(outcome.decision, warnings=(warning,))
    lines = report_lines(replace(outcome, decision=decision))

    assert any(line.startswith("! The runs scatter") for line in lines)
    assert max(map(len, lines)) <= 110


def test_intervals_say_whether_they_held(outcome):
    """The run took 58.1 s; start-up is part of the decision's intervals and not of this row."""
    decision = replace(
        outcome.decision,
        likely_seconds=(50.0, 60.0),
        nearly_certain_seconds=(40.0, 70.0),
        startup_seconds=5.0,
    )
    (run,) = (
        line
        for line in report_lines(replace(outcome, decision=decision))
        if line.startswith("all machines there")
    )

    assert "45.0 to 55.0 missed" in run
    assert "35.0 to 65.0 held" in run
