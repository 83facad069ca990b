"""What training costs beside production, and whether decisions are right that are made from so little.

The jobs are those of the paper's Table 1, grown until production takes 20 minutes to 3 hours on 32 machines.
Sample runs, each with a start-up and 5 % noise, are designed by the task that a DAG designs them by, from
nothing but the deadline, the machines that production may have, and those of the training cluster. Deadlines
are of 20 minutes and more. Shares are of what the chosen production run costs, at the package's default
confidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.design.costs import LONG_SECONDS
from airflow_provider_ernest.documents import Design
from airflow_provider_ernest.settings import (
    CHEAPEST,
    CONFIDENCE,
    DesignBounds,
    SampledInput,
    SizingGoal,
    SparkJob,
)
from airflow_provider_ernest.task_group import TaskGroupSettings, design_task
from benchmarks.accuracy.runs import Runs
from benchmarks.decisions.evaluation import Decided, Summary, decide, summarise
from benchmarks.decisions.grown_jobs import (
    FEWEST,
    GROWTHS,
    LARGER_INPUT,
    LONGER,
    MOST,
    STARTUP_SECONDS,
    GrownJob,
    grown_jobs,
    outlooks,
    situation_of,
)
from benchmarks.decisions.questions import DEADLINE, Question, questions
from benchmarks.decisions.rules import all_rules, ours

PRODUCTION_SECONDS = (1200.0, 3600.0, 10800.0)
"""Of production on `grown_jobs.REFERENCE_MACHINES`."""

PARTITIONS = 5000
"""Of the whole input, so that the smallest samples still give four machines and more a partition each."""

REPETITIONS = 8
SEED = 20160316

AIM = 5.0
"""What training is to cost of a production run at most, in per cent."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How the samples are planned.

    Attributes:
        machines: of the training cluster, all of which are paid for from the first run to the end of the
            last, one run after the other.
        told: whether the design is told the deadline. As if it were not, it was made before that counted,
            and still is for short production.
    """

    machines: int
    told: bool = True


DEFAULT = "default, 4 machines"
UNTOLD = "no deadline, 4 machines"

PLANS: Mapping[str, Plan] = {
    DEFAULT: Plan(machines=4),
    "default, 8 machines": Plan(machines=8),
    "default, 16 machines": Plan(machines=16),
    UNTOLD: Plan(machines=4, told=False),
}

PLANS_OF: Mapping[str, Sequence[str]] = {LARGER_INPUT: tuple(PLANS), LONGER: (DEFAULT, UNTOLD)}


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What training by one plan came to.

    Attributes:
        growth, production_seconds, plan: of what.
        runs: sample runs of a job, mean.
        share: their machine seconds, start-up included, as a percentage of production's, mean over decisions.
        bill: the same mean of all machines of the training cluster.
        largest_bill: the largest.
        small_bills: how many are at most `AIM`, in per cent.
        decisions: what became of the deadlines.
    """

    growth: str
    production_seconds: float
    plan: str
    runs: float
    share: float
    bill: float
    largest_bill: float
    small_bills: float
    decisions: Summary


def measure(*, repetitions: int = REPETITIONS) -> list[Trained]:
    """All plans for all jobs."""
    return [
        _trained(growth, seconds, plan, repetitions)
        for growth in GROWTHS
        for seconds in PRODUCTION_SECONDS
        for plan in PLANS_OF[growth]
    ]


def _trained(growth: str, seconds: float, plan: str, repetitions: int) -> Trained:
    generator = np.random.default_rng(SEED)
    decided: list[tuple[Decided, Runs]] = []
    for _ in range(repetitions):
        decided += _decisions(grown_jobs(growth, seconds), PLANS[plan], generator)
    machines = PLANS[plan].machines
    shares = [_share(runs.machines, runs, each) for each, runs in decided]
    bills = np.array([_share(np.full(len(runs), machines), runs, each) for each, runs in decided])
    return Trained(
        growth=growth,
        production_seconds=seconds,
        plan=plan,
        runs=float(np.mean([len(runs) for _, runs in decided])),
        share=float(np.mean(shares)),
        bill=float(bills.mean()),
        largest_bill=float(bills.max()),
        small_bills=100.0 * float((bills <= AIM).mean()),
        decisions=summarise(each for each, _ in decided),
    )


def _decisions(
    jobs: Sequence[GrownJob], plan: Plan, generator: np.random.Generator
) -> list[tuple[Decided, Runs]]:
    """The decisions of all jobs with the sample runs that they rest on; the jobs are one deployment."""
    asked = [_asked(job, generator) for job in jobs]
    observed = [
        (job, _observed(job, planned(question.limit, plan), generator))
        for job, question in zip(jobs, asked, strict=True)
    ]
    rule = ours(CONFIDENCE)
    return [
        (each, runs)
        for outlook, (_, runs), question in zip(outlooks(observed, generator), observed, asked, strict=True)
        for each in decide([outlook], DEADLINE, rules={rule: all_rules()[rule]})
        if each.question == question
    ]


def _asked(job: GrownJob, generator: np.random.Generator) -> Question:
    """One of the deadlines of the job that are of 20 minutes and more."""
    every = questions(situation_of(0, job, generator), DEADLINE)
    long = [question for question in every if question.limit >= LONG_SECONDS]
    return long[generator.integers(len(long))]


def planned(deadline_seconds: float, plan: Plan) -> Design:
    """The samples, as the task of a DAG plans them that says no more than it must."""
    stated = TaskGroupSettings(
        job=SparkJob(name="job", application="job.py"),
        input=SampledInput(path=__file__, partitions=PARTITIONS),
        bounds=DesignBounds(max_machines=plan.machines),
        goal=SizingGoal(
            deadline_seconds=deadline_seconds if plan.told else None,
            objective=CHEAPEST,
            min_machines=FEWEST,
            max_machines=MOST,
        ),
        clusters=(),
    )
    return design_task(stated, [LocalClusterSpec(machines=plan.machines)], cores=1).design()


def _observed(job: GrownJob, design: Design, generator: np.random.Generator) -> Runs:
    machines = np.array([float(run.machines) for run in design.experiments])
    scale = np.array([run.scale for run in design.experiments])
    return Runs(machines=machines, scale=scale, seconds=job.observe(machines, scale, generator))


def _share(paid_machines: np.ndarray, runs: Runs, decided: Decided) -> float:
    """What the runs cost on so many machines each, as a percentage of the chosen production run."""
    production = decided.chosen.machines * decided.chosen.seconds
    return 100.0 * float(paid_machines @ (runs.seconds + STARTUP_SECONDS)) / production
