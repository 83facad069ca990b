"""What training costs beside production, and whether decisions are right that are made from so little.

The jobs are those of the paper's Table 1, grown until production takes 20 minutes to 3 hours on 32 machines.
Sample runs, each with a start-up and 5 % noise, are designed by the task that a DAG designs them by, from
nothing but the deadline, the machines that production may have, and those of the training cluster; or they
are made in rounds (`design.rounds`) until another one is not worth what it costs beside production, and the
model is not one that a DAG would refuse. Deadlines are of 20 minutes and more. Shares are of what the chosen
production run costs, at the package's default confidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.design.candidates import Candidates, enumerate_candidates
from airflow_provider_ernest.design.costs import LONG_SECONDS, MIN_SCALE_WITHIN_SHARE
from airflow_provider_ernest.design.rounds import next_runs
from airflow_provider_ernest.documents.runs import Design, Experiment, Observation
from airflow_provider_ernest.operators.next_runs import MOST_OF_A_ROUND
from airflow_provider_ernest.settings import Billing, DesignBounds, SampledInput, SizingGoal, SparkJob
from airflow_provider_ernest.settings.bounds import MOST_ROUNDS
from airflow_provider_ernest.settings.goal import BEST_VALUE, CONFIDENCE
from airflow_provider_ernest.task_group.training import TaskGroupSettings, design_task
from benchmarks.accuracy.runs import Runs
from benchmarks.decisions.evaluation import Decided, Summary, decide, summarise
from benchmarks.decisions.grown_jobs import (
    FEWEST,
    GROWTHS,
    LARGER_INPUT,
    LONGER,
    MOST,
    STARTUP_SECONDS,
    STEP,
    GrownJob,
    grown_jobs,
    outlooks,
    situation_of,
)
from benchmarks.decisions.questions import DEADLINE, Question, questions
from benchmarks.decisions.rules import all_rules, ours

PRODUCTION_SECONDS = (1200.0, 3600.0, 10800.0)
"""Of production on `grown_jobs.REFERENCE_MACHINES`."""


MANY_RUNS = 30
"""Of production, that share what training costs: a month of a daily job."""

PARTITIONS = 5000
"""Of the whole input, so that the smallest samples still give four machines and more a partition each."""

REPETITIONS = 4
SEED = 20160316

AIM = 5.0
"""What training is to cost of a production run at most, in per cent."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How the samples are planned.

    Attributes:
        machines: of the training cluster, all of which are paid for from the first run to the end of the
            last.
        parallel_runs: runs at the same time, as long as machines are free.
        told: whether the design is told the deadline. As if it were not, it was made before that counted,
            and still is for short production.
        expected_runs: production runs that share what the samples cost, which are then made in rounds, see
            `rounds`, until the decision is clear; None to make all of one design.
        rounds: the most.
    """

    machines: int
    parallel_runs: int = 1
    told: bool = True
    expected_runs: int | None = None
    rounds: int = MOST_ROUNDS


DEFAULT = "default, 4 machines"
ON_TWO = "default, 2 machines"
UNTOLD = "no deadline, 4 machines"
IN_ROUNDS = "in rounds, 4 machines"
IN_TWO_ON_TWO = "in 2 rounds, 2 machines"
TWO_AT_ONCE = "the same, 2 runs at once"
FOR_MANY = f"in rounds, for {MANY_RUNS} runs"

PLANS: Mapping[str, Plan] = {
    ON_TWO: Plan(machines=2),
    DEFAULT: Plan(machines=4),
    "default, 8 machines": Plan(machines=8),
    "default, 16 machines": Plan(machines=16),
    UNTOLD: Plan(machines=4, told=False),
    "in rounds, 2 machines": Plan(machines=2, expected_runs=1),
    IN_TWO_ON_TWO: Plan(machines=2, expected_runs=1, rounds=2),
    TWO_AT_ONCE: Plan(machines=2, parallel_runs=2, expected_runs=1, rounds=2),
    IN_ROUNDS: Plan(machines=4, expected_runs=1),
    "in rounds, 8 machines": Plan(machines=8, expected_runs=1),
    FOR_MANY: Plan(machines=4, expected_runs=MANY_RUNS),
}

PLANS_OF: Mapping[str, Sequence[str]] = {
    LARGER_INPUT: tuple(PLANS),
    LONGER: tuple(name for name, plan in PLANS.items() if plan.machines <= 4),
}


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


@dataclass(frozen=True, kw_only=True)
class Samples:
    """The sample runs of a job.

    Attributes:
        runs: with the seconds of each.
        seconds: from the first run's submission to the end of the last.
    """

    runs: Runs
    seconds: float


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
    decided: list[tuple[Decided, Samples]] = []
    for _ in range(repetitions):
        decided += _decisions(grown_jobs(growth, seconds), PLANS[plan], generator)
    machines = PLANS[plan].machines
    shares = [_share(_used(samples.runs), each) for each, samples in decided]
    bills = np.array([_share(machines * samples.seconds, each) for each, samples in decided])
    return Trained(
        growth=growth,
        production_seconds=seconds,
        plan=plan,
        runs=float(np.mean([len(samples.runs) for _, samples in decided])),
        share=float(np.mean(shares)),
        bill=float(bills.mean()),
        largest_bill=float(bills.max()),
        small_bills=100.0 * float((bills <= AIM).mean()),
        decisions=summarise(each for each, _ in decided),
    )


def _decisions(
    jobs: Sequence[GrownJob], plan: Plan, generator: np.random.Generator
) -> list[tuple[Decided, Samples]]:
    """The decisions of all jobs with the sample runs that they rest on; the jobs are one deployment."""
    asked = [_asked(job, generator) for job in jobs]
    sampled = [
        _sampled(job, question.limit, plan, generator) for job, question in zip(jobs, asked, strict=True)
    ]
    observed = [(job, samples.runs) for job, samples in zip(jobs, sampled, strict=True)]
    rule = ours(CONFIDENCE)
    return [
        (each, samples)
        for outlook, samples, question in zip(outlooks(observed, generator), sampled, asked, strict=True)
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
            objective=BEST_VALUE,
            min_machines=FEWEST,
            max_machines=MOST,
        ),
        clusters=(),
    )
    return design_task(stated, [LocalClusterSpec(machines=plan.machines)], cores=1).design()


def _sampled(job: GrownJob, deadline_seconds: float, plan: Plan, generator: np.random.Generator) -> Samples:
    """The sample runs of a job, of one design or in rounds."""
    if plan.expected_runs is None:
        designed = _observed(job, planned(deadline_seconds, plan).experiments, generator)
        return Samples(runs=_columns(designed), seconds=_seconds(designed, plan))
    goal = SizingGoal(
        deadline_seconds=deadline_seconds,
        objective=BEST_VALUE,
        allowed_machines=tuple(range(FEWEST, MOST + 1, STEP)),
        billing=Billing(expected_runs=plan.expected_runs),
    )
    observed: list[Observation] = []
    seconds = 0.0
    for _ in range(plan.rounds):
        proposal = next_runs(
            candidates=_candidates(plan),
            goal=goal,
            observed=observed,
            billed_machines=plan.machines / plan.parallel_runs,
            most=MOST_OF_A_ROUND,
            max_error_percent=goal.max_error_percent,
        )
        if not proposal.experiments:
            break
        made = _observed(job, proposal.experiments, generator)
        observed += made
        seconds += _seconds(made, plan)
    return Samples(runs=_columns(observed), seconds=seconds)


def _seconds(runs: Sequence[Observation], plan: Plan) -> float:
    """From the start of a round to its end: each run begins in its turn as soon as its machines are free."""
    ends: list[tuple[float, int]] = []
    now = 0.0
    for run in runs:
        while len(ends) == plan.parallel_runs or sum(used for _, used in ends) + run.machines > plan.machines:
            now = min(ends)[0]
            ends.remove(min(ends))
        ends.append((now + run.seconds + STARTUP_SECONDS, run.machines))
    return max(end for end, _ in ends)


@cache
def _candidates(plan: Plan) -> Candidates:
    return enumerate_candidates(
        max_machines=plan.machines,
        min_scale=MIN_SCALE_WITHIN_SHARE,
        max_scale=DesignBounds(max_machines=plan.machines).max_scale,
        partitions=PARTITIONS,
        by_ratio=True,
    )


def _observed(
    job: GrownJob, experiments: Sequence[Experiment], generator: np.random.Generator
) -> list[Observation]:
    machines = np.array([float(run.machines) for run in experiments])
    scale = np.array([run.scale for run in experiments])
    return [
        Observation(
            index=run.index,
            machines=run.machines,
            scale=run.scale,
            seconds=seconds,
            startup_seconds=STARTUP_SECONDS,
        )
        for run, seconds in zip(experiments, job.observe(machines, scale, generator).tolist(), strict=True)
    ]


def _columns(observed: Sequence[Observation]) -> Runs:
    return Runs(
        machines=np.array([float(run.machines) for run in observed]),
        scale=np.array([run.scale for run in observed]),
        seconds=np.array([run.seconds for run in observed]),
    )


def _used(runs: Runs) -> float:
    """Machine seconds of what the runs use themselves."""
    return float(runs.machines @ (runs.seconds + STARTUP_SECONDS))


def _share(machine_seconds: float, decided: Decided) -> float:
    """As a percentage of the chosen production run."""
    return 100.0 * machine_seconds / (decided.chosen.machines * decided.chosen.seconds)
