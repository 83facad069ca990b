"""Jobs replayed at other scales from the profiles of their runs, against what a simple Spark takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.clarity.replay_scaled import StagePoint, growth, replay_scaled
from tests.unit.eventlog.logs import SimulatedJob, SimulatedStage, run

MEGABYTE = 1_000_000


def an_aggregation(scale: float, *, warm_up: float = 0.8):
    """Twelve reducers, however much is read; partitions of a second, 160 of them at full scale."""
    generator = np.random.default_rng(round(1000 * scale))
    partitions = round(160 * scale)
    maps = SimulatedStage(
        1.0 + 0.1 * generator.random(partitions), warm_up, columns={"input_bytes": 64 * MEGABYTE}
    )
    reduces = SimulatedStage(
        0.2 + 4.0 * scale + 0.1 * generator.random(12),
        warm_up / 4,
        parents=[0],
        columns={"shuffle_local_bytes": round(1000 * MEGABYTE * scale)},
    )
    result = SimulatedStage([0.05], parents=[1], columns={"shuffle_local_bytes": 1000})
    return [SimulatedJob(2.0, [maps, reduces]), SimulatedJob(1.0, [result])]


def profile_of(job, *, executors: int, scale: float, cores: int = 1, number: int = 0, **parts):
    log = replace(run(job(scale), executors=executors, cores=cores), application_id=f"app-{number}")
    return profile_run(log, scale=scale, **parts)


def as_in_truth(profiles, job, *, executors, within: float, **asked):
    """What the profiles tell of all the job's input, once it is near to what the job takes."""
    replayed = replay_scaled(profiles, executors=executors, scale=1.0, executor_cores=1, **asked)
    for size in replayed.sizes:
        log = run(job(1.0), executors=size.executors)
        truth = log.ended_at - log.ready_at
        assert size.replayed_seconds == pytest.approx(truth, rel=within), size.executors
    assert len(replayed.sizes) == len(executors)
    return replayed


RUNS = ((0.1, 2), (0.2, 2), (0.2, 4), (0.3, 4))


def test_a_single_run_tells_of_more_input_and_other_machines():
    profile = profile_of(an_aggregation, executors=3, scale=0.3)
    replayed = as_in_truth([profile], an_aggregation, executors=[4, 8], within=0.08)
    assert (replayed.from_application_id, replayed.from_scale) == ("app-0", 0.3)
    assert replayed.error_percent is None
    assert replayed.problem == ""


def test_runs_at_several_scales_tell_more_and_how_far_it_may_be_off():
    profiles = [
        profile_of(an_aggregation, executors=executors, scale=scale, number=number)
        for number, (scale, executors) in enumerate(RUNS)
    ]
    replayed = as_in_truth(profiles, an_aggregation, executors=range(2, 13, 2), within=0.05)
    assert replayed.from_application_id == "app-3"
    assert replayed.error_percent == pytest.approx(0.0, abs=8.0)


def test_a_run_that_other_load_made_long_does_not_stand_for_the_job():
    def disturbed(scale: float):
        jobs = an_aggregation(scale)
        jobs[0].stages[0].seconds[:] *= 2.0
        return [replace(jobs[0], driver_seconds=9.0), *jobs[1:]]

    runs = ((an_aggregation, 3), (disturbed, 4), (an_aggregation, 4), (an_aggregation, 2))
    profiles = [
        profile_of(job, executors=executors, scale=0.3, number=number)
        for number, (job, executors) in enumerate(runs)
    ]
    as_in_truth(profiles, an_aggregation, executors=[8], within=0.25)


def test_on_one_machine_nothing_is_fetched_from_another():
    def job(scale: float):
        columns = {"shuffle_remote_bytes": MEGABYTE, "fetch_wait_seconds": 1.0}
        return [SimulatedJob(1.0, [SimulatedStage([2.0] * 8, columns=columns)])]

    profile = profile_of(job, executors=2, scale=1.0)
    one, two, four = replay_scaled([profile], executors=[1, 2, 4], scale=1.0, executor_cores=1).sizes
    assert two.replayed_seconds == pytest.approx(1.5 + 4 * 2.0)
    assert one.replayed_seconds == pytest.approx(1.5 + 8 * 1.0)
    assert four.replayed_seconds == pytest.approx(1.5 + 2 * 2.5)


def many_rounds(count: int):
    """Each of `count` rounds: half a second of the driver's, and a stage of half-second tasks."""

    def job(scale: float):
        stage = SimulatedStage([0.5] * round(40 * scale), columns={"input_bytes": MEGABYTE})
        return [SimulatedJob(3.0, [stage]), *[SimulatedJob(0.5, [stage])] * (count - 1)]

    return job


def with_one_name(profile):
    """As an iterative job has them: all stages are of one line."""
    return replace(profile, stages=tuple(replace(stage, name="step") for stage in profile.stages))


def test_stages_that_the_profile_leaves_out_are_replayed_with_the_others():
    job = many_rounds(250)
    profile = with_one_name(profile_of(job, executors=2, scale=0.5))
    assert profile.stages_left_out == 190
    as_in_truth([profile], job, executors=[2, 4], within=0.05)


def test_a_few_long_tasks_among_many_count_for_what_they_are():
    """One task of a thousand takes a hundred times as long; by quantiles alone, one of forty."""

    def job(scale: float):
        tasks = np.where(np.arange(round(4000 * scale)) % 1000 == 500, 100.0, 1.0)
        return [SimulatedJob(1.0, [SimulatedStage(tasks, columns={"input_bytes": MEGABYTE})])]

    profile = profile_of(job, executors=4, scale=0.25)
    as_in_truth([profile], job, executors=[2], within=0.1)


def test_a_few_tasks_are_replayed_one_by_one():
    def job(scale: float):
        return [SimulatedJob(1.0, [SimulatedStage([1.0, 1.0, 9.0, 1.0])])]

    profile = profile_of(job, executors=1, scale=1.0)
    one, two = replay_scaled([profile], executors=[1, 2], scale=1.0, executor_cores=1).sizes
    assert one.replayed_seconds == pytest.approx(1.0 + 12.0 + 0.5)
    assert two.replayed_seconds == pytest.approx(1.0 + 9.0 + 0.5)


def test_more_iterations_take_longer_and_what_is_before_them_does_not():
    profile = with_one_name(profile_of(many_rounds(5), executors=2, scale=0.5, iterations=5))
    # The time before the first iteration counts as part of it: that cannot be told apart.
    as_in_truth([profile], many_rounds(50), executors=[4], within=0.1, iterations=50)


def test_stages_are_matched_where_runs_have_other_numbers_of_them():
    few = with_one_name(profile_of(many_rounds(3), executors=2, scale=0.25, number=1))
    many = with_one_name(profile_of(many_rounds(6), executors=2, scale=0.5, number=2))
    as_in_truth([few, many], many_rounds(6), executors=[2], within=0.02)


def test_very_many_tasks_take_what_they_take():
    """From 40 tasks to 40 million: as many are not replayed one by one."""

    def job(scale: float):
        return [SimulatedJob(1.0, [SimulatedStage([0.5] * 40, columns={"input_bytes": MEGABYTE})])]

    profile = profile_of(job, executors=2, scale=1e-6)
    (size,) = replay_scaled([profile], executors=[10], scale=1.0, executor_cores=1).sizes
    assert size.replayed_seconds == pytest.approx(40e6 * 0.5 / 10, rel=0.01)


def test_without_any_profile_the_problem_is_told():
    replayed = replay_scaled([], executors=[2], scale=1.0, executor_cores=1)
    assert replayed.sizes == ()
    assert "No run of the job has a profile" in replayed.problem


def point(scale: float, tasks: int, seconds: float, *, slots: int = 2, **parts):
    return StagePoint(
        **{"fixed_seconds": 0.0, "reads_input": False, **parts},
        scale=scale,
        slots=slots,
        tasks=tasks,
        mean_seconds=seconds,
        read_bytes=MEGABYTE * scale,
    )


@pytest.mark.parametrize(
    ("source", "other", "asked", "tasks", "times_seconds"),
    [
        # The runs of more input had as many times as many machines.
        pytest.param(
            point(0.25, 12, 1.0, slots=2, reads_input=True),
            point(0.125, 6, 1.0, slots=1, reads_input=True),
            {"scale": 1.0, "slots": 4},
            *(48, pytest.approx(1.0)),
            id="partitions of the input are not taken for slots",
        ),
        # Twice the data in four times as many tasks.
        pytest.param(
            point(0.25, 8, 1.0, slots=4),
            point(0.25, 4, 2.0, slots=2),
            {"scale": 0.5, "slots": 16},
            *(32, pytest.approx(0.5, rel=0.02)),
            id="a fixed number of tasks for each slot follows the slots",
        ),
        # 0.5 s and 2 s for each unit of scale.
        pytest.param(
            point(0.25, 10, 1.0),
            point(0.125, 10, 0.75),
            {"scale": 1.0, "slots": 2},
            *(10, pytest.approx(2.5, rel=0.1)),
            id="the time for each byte is learned from other runs",
        ),
        pytest.param(
            point(0.25, 10, 1.0),
            point(0.125, 10, 1.1),
            {"scale": 1.0, "slots": 2},
            *(10, pytest.approx(1.0, abs=0.1)),
            id="noise does not make more input take less",
        ),
    ],
)
def test_how_a_stage_grows_is_told_by_other_runs(source, other, asked, tasks: int, times_seconds):
    found = growth([source, other], **asked)
    assert (found.tasks, found.times_seconds) == (tasks, times_seconds)
