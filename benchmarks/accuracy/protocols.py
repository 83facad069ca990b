"""The protocols: which runs of which jobs are trained on, and which are predicted then.

C3O (Will, Bader, Thamsen 2020): in each context, configurations of at most 6 machines and the smaller half of
the sizes are trained on, all of them or the cheapest; predicted is the largest size on 8 machines and more.
A context of a single size is trained and predicted at that. Bell (Thamsen et al. 2016): learning curves over
the number of machines, for one input; trained is one random repetition at each of k random scale-outs,
predicted are the medians of all others. The other two are simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby, product
from statistics import median
from typing import Any

import numpy as np

from airflow_provider_ernest.design.candidates import enumerate_candidates
from airflow_provider_ernest.design.plan import plan_design
from airflow_provider_ernest.design.problem import Targets
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import ERNEST
from benchmarks.accuracy.runs import Case, Round, Runs, gather
from benchmarks.accuracy.traces import Context
from benchmarks.table1 import TABLE_1, seconds_of

# C3O

ALL_POINTS = "all training points"
FEWEST_SECONDS = "the 4 to 8 cheapest points, by seconds"
FEWEST_MACHINE_SECONDS = "the 4 to 8 cheapest points, by machine-seconds"

COSTS: Mapping[str, Callable[[Runs], FloatArray]] = {
    FEWEST_SECONDS: lambda runs: runs.seconds,
    FEWEST_MACHINE_SECONDS: lambda runs: runs.executors * runs.seconds,
}
"""What makes a point cheap, for each table of cheapest points."""

CHEAPEST_COUNTS = range(4, 9)


def c3o_rounds(contexts: Sequence[Context], *, counts: Iterable[int] = CHEAPEST_COUNTS) -> list[Round]:
    """One with all training runs, and one for each meaning and number of cheapest points.

    All contexts of a folder count as one deployment.
    """
    every = [_c3o_case(context, context.trained_runs(), ALL_POINTS, "all points") for context in contexts]
    return [
        tuple(every),
        *(
            tuple(
                _c3o_case(context, context.cheapest(count, cost=cost), table, f"{count} points")
                for context in contexts
            )
            for (table, cost), count in product(COSTS.items(), counts)
        ),
    ]


def _c3o_case(context: Context, train: Runs, split: str, condition: str) -> Case:
    test, repetitions = context.tested()
    return Case(
        job=context.job,
        condition=condition,
        train=train,
        test=test,
        repetitions=repetitions,
        splits=(split,) * len(test),
    )


# Bell

INTERPOLATION = "interpolation"
EXTRAPOLATION = "extrapolation, either side"
FAR_EXTRAPOLATION = "from at most 32 nodes to 40 and more"

COUNTS = range(3, 13)
"""How many scale-outs are trained on."""

MOST_TRAINED_NODES = 32
FEWEST_TESTED_NODES = 40
BELL_SEED = 20160101

Trace = Mapping[int, tuple[float, ...]]


def by_system(traces: Mapping[str, Trace]) -> dict[str, dict[str, Trace]]:
    """The traces, ``job.system``, by system: on the same cluster these jobs are one deployment."""
    ordered = sorted(traces, key=lambda name: (name.partition(".")[2], name))
    return {
        system: {name: traces[name] for name in names}
        for system, names in groupby(ordered, key=lambda name: name.partition(".")[2])
    }


def bell_rounds(traces: Mapping[str, Trace], *, repetitions: int) -> list[Round]:
    """Random training sets: each kind and number of scale-outs, `repetitions` times."""
    generator = np.random.default_rng(BELL_SEED)
    rounds = [
        tuple(
            _bell_case(name, trace, count, generator, far=far)
            for name, trace in jobs.items()
            if _has_enough(trace, count, far=far)
        )
        for jobs in by_system(traces).values()
        for _, far, count in product(range(repetitions), (False, True), COUNTS)
    ]
    return [cases for cases in rounds if cases]


def _choices(trace: Trace, *, far: bool) -> tuple[FloatArray, FloatArray]:
    """The scale-outs that may be trained on, and those that may be predicted."""
    nodes = np.array(list(trace), dtype=np.float64)
    if far:
        return nodes[nodes <= MOST_TRAINED_NODES], nodes[nodes >= FEWEST_TESTED_NODES]
    return nodes, nodes


def _has_enough(trace: Trace, count: int, *, far: bool) -> bool:
    trainable, predictable = _choices(trace, far=far)
    return len(trainable) >= count and len(predictable) > (0 if far else count)


def _bell_case(name: str, trace: Trace, count: int, generator: np.random.Generator, *, far: bool) -> Case:
    trainable, predictable = _choices(trace, far=far)
    chosen = np.sort(generator.choice(trainable, size=count, replace=False))
    tested = [int(executors) for executors in np.setdiff1d(predictable, chosen)]

    def split(executors: int) -> str:
        if far:
            return FAR_EXTRAPOLATION
        return INTERPOLATION if chosen[0] < executors < chosen[-1] else EXTRAPOLATION

    return Case(
        job=name,
        condition=f"{count} nodes",
        train=gather((m, 1.0, generator.choice(trace[int(m)])) for m in chosen),
        test=gather((m, 1.0, median(trace[m])) for m in tested),
        repetitions=tuple(trace[m] for m in tested),
        splits=tuple(map(split, tested)),
    )


# TPC-H, whose work grows with the executors, and a host whose cores share what they compute with.

TPCH: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "10 and 20 GB on 2 to 20 executors": ((10, 20), (2, 5, 10, 20)),
    "10 to 50 GB on 2 to 40 executors": ((10, 20, 50), (2, 5, 10, 20, 40)),
}
"""What is trained on, gigabytes and executors; predicted are 100 GB on `TPCH_TESTED`."""

TPCH_TESTED, TPCH_GIGABYTES = (20, 40, 60, 80, 100), 100

MOST_TASKS = (16, 24, 32)
"""Up to so many concurrent tasks are trained on, at each number or at `FEW_TASKS`; predicted are more."""

FEW_TASKS = (1, 2, 4, 6, 8, *range(12, 33, 4))


def tpch_rounds(traces: Mapping[str, Mapping[tuple[int, int], float]]) -> list[Round]:
    """All queries of each protocol of `TPCH`, a deployment each: what others tell is not known far away."""
    return [
        (_tpch_case(query, trace, split, gigabytes, executors),)
        for split, (gigabytes, executors) in TPCH.items()
        for query, trace in traces.items()
    ]


def _tpch_case(
    query: str,
    trace: Mapping[tuple[int, int], float],
    split: str,
    gigabytes: Sequence[int],
    executors: Sequence[int],
) -> Case:
    test = gather((count, 1.0, trace[count, TPCH_GIGABYTES]) for count in TPCH_TESTED)
    return Case(
        job=query,
        condition=split,
        train=gather(
            ((count, size / TPCH_GIGABYTES, trace[count, size]) for size in gigabytes for count in executors),
            of_one_input=True,
            is_counted=True,
        ),
        test=test,
        repetitions=tuple((seconds,) for seconds in test.seconds.tolist()),
        splits=(split,) * len(test),
    )


def host_rounds(traces: Mapping[str, Trace]) -> list[Round]:
    """Each host with each most number of tasks, at few numbers and at all of them."""
    return [
        (_host_case(host, trace, most, tasks, kind),)
        for host, trace in traces.items()
        for most in MOST_TASKS
        for kind, tasks in (("few numbers", FEW_TASKS), ("all numbers", tuple(trace)))
    ]


def _host_case(host: str, trace: Trace, most: int, tasks: Sequence[int], kind: str) -> Case:
    tested = [count for count in trace if count > most]
    return Case(
        job=host,
        condition=kind,
        train=gather(
            ((count, 1.0, each) for count in tasks if count <= most for each in trace[count]),
            of_one_input=True,
            is_counted=True,
        ),
        test=gather((count, 1.0, median(trace[count])) for count in tested),
        repetitions=tuple(trace[count] for count in tested),
        splits=(f"trained on at most {most} tasks",) * len(tested),
    )


# Synthetic: the eight models of Ernest's Table 1 are observed at the eight runs of a design on at most 16
# machines and a tenth of the input, with normal relative noise; predicted is all of it on 45 and 64 machines.

TARGETS = Targets(executors=(45, 64))
DESIGNS: dict[str, dict[str, Any]] = {
    "A-optimal design, Ernest's terms": {"criterion": "A", "terms": ERNEST},
    "A-optimal design, these and scale": {"criterion": "A", "terms": (*ERNEST, "scale")},
    "default design": {"targets": TARGETS},
}
"""Names of the tables, with what the design is planned for; the last is what users of the package get."""

RUNS = 8
NOISES = (0.02, 0.05, 0.1)
SINGLE_RUNS = 5
LEAST_FACTOR = 0.5
"""Noise never halves a run: at 10 % that cuts what is five standard deviations off."""

SEED = 20160316


@cache
def designed(name: str) -> tuple[FloatArray, FloatArray]:
    """Machines and scales of the runs of a design of `DESIGNS`."""
    candidates = enumerate_candidates(
        max_executors=16, min_scale=0.01, max_scale=0.1, partitions=1000, scale_steps=10
    )
    design = plan_design(candidates=candidates, min_runs=RUNS, max_runs=RUNS, **DESIGNS[name])
    runs = [(float(run.executors), run.scale) for run in design.experiments]
    executors, scale = np.array(runs).T
    return executors, scale


def synthetic_rounds(*, repetitions: int) -> list[Round]:
    """Every design with every noise, `repetitions` times; the eight jobs are one deployment."""
    generator = np.random.default_rng(SEED)
    return [
        tuple(_synthetic_case(job, design, noise, generator) for job in TABLE_1)
        for _, design, noise in product(range(repetitions), DESIGNS, NOISES)
    ]


def noisy(seconds: FloatArray, noise: float, generator: np.random.Generator) -> FloatArray:
    """With normal relative noise."""
    factors = 1.0 + noise * generator.standard_normal(seconds.shape)
    return np.asarray(seconds * np.maximum(factors, LEAST_FACTOR), dtype=np.float64)


def _synthetic_case(job: str, design: str, noise: float, generator: np.random.Generator) -> Case:
    executors, scale = designed(design)
    targets, whole = TARGETS.columns()
    truth = seconds_of(job, executors=targets, scale=whole)
    singles = noisy(np.repeat(truth[:, None], SINGLE_RUNS, axis=1), noise, generator)
    seconds = noisy(seconds_of(job, executors=executors, scale=scale), noise, generator)
    return Case(
        job=job,
        condition=f"{noise:.0%} noise",
        train=Runs(executors=executors, scale=scale, seconds=seconds, of_one_input=True),
        test=Runs(executors=targets, scale=whole, seconds=truth),
        repetitions=tuple(tuple(row) for row in singles.tolist()),
        splits=(design,) * len(targets),
    )


# Plateaus: jobs whose time stops falling, since tasks run out or a shared store gives no more bytes a second.
# One run is observed at each of some numbers of machines up to 8 or 16; predicted are twice and four times as
# many. A plateau begins with the same probability in the last doubling of the observed machines and in each
# of the two after it.

STORE_SHARE = 0.7
"""Of the work, what waits for the shared store once that gives no more."""

LAWS: Mapping[str, Callable[[FloatArray, float], FloatArray]] = {
    "tasks run out": lambda executors, begins: 1.0 / np.minimum(executors, begins),
    "shared store": lambda executors, begins: (
        (1.0 - STORE_SHARE) / executors + STORE_SHARE / np.minimum(executors, begins)
    ),
    "no plateau": lambda executors, begins: 1.0 / executors,
}
"""Seconds of spreading work on so many machines, in units of it on one; a plateau begins at some."""

OBSERVED: Mapping[int, tuple[int, ...]] = {8: (2, 3, 4, 6, 8), 16: (2, 3, 4, 6, 8, 12, 16)}
"""The numbers of machines that are observed, by their most."""

TIMES: Mapping[int, str] = {2: "twice as many machines", 4: "four times as many"}
"""What is predicted: multiples of the most observed machines, with the names of the tables."""

FIXED_SECONDS = (5.0, 30.0)
WORK_SECONDS = (300.0, 6000.0)
BEGINS_OCTAVES = (-1.0, 2.0)
"""Where a plateau begins, in doublings of the most observed machines."""

PLATEAU_SEED = 20261125


def plateau_rounds(*, repetitions: int) -> list[Round]:
    """One job of each kind is a deployment; with each most machines and noise, `repetitions` times."""
    generator = np.random.default_rng(PLATEAU_SEED)
    return [
        tuple(_plateau_case(job, most, noise, generator) for job in LAWS)
        for _, most, noise in product(range(repetitions), OBSERVED, (0.02, 0.05))
    ]


def _plateau_case(job: str, most: int, noise: float, generator: np.random.Generator) -> Case:
    fixed = generator.uniform(*FIXED_SECONDS)
    work = np.exp(generator.uniform(*np.log(WORK_SECONDS)))
    begins = most * 2 ** generator.uniform(*BEGINS_OCTAVES)

    def scattered(exact: FloatArray) -> FloatArray:
        return np.asarray(exact * np.exp(noise * generator.standard_normal(exact.shape)), dtype=np.float64)

    executors = np.array(OBSERVED[most], dtype=np.float64)
    asked = float(most) * np.array(list(TIMES))
    truth = fixed + work * LAWS[job](asked, begins)
    singles = scattered(np.repeat(truth[:, None], SINGLE_RUNS, axis=1))
    seconds = scattered(fixed + work * LAWS[job](executors, begins))
    return Case(
        job=job,
        condition=f"up to {most}",
        train=Runs(executors=executors, scale=np.ones_like(executors), seconds=seconds),
        test=Runs(executors=asked, scale=np.ones_like(asked), seconds=truth),
        repetitions=tuple(tuple(row) for row in singles.tolist()),
        splits=tuple(TIMES.values()),
    )
