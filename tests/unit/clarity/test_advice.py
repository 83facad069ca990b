"""What a run is bound by, in a sentence, and what to change about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ernest import run_profile
from airflow_provider_ernest.clarity.advice import advise, bound_by, headline_of
from airflow_provider_ernest.run_profile import RunProfile
from tests.unit.run_profiles import bare, network_bound

GIGABYTE = 10**9


def limit(resource, percent, *, blocked=100.0, of=60.0):
    return run_profile.ResourceLimit(
        resource=resource,
        blocked_seconds=blocked,
        share_percent=10.0,
        seconds_without=of * (1 - percent / 100),
        improvement_percent=percent,
    )


def a_stage(seconds=30.0, tasks=32, **fields):
    return run_profile.StageProfile(
        **{
            "stage_id": 4,
            "name": "count at job.py:12",
            "task_seconds": 30.0 * tasks,
            **fields,
        },
        tasks=tasks,
        began_seconds=5.0,
        ended_seconds=5.0 + seconds,
    )


COMPUTING = (limit(run_profile.NETWORK, 2.0), limit(run_profile.DISK, 1.0))


def a_profile(**fields):
    """A run of 60 s on 4 machines with 16 slots."""
    own = {"machines": 4, "slots": 16, "seconds": 60.0, "replayed_seconds": 60.0, "bottleneck": ""}
    return bare(**{**own, **fields})


def advice_on(**fields):
    return [(each.subject, each.text, each.figure) for each in advise(a_profile(**fields))]


def subjects(**fields):
    return [each.subject for each in advise(a_profile(**fields))]


def test_a_run_that_nothing_is_known_of_gets_no_advice():
    assert advice_on() == []


def test_a_network_that_is_worth_it():
    ((subject, text, figure),) = advice_on(limits=(limit(run_profile.NETWORK, 40.0),))

    assert subject == "instance family"
    assert "faster network" in text
    assert figure == "100 s of waiting in all tasks; without it at best 36 s instead of 60 s"


def test_a_network_that_was_not_full_is_not_to_be_bought():
    """The data needed 3 s of it, and the tasks waited for much longer: for those that sent, that is."""
    known = run_profile.Capacity(cores=4, network_gigabytes_per_second=1.0, source="measured")
    limits = (limit(run_profile.NETWORK, 40.0),)

    ((subject, text, figure),) = advice_on(
        limits=limits, capacity=known, ideal_seconds={run_profile.NETWORK: 3.0}
    )
    assert subject == "shuffle"
    assert text.startswith("Look at the machines that send shuffle data")
    assert figure.endswith("; the network needs 3.0 s for it")
    needed = {run_profile.NETWORK: 20.0}
    assert subjects(limits=limits, capacity=known, ideal_seconds=needed) == ["instance family"]
    # What the tasks themselves achieved is no more than that.
    achieved = run_profile.Capacity(cores=4, network_gigabytes_per_second=1.0)
    little = {run_profile.NETWORK: 3.0}
    assert subjects(limits=limits, capacity=achieved, ideal_seconds=little) == ["instance family"]


def test_disks_and_garbage_collection_that_are_worth_it():
    limits = (limit(run_profile.GARBAGE_COLLECTION, 30.0), limit(run_profile.DISK, 20.0))

    assert subjects(limits=limits) == ["garbage collection", "instance family"]


@pytest.mark.parametrize("resource", [run_profile.NETWORK, run_profile.DISK, run_profile.GARBAGE_COLLECTION])
def test_what_wins_little_is_not_worth_a_change(resource):
    assert advice_on(limits=(limit(resource, 9.0),)) == []


def test_a_job_that_computes_needs_no_network():
    ((subject, text, figure),) = advice_on(bottleneck=run_profile.CPU, limits=COMPUTING)

    assert subject == "instance family"
    assert text.startswith("Do not pay for a faster network or disks")
    assert figure == "at most 2 % from an infinitely fast network, 1 % from disks"


@pytest.mark.parametrize(
    "unsafe",
    [
        {"scale": 0.1},
        {"machines": 1},
        {"unmeasured_seconds": 20.0, "stages": (a_stage(task_seconds=100.0),)},
        {"limits": (*COMPUTING, limit(run_profile.GARBAGE_COLLECTION, 8.0))},
        {"limits": (*COMPUTING, limit(run_profile.PYTHON_WORKER, 30.0))},
    ],
    ids=["a sample", "one machine", "input that may come by network", "little memory", "services of Python"],
)
def test_network_and_disks_are_not_called_worthless_where_that_is_not_known(unsafe):
    assert advice_on(**{"bottleneck": run_profile.CPU, "limits": COMPUTING, **unsafe}) == []


@pytest.mark.parametrize("bottleneck", [run_profile.UNMEASURED, run_profile.PYTHON_WORKER, run_profile.DISK])
def test_only_a_job_that_computes_is_sent_to_faster_cores(bottleneck):
    assert advice_on(bottleneck=bottleneck, limits=(limit(run_profile.NETWORK, 2.0),)) == []


def test_a_network_worth_a_little_is_not_called_worthless():
    assert advice_on(bottleneck=run_profile.CPU, limits=(limit(run_profile.NETWORK, 7.0),)) == []


def test_a_replay_that_is_wrong_supports_nothing():
    limits = (limit(run_profile.NETWORK, 40.0),)

    assert advice_on(limits=limits, replayed_seconds=70.0) == []
    assert subjects(limits=limits, replayed_seconds=65.0) == ["instance family"]


def test_too_few_partitions_for_the_slots():
    ((subject, text, figure),) = advice_on(stages=(a_stage(tasks=4),))

    assert subject == "partitions"
    assert "stage 4 (count at job.py:12)" in text
    assert figure == "4 tasks on 16 slots leave 75 % of them idle in a stage that takes 30 s"


def test_a_few_more_partitions_than_slots_take_a_second_round():
    ((_, _, figure),) = advice_on(stages=(a_stage(tasks=17),))

    assert figure.startswith("17 tasks on 16 slots leave 47 % of them idle")


@pytest.mark.parametrize(
    "stages",
    [
        *(pytest.param((a_stage(tasks=tasks),), id=f"{tasks} tasks") for tasks in (1, 16, 32, 31, 49, 200)),
        pytest.param((a_stage(seconds=3.0, tasks=4),), id="a short stage"),
        pytest.param((a_stage(tasks=4, task_seconds=0.4),), id="tiny tasks are not cut into more"),
        pytest.param((a_stage(tasks=4), a_stage(tasks=60, stage_id=5)), id="others fill the slots"),
        pytest.param(
            (a_stage(tasks=160, task_seconds=800.0, blocked_seconds={run_profile.SCHEDULER: 400.0}),),
            id="long tasks, however they are scheduled",
        ),
        pytest.param(
            (a_stage(input_bytes=GIGABYTE, spilled_bytes=GIGABYTE // 20),), id="a little is spilled"
        ),
    ],
)
def test_stages_that_are_well_or_cannot_be_better(stages):
    assert advice_on(stages=stages) == []


def test_few_partitions_of_a_sample_say_nothing_of_the_input():
    stages = (a_stage(tasks=4, reads_input=True),)

    assert subjects(stages=stages, scale=1.0) == ["partitions"]
    assert subjects(stages=stages, scale=0.1) == []
    # Adaptive execution makes as many partitions as there is data to shuffle.
    assert subjects(stages=(a_stage(tasks=4),), scale=0.1) == []


def test_tiny_tasks_of_a_sample_are_longer_with_all_of_the_input():
    stage = a_stage(tasks=1600, task_seconds=80.0, blocked_seconds={run_profile.SCHEDULER: 40.0})

    assert subjects(stages=(stage,)) == ["partitions"]
    assert subjects(stages=(stage,), scale=0.1) == []


def test_tiny_tasks_that_are_mostly_scheduled():
    stage = a_stage(tasks=1600, task_seconds=80.0, blocked_seconds={run_profile.SCHEDULER: 40.0})

    ((subject, text, figure),) = advice_on(stages=(stage,))

    assert subject == "partitions"
    assert text.startswith("Make fewer partitions")
    assert figure == "1600 tasks of 50 ms each, 50 % of it scheduling"


def test_spilling():
    stages = (a_stage(shuffle_local_bytes=2 * GIGABYTE, spilled_bytes=3 * GIGABYTE), a_stage(5.0))

    ((subject, text, figure),) = advice_on(stages=stages)

    assert subject == "memory"
    assert "stage 4" in text
    assert figure == "3.0 GB spilled to disk, in stages that take 50 % of the time"


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (run_profile.INPUT_SKEW, ["skew"]),
        (run_profile.SLOW_HOST, ["slow host"]),
        (run_profile.UNEXPLAINED, []),
        (run_profile.FIRST_TASK, []),
    ],
)
def test_stragglers_of_a_known_cause(cause, expected):
    causes = (
        run_profile.StragglerCause(cause=cause, tasks=3, excess_seconds=40.0, seconds_without=45.0),
        run_profile.StragglerCause(cause=cause, tasks=3, excess_seconds=4.0, seconds_without=58.0),
    )

    told = advise(a_profile(straggler_causes=causes))

    assert [each.subject for each in told] == expected
    assert all(each.figure == "3 tasks; up to 15 s of 60 s" for each in told)


def test_a_driver_that_works_alone():
    told = advice_on(driver_seconds=40.0, sizes=(run_profile.ReplayedSize(machines=2, seconds=61.0),))

    assert told == [
        (
            "size",
            "More or larger machines do not help: look at what the driver does between its jobs.",
            "no task ran for 40 s of 60 s",
        )
    ]
    # That of a sample may have little else to do.
    assert advice_on(driver_seconds=40.0, scale=0.1) == []


def test_half_as_many_machines_may_be_enough():
    sizes = (run_profile.ReplayedSize(machines=2, seconds=64.0),)

    ((subject, text, figure),) = advice_on(sizes=sizes)

    assert (subject, text) == (
        "size",
        "Half as many machines (2) are enough for this input, if their memory is.",
    )
    assert figure == "64 s instead of 60 s by replay"
    # Of a sample, fewer are enough for the sample.
    assert advice_on(sizes=sizes, scale=0.1) == []
    assert advice_on(sizes=(run_profile.ReplayedSize(machines=2, seconds=90.0),)) == []
    assert advice_on(sizes=(run_profile.ReplayedSize(machines=1, seconds=61.0),)) == []


def test_what_is_worth_most_comes_first():
    told = subjects(
        limits=(limit(run_profile.NETWORK, 12.0), limit(run_profile.GARBAGE_COLLECTION, 20.0)),
        stages=(a_stage(seconds=40.0, tasks=2),),
    )

    assert told == ["partitions", "garbage collection", "instance family"]


def profile(bottleneck: str = run_profile.CPU, **percents: float) -> RunProfile:
    limits = tuple(limit(name.replace("_", " "), percent, of=44.0) for name, percent in percents.items())
    return bare(seconds=44.0, replayed_seconds=44.0, bottleneck=bottleneck, limits=limits)


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (
            profile(network=2.0, disk=1.2),
            "CPU-bound: at most 2 % from a faster network, 1 % from faster disks",
        ),
        (profile(network=0, disk=0.01), "CPU-bound: nothing from a faster network, 0.1 % from faster disks"),
        (
            profile(run_profile.NETWORK, network=41.0),
            "Network-bound: up to 41 % (18 s of 44 s) from an infinitely fast network",
        ),
        (
            profile(run_profile.DISK, disk=12.4),
            "Disk-bound: up to 12 % (5.5 s of 44 s) from infinitely fast disks",
        ),
        (
            profile(run_profile.PYTHON_WORKER, Python_worker=68.0),
            "Bound by Python workers, computing or waiting (Spark does not tell which): at most 68 % (30 s "
            "of 44 s) without their time",
        ),
        (
            profile(run_profile.GARBAGE_COLLECTION, garbage_collection=30.0),
            "Bound by garbage collection: up to 30 % (13 s of 44 s) without it",
        ),
        (
            replace(profile(run_profile.DRIVER, network=1.0), driver_seconds=30.0),
            "Bound by the driver, with no task running for 30 s of 44 s: at most 1 % from a faster network",
        ),
        (
            replace(profile(network=2.0), driver_seconds=20.0),
            "CPU-bound: at most 2 % from a faster network; no task ran for 20 s of 44 s",
        ),
        (
            profile(run_profile.UNMEASURED, network=2.0),
            "Bound by what Spark does not measure, such as reading input, a service or a busy host: at most "
            "2 % from a faster network",
        ),
        (bare(), "CPU-bound"),
    ],
)
def test_the_sentence_and_its_figures(run: RunProfile, sentence: str):
    assert headline_of(run) == sentence


def test_the_resource_that_is_used_most_binds_the_run():
    assert bound_by(network_bound(), [run_profile.NETWORK]) == run_profile.NETWORK
    assert bound_by(network_bound(), [run_profile.CPU]) == run_profile.CPU
    assert bound_by(network_bound(), [run_profile.UNMEASURED]) == run_profile.UNMEASURED


def test_what_spark_does_not_measure_is_told_of_a_run_that_computes():
    run = profile(network=2.0)
    assert headline_of(run, unmeasured_share=0.1) == headline_of(run)
    assert headline_of(run, unmeasured_share=0.3) == (
        "CPU-bound: at most 2 % from a faster network; Spark does not measure what 30 % of its tasks' time "
        "went to, such as reading input or a busy host"
    )


def test_what_is_used_most_without_being_waited_for_gives_way_to_what_comes_next():
    used = [run_profile.DISK, run_profile.UNMEASURED, run_profile.CPU]
    assert bound_by(network_bound(), used) == run_profile.UNMEASURED


def test_waiting_that_wins_next_to_nothing_binds_no_run():
    assert bound_by(network_bound(), [run_profile.DISK]) == run_profile.CPU


def test_a_run_without_tasks_for_most_of_its_time_is_bound_by_its_driver():
    assert bound_by(network_bound(driver_seconds=21.9), [run_profile.NETWORK]) == run_profile.NETWORK
    assert bound_by(network_bound(driver_seconds=22.0), [run_profile.NETWORK]) == run_profile.DRIVER
