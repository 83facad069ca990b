"""What training costs beside production, and whether decisions are right that are made from so little.

The jobs are those of the paper's Table 1, grown until production takes 20 minutes to 3 hours on 32 machines.
Sample runs, each with a start-up and 5 % noise, are designed by the task that a DAG designs them by, from
nothing but the deadline, the machines that production may have, and those of the training cluster; or they
are made in rounds (`rounds`) until another one is not worth what it costs beside production, and the model is
not one that a DAG would refuse. Deadlines are of 20 minutes and more. Shares are of what the chosen
production run costs, at the package's default confidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.design.candidates import Candidates, enumerate_candidates
from airflow_provider_ernest.design.costs import LONG_SECONDS, MIN_SCALE_WITHIN_SHARE
from airflow_provider_ernest.design.rounds import next_runs
from airflow_provider_ernest.documents.runs import Design, Experiment, Observation
from airflow_provider_ernest.operators.experiment_design import MOST_OF_A_ROUND
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import ERNEST, basis
from airflow_provider_ernest.settings import Billing, DesignBounds, SampledInput, SizingGoal, SparkJob
from airflow_provider_ernest.settings.bounds import MOST_ROUNDS
from airflow_provider_ernest.settings.goal import BEST_VALUE, CONFIDENCE
from airflow_provider_ernest.task_group.training import TaskGroupSettings, design_task
from benchmarks.accuracy.protocols import noisy
from benchmarks.accuracy.runs import Runs
from benchmarks.decisions.evaluation import Decided, decide, summarise
from benchmarks.decisions.rules import Forecasts, Outlook, all_rules, ours
from benchmarks.decisions.situations import DEADLINE, Option, Question, Situation, billing_of, questions
from benchmarks.table1 import TABLE_1

LARGER_INPUT, LONGER = "larger input", "all terms longer"
GROWTHS = (LARGER_INPUT, LONGER)
"""More data is more of the work that spreads. Jobs all of whose terms are so much longer have minutes of
fixed and of serial time in every sample, however small: the hardest that can be asked for."""

REFERENCE_MACHINES = 32
"""On so many production takes what it is to take."""

FEWEST, MOST, STEP = 8, 64, 4
"""Machines that production may have."""

STARTUP_SECONDS = 20.0
"""Of every run, from its submission to its first task; it is paid for."""

NOISE = 0.05
SINGLE_RUNS = 5
"""Runs that a decision is held against."""

WORK = "scale/executors"


@dataclass(frozen=True, kw_only=True)
class GrownJob:
    """A job with known times.

    Attributes:
        name: of the job in Table 1.
        coefficients: seconds per unit of each of Ernest's terms.
    """

    name: str
    coefficients: FloatArray

    @property
    def work_seconds(self) -> float:
        """The work that spreads, in seconds on one machine."""
        return float(self.coefficients[ERNEST.index(WORK)])

    def seconds(self, executors: FloatArray, scale: FloatArray) -> FloatArray:
        """What runs take without noise and start-up, shape (n,)."""
        return np.asarray(
            basis(ERNEST, executors=executors, scale=scale) @ self.coefficients, dtype=np.float64
        )

    def observe(self, executors: FloatArray, scale: FloatArray, generator: np.random.Generator) -> FloatArray:
        """The same with noise."""
        return noisy(self.seconds(executors, scale), NOISE, generator)


def grown_jobs(growth: str, production_seconds: float) -> list[GrownJob]:
    """The eight jobs.

    Args:
        growth: one of `GROWTHS`.
        production_seconds: of the whole input on the reference number of machines.
    """
    jobs = []
    for name, terms in TABLE_1.items():
        coefficients = np.array([terms[term] for term in ERNEST])
        on_reference = basis(ERNEST, executors=[REFERENCE_MACHINES], scale=[1.0])[0]
        if growth == LARGER_INPUT:
            missing = production_seconds - float(on_reference @ coefficients)
            coefficients[ERNEST.index(WORK)] += missing * REFERENCE_MACHINES
        else:
            coefficients *= production_seconds / float(on_reference @ coefficients)
        jobs.append(GrownJob(name=name, coefficients=coefficients))
    return jobs


def outlooks(observed: Sequence[tuple[GrownJob, Runs]], generator: np.random.Generator) -> list[Outlook]:
    """The decisions to take: how many machines, given sample runs of all jobs of the deployment.

    Args:
        observed: jobs with their sample runs.
        generator: of the noise of production.
    """
    if not observed:
        return []
    forecasts = Forecasts([runs for _, runs in observed], startup_seconds=STARTUP_SECONDS)
    return [
        forecasts.outlook(situation_of(position, job, generator))
        for position, (job, _) in enumerate(observed)
    ]


def situation_of(position: int, job: GrownJob, generator: np.random.Generator) -> Situation:
    """The numbers of machines that production of a job may have, with what it really takes."""
    counts = np.arange(FEWEST, MOST + 1, STEP, dtype=np.float64)
    whole = np.ones_like(counts)
    singles = np.array([job.observe(counts, whole, generator) for _ in range(SINGLE_RUNS)]).T
    billing = billing_of("", cores=1)
    options = [
        Option(
            model=position,
            instance_type="",
            cores=1,
            executors=int(executors),
            scale=1.0,
            billing=billing,
            seconds=STARTUP_SECONDS + seconds,
            repetitions=tuple(STARTUP_SECONDS + single for single in runs),
        )
        for executors, seconds, runs in zip(
            counts.tolist(), job.seconds(counts, whole).tolist(), singles.tolist(), strict=True
        )
    ]
    return Situation(job=job.name, setting="", options=tuple(options))


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
        executors: of the training cluster, all of which are paid for from the first run to the last's end.
        parallel_runs: runs at the same time, as long as machines are free.
        told: whether the design is told the deadline; for short production it never is.
        expected_runs: production runs that share the cost of samples made in rounds; None for one design.
        rounds: the most.
    """

    executors: int
    parallel_runs: int = 1
    told: bool = True
    expected_runs: int | None = None
    rounds: int = MOST_ROUNDS


PLANS: Mapping[str, Plan] = {
    "default, 2 machines": Plan(executors=2),
    "default, 4 machines": Plan(executors=4),
    "default, 8 machines": Plan(executors=8),
    "default, 16 machines": Plan(executors=16),
    "no deadline, 4 machines": Plan(executors=4, told=False),
    "in rounds, 2 machines": Plan(executors=2, expected_runs=1),
    "in 2 rounds, 2 machines": Plan(executors=2, expected_runs=1, rounds=2),
    "the same, 2 runs at once": Plan(executors=2, parallel_runs=2, expected_runs=1, rounds=2),
    "in rounds, 4 machines": Plan(executors=4, expected_runs=1),
    "in rounds, 8 machines": Plan(executors=8, expected_runs=1),
    f"in rounds, for {MANY_RUNS} runs": Plan(executors=4, expected_runs=MANY_RUNS),
}

PLANS_OF: Mapping[str, Sequence[str]] = {
    LARGER_INPUT: tuple(PLANS),
    LONGER: tuple(name for name, plan in PLANS.items() if plan.executors <= 4),
}


@dataclass(frozen=True, kw_only=True)
class Samples:
    """The sample runs of a job.

    Attributes:
        runs: with the seconds of each.
        seconds: from the first run's submission to the end of the last.
    """

    runs: Runs
    seconds: float


def table(*, repetitions: int = REPETITIONS) -> pd.DataFrame:
    """All plans for all jobs, in per cent.

    Columns are the mean number of sample runs of a job; their machine seconds, start-up included, as a
    share of production's; the same of all machines of the training cluster while they run (the bill), its
    largest, and how many bills are at most `AIM`; and what became of the deadlines.
    """
    rows = {
        (growth, f"{seconds / 60:.0f} min", plan): _trained(growth, seconds, plan, repetitions)
        for growth in GROWTHS
        for seconds in PRODUCTION_SECONDS
        for plan in PLANS_OF[growth]
    }
    return pd.DataFrame(rows).T


def _trained(growth: str, seconds: float, plan: str, repetitions: int) -> dict[str, float]:
    generator = np.random.default_rng(SEED)
    decided: list[tuple[Decided, Samples]] = []
    for _ in range(repetitions):
        decided += _decisions(grown_jobs(growth, seconds), PLANS[plan], generator)
    executors = PLANS[plan].executors
    bills = np.array([_share(executors * samples.seconds, each) for each, samples in decided])
    return {
        "runs": float(np.mean([len(samples.runs) for _, samples in decided])),
        "share": float(np.mean([_share(_used(samples.runs), each) for each, samples in decided])),
        "bill": float(bills.mean()),
        "largest": float(bills.max()),
        f"at most {AIM:g}": 100.0 * float((bills <= AIM).mean()),
        **summarise(each for each, _ in decided),
    }


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
        bounds=DesignBounds(max_executors=plan.executors),
        goal=SizingGoal(
            deadline_seconds=deadline_seconds if plan.told else None,
            objective=BEST_VALUE,
            min_executors=FEWEST,
            max_executors=MOST,
        ),
        clusters=(),
        options={},
    )
    return design_task(stated, LocalClusterSpec(machines=plan.executors), cores=1).design()


def _sampled(job: GrownJob, deadline_seconds: float, plan: Plan, generator: np.random.Generator) -> Samples:
    """The sample runs of a job, of one design or in rounds."""
    if plan.expected_runs is None:
        designed = _observed(job, planned(deadline_seconds, plan).experiments, generator)
        return Samples(runs=_columns(designed), seconds=_seconds(designed, plan))
    goal = SizingGoal(
        deadline_seconds=deadline_seconds,
        objective=BEST_VALUE,
        allowed_executors=tuple(range(FEWEST, MOST + 1, STEP)),
        billing=Billing(expected_runs=plan.expected_runs),
    )
    observed: list[Observation] = []
    seconds = 0.0
    for _ in range(plan.rounds):
        proposal = next_runs(
            candidates=_candidates(plan),
            goal=goal,
            observed=observed,
            billed_machines=plan.executors / plan.parallel_runs,
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
        while (
            len(ends) == plan.parallel_runs or sum(used for _, used in ends) + run.executors > plan.executors
        ):
            now = min(ends)[0]
            ends.remove(min(ends))
        ends.append((now + run.seconds + STARTUP_SECONDS, run.executors))
    return max(end for end, _ in ends)


@cache
def _candidates(plan: Plan) -> Candidates:
    return enumerate_candidates(
        max_executors=plan.executors,
        min_scale=MIN_SCALE_WITHIN_SHARE,
        max_scale=DesignBounds(max_executors=plan.executors).max_scale,
        partitions=PARTITIONS,
        by_ratio=True,
    )


def _observed(
    job: GrownJob, experiments: Sequence[Experiment], generator: np.random.Generator
) -> list[Observation]:
    executors = np.array([float(run.executors) for run in experiments])
    scale = np.array([run.scale for run in experiments])
    return [
        Observation(
            index=run.index,
            executors=run.executors,
            scale=run.scale,
            seconds=seconds,
            startup_seconds=STARTUP_SECONDS,
        )
        for run, seconds in zip(experiments, job.observe(executors, scale, generator).tolist(), strict=True)
    ]


def _columns(observed: Sequence[Observation]) -> Runs:
    return Runs(
        executors=np.array([float(run.executors) for run in observed]),
        scale=np.array([run.scale for run in observed]),
        seconds=np.array([run.seconds for run in observed]),
    )


def _used(runs: Runs) -> float:
    """Machine seconds of what the runs use themselves."""
    return float(runs.executors @ (runs.seconds + STARTUP_SECONDS))


def _share(executor_seconds: float, decided: Decided) -> float:
    """As a percentage of the chosen production run."""
    return 100.0 * executor_seconds / (decided.chosen.executors * decided.chosen.seconds)
