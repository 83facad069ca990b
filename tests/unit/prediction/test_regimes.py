"""Forecasts of a change of regime, against a simulated Spark whose regimes are known."""

from __future__ import annotations

import dataclasses
import math

import pytest

from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.regimes import WIDEST, effective_executors, foresee
from tests import examples

GB = 1_000_000_000
SLOTS = 4
STORAGE = 2 * GB
"""Of each simulated machine."""
SAMPLES = ((1, 0.025), (2, 0.05), (4, 0.1), (2, 0.1), (4, 0.05))


def run(
    executors: int,
    scale: float,
    *,
    tasks: int | None = None,
    wanted: float | None = None,
    spilled: int = 0,
    execution: int | None = 0,
    peak_tasks: int | None = None,
) -> Observation:
    """A run as Spark would report it: what is wanted is cached as far as there is room."""
    storage = STORAGE * executors
    metrics = examples.metrics(
        slots=SLOTS * executors,
        spilled_bytes=spilled,
        peak_execution_memory_bytes=execution,
        peak_stage_tasks=peak_tasks,
        storage_memory_bytes=storage,
        cache_wanted_bytes=None if wanted is None else round(wanted),
        cached_bytes=None if wanted is None else round(min(wanted, storage)),
        dominant_stage_tasks=tasks,
    )
    return Observation(index=0, executors=executors, scale=scale, seconds=10.0, metrics=metrics)


@pytest.mark.parametrize("fixed", [0.0, 0.3 * GB])
def test_names_the_machine_count_at_which_the_cache_breaks(fixed: float):
    """12 GB (and a fixed part) at scale 1, 2 GB on each machine: 5 machines are too few, 7 hold it."""

    def wanted(scale: float) -> float:
        return fixed + 12 * GB * scale

    runs = [run(m, s, wanted=wanted(s)) for m, s in SAMPLES]
    enough = math.ceil(wanted(1.0) / STORAGE)

    for executors in range(1, 17):
        forecast = foresee(runs, executors=executors, scale=1.0)
        truth = min(1.0, executors * STORAGE / wanted(1.0))
        assert forecast.cache_share == pytest.approx(truth, rel=1e-6)
        assert (forecast.least_log_spread > 0) == (executors < enough)
        if executors < enough:
            (warning,) = forecast.warnings
            assert f"At least {enough} machines would hold it" in warning
            assert 1.5 <= forecast.widening <= WIDEST
        else:
            assert not any("would hold it" in warning for warning in forecast.warnings)


def test_tells_when_the_target_holds_what_the_samples_could_not():
    """Samples on few machines overflow; the production run on many does not."""
    runs = [run(1, s, wanted=60 * GB * s) for s in (0.05, 0.075, 0.1)]

    forecast = foresee(runs, executors=40, scale=1.0)

    assert forecast.cache_share == 1.0
    assert forecast.widening > 1
    assert "faster than predicted" in forecast.warnings[0]


def test_memory_is_as_large_as_an_overflowing_run_could_fill_it():
    """Whole partitions and other users leave a part of the memory empty: here a tenth of it."""
    partly = run(1, 0.25, wanted=4 * GB)
    metrics = dataclasses.replace(partly.metrics, cached_bytes=round(0.9 * STORAGE))
    runs = [run(2, 0.05, wanted=0.8 * GB), dataclasses.replace(partly, metrics=metrics)]

    assert foresee(runs, executors=8, scale=1.0).cache_share == pytest.approx(0.9 * 8 * STORAGE / (16 * GB))


def test_a_cache_that_execution_may_displace_is_tight():
    """14 of 16 GB would be cached, and the tasks use a quarter of the memory themselves."""
    runs = [run(m, s, tasks=round(640 * s), wanted=14 * GB * s, execution=STORAGE // 16) for m, s in SAMPLES]

    tight, safe = foresee(runs, executors=8), foresee(runs, executors=10)

    assert "tight" in tight.warnings[0]
    assert "10 machines would be safe" in tight.warnings[0]
    assert 1 < tight.widening < 1.5
    assert safe.warnings == ()


def test_names_the_machine_count_beyond_which_tasks_run_short():
    """32 shuffle partitions whatever the input: 8 machines of 4 slots use them up."""
    runs = [run(m, s, tasks=32) for m, s in SAMPLES]

    assert foresee(runs, executors=8).effective_executors == pytest.approx(8)
    assert foresee(runs, executors=8).warnings == ()
    beyond = foresee(runs, executors=16)
    assert beyond.effective_executors == pytest.approx(8)
    assert beyond.widening > 1
    assert "more than 8 machines would stand partly idle" in beyond.warnings[0]
    assert "spark.sql.shuffle.partitions of 64 or more" in beyond.warnings[0]


def test_tasks_that_grow_with_the_input_do_not_run_short():
    runs = [run(m, s, tasks=round(640 * s)) for m, s in SAMPLES]

    forecast = foresee(runs, executors=40, scale=1.0)

    assert forecast.effective_executors == pytest.approx(40)
    assert forecast.warnings == ()
    assert foresee(runs, executors=40, scale=0.1).effective_executors == pytest.approx(16)


def test_no_limit_is_foreseen_from_one_share_of_the_input():
    """Five tasks on 5 % of the input may be a hundred on all of it."""
    runs = [run(m, 0.05, tasks=5) for m in (1, 2, 4)]

    assert foresee(runs, executors=25, scale=1.0).effective_executors == pytest.approx(25)
    assert foresee(runs, executors=25, scale=0.05).effective_executors == pytest.approx(5 / SLOTS)


def test_task_counts_that_contradict_one_another_tell_nothing():
    runs = [run(2, 0.05, tasks=3), run(2, 0.05, tasks=900), run(4, 0.1, tasks=2), run(4, 0.1, tasks=700)]

    assert foresee(runs, executors=64).effective_executors == 64


def test_effective_machines_lie_between_even_and_uneven_tasks():
    """33 equal tasks on 32 slots take two rounds; with unequal ones hardly longer than 32."""
    runs = [run(m, s, tasks=33) for m, s in SAMPLES]

    (effective,) = effective_executors(runs, executors=8, scale=1.0)

    assert 33 / 2 / SLOTS < effective < 8
    assert "last of 2 rounds" in foresee(runs, executors=8).warnings[0]


def test_spilling_is_foreseen_by_the_input_of_a_task():
    """With 200 partitions each task handles more at a larger scale, whatever the machines."""
    runs = [run(m, s, tasks=200, spilled=int(s >= 0.1)) for m, s in SAMPLES]

    assert foresee(runs, executors=50, scale=1.0).spills is True
    assert foresee(runs, executors=50, scale=0.02).spills is False
    between = foresee(runs, executors=50, scale=0.07)
    assert between.spills is None
    assert between.widening > 1


def growing(**told):
    """Of each figure a fixed part, and what comes with the whole input."""
    figures = {name: part if isinstance(part, tuple) else (part, 0.0) for name, part in told.items()}
    return [
        run(m, s, **{name: round(fixed + grows * s) for name, (fixed, grows) in figures.items()})
        for m, s in SAMPLES
    ]


@pytest.mark.parametrize(
    ("told", "spills"),
    [
        # 30 MB for a task on a tenth of the input: 300 MB on all of it fit into 500 MB, 3 GB do not.
        ({"tasks": 200, "execution": (0.0, 300e6)}, {1.0: False, 10.0: True}),
        # Input is read by more tasks the more there is, but sorted by 12 always: 90 MB each, then 600 of 500.
        ({"tasks": (0.0, 640.0), "execution": (30e6, 570e6), "peak_tasks": 12}, {0.5: False, 1.0: True}),
        # A hash table of a fixed size, in each of 12 tasks.
        ({"tasks": 12, "execution": 30e6, "peak_tasks": 12}, {50.0: False}),
    ],
    ids=["a task's input", "the stage that uses the memory", "memory that does not grow"],
)
def test_spilling_is_foreseen_where_no_run_has_spilled(told, spills):
    runs = growing(**told)

    assert {scale: foresee(runs, executors=4, scale=scale).spills for scale in spills} == spills


def test_a_foreseen_spill_is_named_and_widens():
    spilling = foresee(growing(tasks=200, execution=(0.0, 300e6)), executors=4, scale=10.0)

    assert spilling.widening == 1.5
    assert "up to 3.00 GB" in spilling.warnings[0]
    assert "has 500 MB" in spilling.warnings[0]
