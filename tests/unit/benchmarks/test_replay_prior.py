"""The simulated Spark runs that replays are measured by, and the table of what came of it."""

import numpy as np
import pytest

from airflow_provider_ernest.clarity.replay import replay
from benchmarks.replay_prior import __main__ as program
from benchmarks.replay_prior.jobs import JOBS
from benchmarks.replay_prior.replayed import GRID_MACHINES, GRID_SCALE, Replayed
from benchmarks.replay_prior.spark_run import CORES, run
from benchmarks.replay_prior.trials import ALONE, AS_NOW, MODEL, REPLAY, Outcome


def a_run(name, *, machines=4, scale=0.02, seed=0):
    return run(JOBS[name], machines=machines, scale=scale, generator=np.random.default_rng(seed))


@pytest.mark.parametrize("name", JOBS)
def test_a_run_keeps_to_its_slots_and_its_stages_to_their_order(name):
    log = a_run(name)
    tasks = log.task_columns
    moments = tasks.launched_at + 1e-9
    at_once = [((tasks.launched_at <= at) & (tasks.finished_at > at)).sum() for at in moments]
    assert max(at_once) <= 4 * CORES
    ended = {stage.stage_id: stage.completed_at for stage in log.stages}
    for stage in log.stages:
        began = tasks.launched_at[tasks.stage_id == stage.stage_id].min()
        assert all(ended[parent] <= began for parent in stage.parents)
    assert log.ended_at >= max(ended.values())


@pytest.mark.parametrize("name", JOBS)
def test_a_run_is_replayed_as_it_was(name):
    log = a_run(name)
    assert replay(log).seconds == pytest.approx(log.ended_at - log.ready_at, rel=0.02)


def test_more_input_takes_longer_and_more_machines_shorter():
    log, larger, wider = a_run("scan"), a_run("scan", scale=0.1), a_run("scan", scale=0.1, machines=16)
    seconds = [each.ended_at - each.ready_at for each in (log, larger, wider)]
    assert seconds[0] < seconds[1] > seconds[2]
    assert len(larger.tasks) == 108


def test_between_what_was_replayed_lie_straight_lines_of_logarithms():
    scale, machines = np.meshgrid(GRID_SCALE, GRID_MACHINES, indexing="ij")
    replayed = Replayed(log_seconds=np.log(300.0 * scale / machines), of_targets=np.array([1.0]))
    asked = {"machines": np.array([3.0, 16.0, 5.0]), "scale": np.array([0.02, 0.1, 1.0])}
    assert replayed.seconds(**asked) == pytest.approx([2.0, 1.875, 60.0])


def outcome(prediction, errors, **fields):
    return Outcome(
        **{"job": "scan", "earlier": ALONE, "design": AS_NOW, "spent": 0.9, "runs": 6, **fields},
        prediction=prediction,
        errors_percent=errors,
    )


def test_the_table_holds_every_way_and_counts_the_jobs_that_it_is_better_for():
    found = [
        outcome(MODEL, (-10.0, 20.0)),
        outcome(MODEL, (2.0, 4.0), job="sort"),
        outcome(REPLAY, (5.0, 5.0), earlier="half"),
        outcome(REPLAY, (50.0, 5.0), earlier="half", job="sort"),
    ]
    lines = list(program._table(found, jobs=2, draws=1))
    (model,) = (line for line in lines if line.startswith(AS_NOW) and MODEL in line)
    (replayed,) = (line for line in lines if line.startswith(AS_NOW) and REPLAY in line)
    assert model.split()[-7:] == ["9.0", "%", "7.0", "%", "+4.0", "%", "0/2"]
    assert replayed.split()[-7:] == ["16.2", "%", "5.0", "%", "+16.2", "%", "1/2"]
    assert "earlier run: half" in lines
