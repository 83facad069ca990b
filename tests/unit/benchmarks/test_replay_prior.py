"""The simulated Spark runs that replays are measured by, and the table of what came of it."""

import numpy as np
import pytest

from airflow_provider_ernest.clarity.replay import replay
from benchmarks.replay_prior.jobs import JOBS
from benchmarks.replay_prior.spark_run import CORES, run


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
